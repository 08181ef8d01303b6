// The flags of every command that reads resources.
import type { Extension } from '../api/kinds.ts';
import type { Flag } from './flag-values.ts';

export const filesFlag = {
  type: 'paths',
  short: 'f',
  env: 'MCP_GATEHOUSE_FILES',
  placeholder: 'PATH',
  help: 'A file or folder with resources',
} as const satisfies Flag;

export const inferenceExtensionFlag = {
  type: 'boolean',
  env: 'MCP_GATEHOUSE_INFERENCE_EXTENSION',
  help: 'Read InferencePools and Pods, and let HTTPRoutes name InferencePools as backends',
} as const satisfies Flag;

/** The extensions whose kinds are read. */
export function listExtensions(values: { readonly inferenceExtension: boolean }): readonly Extension[] {
  return values.inferenceExtension ? ['inference'] : [];
}
