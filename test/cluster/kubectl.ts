// kubectl against a test cluster, as a user would call it.
import { readNamespace } from './file-namespace.ts';
import { type CommandOutput, runCommand } from './run-command.ts';

/** Runs kubectl; throws CommandFailedError with what it said when it fails. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<CommandOutput>;

/** kubectl with a kubeconfig of its own: the user's is never read. It works in the namespace of the file of tests unless it is told another. */
export function createKubectl(program: string, kubeconfigFile: string, cacheFolder: string): Kubectl {
  const env = { PATH: process.env['PATH'] ?? '', HOME: cacheFolder, KUBECACHEDIR: cacheFolder };
  return (args, input) =>
    runCommand(program, ['--kubeconfig', kubeconfigFile, ...listPlace(), ...args], {
      env,
      timeoutMs: 300_000,
      ...(input === undefined ? {} : { input }),
    });
}

/** Nothing where it is the usual one: kubectl would refuse objects of others then. */
function listPlace(): readonly string[] {
  const namespace = readNamespace();
  return namespace === 'default' ? [] : ['--namespace', namespace];
}
