// How files are served where nothing protects: the flags that decide, and the configuration that they make of a translation.
import type { Configuration } from '../ir/configuration.ts';
import { closeUnprotected } from '../translate/close-unprotected.ts';
import type { Translation } from '../translate/translate.ts';
import { denyUnprotected as closeAnonymous } from '../translate/unprotected-routes.ts';
import type { Flag } from './flag-values.ts';

/** For every command that serves files, or says what would be served. */
export const denyUnprotectedFlag = {
  type: 'boolean',
  default: false,
  env: 'MCP_GATEHOUSE_DENY_UNPROTECTED',
  help: 'Answer 403 on routes that nothing protects, unless traffic.publicAccess of a policy opens them',
} as const satisfies Flag;

/** What the flags say. */
export interface ProtectionSettings {
  /** Policies may miss their targets. */
  readonly allowUnattached: boolean;
  /** Routes that nothing protects are closed. */
  readonly denyUnprotected: boolean;
}

/** Why the flags cannot be used together; undefined: they can. */
export function findContradiction({ allowUnattached, denyUnprotected }: ProtectionSettings): string | undefined {
  return allowUnattached && denyUnprotected
    ? '--allow-unattached serves routes that nothing protects, and --deny-unprotected closes them: use one of the two'
    : undefined;
}

/** The configuration that files stand for. */
export function configureFromFiles(
  { configuration, unattached }: Pick<Translation, 'configuration' | 'unattached'>,
  { allowUnattached, denyUnprotected }: ProtectionSettings,
): Configuration {
  const attached = allowUnattached ? configuration : closeUnprotected(configuration, unattached);
  return denyUnprotected ? closeAnonymous(attached) : attached;
}
