// What the controller makes of the environment that a rendering gives it.
import assert from 'node:assert/strict';
import {
  checkControllerFlags,
  controllerCommandFlags,
  type ControllerSettings,
} from '../../src/cmd/controller-flags.ts';
import { readFlags } from '../../src/cmd/flags.ts';
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

/** What the controller runs with, by the arguments and the environment. Throws when it would not start. */
export function readSettings({ container }: Rendering): ControllerSettings {
  const [command, ...args] = container.args;
  assert.equal(command, 'controller');
  const environment = container.env.map(({ name, value, valueFrom }) => {
    const path = (valueFrom as FieldReference | undefined)?.fieldRef?.fieldPath;
    return [name, value ?? (path === undefined ? 'from elsewhere' : fields[path])] as const;
  });
  const read = readFlags(controllerCommandFlags, args, Object.fromEntries(environment));
  assert.ok(read.kind === 'values', JSON.stringify(read));
  const checked = checkControllerFlags(read.values, read.origins);
  assert.ok(checked.ok, JSON.stringify(checked));
  return checked.settings;
}
