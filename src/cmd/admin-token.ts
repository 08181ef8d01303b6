// `mcp-gateway admin-token`: prints the token of the admin port, for people who may run programs where the gateway runs.
import { readAdminToken } from './admin-token-file.ts';
import type { CommandIo } from './command-io.ts';
import { type CommandFlags, defineFlags, readFlags } from './flags.ts';
import { adminTokenFileFlag } from './gateway-flags.ts';

const flagTable = defineFlags({ adminTokenFile: adminTokenFileFlag });

const commandFlags: CommandFlags<typeof flagTable> = {
  command: 'mcp-gateway admin-token',
  usage: '[--admin-token-file PATH]',
  summary: `Prints the token that the admin port asks for. In a cluster the file is known: kubectl exec -n NAMESPACE deploy/NAME -- mcp-gateway admin-token`,
  flags: flagTable,
  examples: ['mcp-gateway admin-token --admin-token-file /run/mcp-gateway/admin-token'],
};

/** Runs the command and returns its exit code. */
export function runAdminTokenCommand(args: readonly string[], io: CommandIo): number {
  const read = readFlags(commandFlags, args, io.env);
  if (read.kind === 'help') {
    io.stdout(read.text);
    return 0;
  }
  const problems = read.kind === 'problems' ? [...read.problems] : [];
  const path = read.kind === 'problems' ? '' : read.values.adminTokenFile;
  if (problems.length === 0 && path === '')
    problems.push('Say which file: --admin-token-file PATH. Without one the admin port asks for no token.');
  if (problems.length > 0) {
    for (const line of [...problems, 'See mcp-gateway admin-token --help.']) io.stderr(`${line}\n`);
    return 2;
  }
  const token = readAdminToken(path);
  if (!token.ok) {
    io.stderr(`${token.message}\n`);
    return 1;
  }
  io.stdout(`${token.token}\n`);
  return 0;
}
