// `mcp-gateway rotate-key`: a new key in the seal key file. A gateway that runs picks it up by itself.
import { type CommandFlags, defineFlags, readFlags } from './flags.ts';
import type { CommandIo } from './command-io.ts';
import { findDefaultKeyFile, rotateSealKeyFile } from './seal-key-file.ts';
import { sealKeyFileFlag } from './run-flags.ts';

const rotateFlagTable = defineFlags({
  sealKeyFile: sealKeyFileFlag,
  dropPrevious: {
    type: 'boolean',
    help: 'For a key that leaked: also forget the key until now. Clients register and log in again',
  },
});

const rotateCommandFlags: CommandFlags<typeof rotateFlagTable> = {
  command: 'mcp-gateway rotate-key',
  usage: '[--seal-key-file PATH] [--drop-previous]',
  summary: `Puts a new key into the seal key file. What was sealed with the key until now still opens, so nobody has to log in again;
what was sealed with the key before that does not open any more. A running gateway takes the new key by itself.

Gateways on several machines: give all of them the new key as "previous" first, then make it "current" on all of them.`,
  flags: rotateFlagTable,
  examples: ['mcp-gateway rotate-key', 'mcp-gateway rotate-key --drop-previous'],
};

/** Runs the command and returns its exit code. */
export async function runRotateKeyCommand(args: readonly string[], io: CommandIo): Promise<number> {
  const read = readFlags(rotateCommandFlags, args, io.env);
  if (read.kind === 'help') {
    io.stdout(read.text);
    return 0;
  }
  if (read.kind === 'problems') {
    for (const line of [...read.problems, 'See mcp-gateway rotate-key --help.']) io.stderr(`${line}\n`);
    return 2;
  }
  const { sealKeyFile, dropPrevious } = read.values;
  const path = sealKeyFile ?? findDefaultKeyFile(io.env);
  if (path === undefined) {
    io.stderr('Say which file: --seal-key-file PATH. Neither XDG_STATE_HOME nor HOME is set.\n');
    return 2;
  }
  const result = await rotateSealKeyFile(path, { dropPrevious });
  if (!result.ok) {
    const advice = result.problem === 'missing' ? ' A gateway makes it when it first needs one.' : '';
    io.stderr(`${result.message}${advice}\n`);
    return 1;
  }
  io.stdout(
    dropPrevious
      ? `${path} has a new key, and no other. Every client registers and logs in again.\n`
      : `${path} has a new key; the one until now still opens what it sealed. Nobody has to log in again.\n`,
  );
  return 0;
}
