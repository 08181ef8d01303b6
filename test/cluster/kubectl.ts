// kubectl against a test cluster, as a user would call it.
import { type CommandOutput, runCommand } from './run-command.ts';

/** Runs kubectl; throws CommandFailedError with what it said when it fails. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<CommandOutput>;

/** kubectl with a kubeconfig of its own: the user's is never read. */
export function createKubectl(program: string, kubeconfigFile: string, cacheFolder: string): Kubectl {
  const env = { PATH: process.env['PATH'] ?? '', HOME: cacheFolder, KUBECACHEDIR: cacheFolder };
  return (args, input) =>
    runCommand(program, ['--kubeconfig', kubeconfigFile, ...args], {
      env,
      timeoutMs: 300_000,
      ...(input === undefined ? {} : { input }),
    });
}

/** Objects as one YAML text; a text stays as it is. */
export function formatManifests(manifests: string | object | readonly object[]): string {
  if (typeof manifests === 'string') return manifests;
  const list = Array.isArray(manifests) ? (manifests as readonly object[]) : [manifests];
  // JSON is YAML, and leaves no doubt about what is a string: kubectl reads YAML 1.1, where `yes` is none.
  return list.map((manifest) => JSON.stringify(manifest)).join('\n---\n');
}
