// What the controller makes of the environment that a rendering gives it.
import assert from 'node:assert/strict';
import {
  type ControllerFlagResult,
  type ControllerSettings,
  readControllerFlags,
} from '../../src/cmd/controller-flags.ts';
import type { Rendering } from './rendering.ts';

/** As the node fills them in. */
const fields: Readonly<Record<string, string>> = {
  'metadata.name': 'proxy-0',
  'metadata.namespace': 'proxy-system',
  'status.podIP': '10.0.0.1',
};

interface FieldReference {
  readonly fieldRef?: { readonly fieldPath: string };
}

/** Reads the arguments and the environment as the program does. */
function startFlags({ container }: Rendering): ControllerFlagResult {
  const [command, ...args] = container.args;
  assert.equal(command, 'controller');
  const environment = container.env.map(({ name, value, valueFrom }) => {
    const path = (valueFrom as FieldReference | undefined)?.fieldRef?.fieldPath;
    return [name, value ?? (path === undefined ? 'from elsewhere' : fields[path])] as const;
  });
  return readControllerFlags(args, Object.fromEntries(environment));
}

/** What the controller runs with. Throws when it would not start. */
export function readSettings(rendering: Rendering): ControllerSettings {
  const flags = startFlags(rendering);
  assert.equal(flags.kind, 'settings', JSON.stringify(flags));
  assert.ok(flags.kind === 'settings');
  return flags.settings;
}
