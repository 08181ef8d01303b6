// `mcp-gatehouse rotate-key`: a new key in the seal key file. A gateway that runs picks it up by itself.
import { defineCommand, fail, refuse } from './command.ts';
import { findDefaultKeyFile, rotateSealKeyFile } from './seal-key-file.ts';
import { sealKeyFileFlag } from './run-flags.ts';

export const rotateKeyCommand = defineCommand({
  name: 'rotate-key',
  usage: '[--seal-key-file PATH] [--drop-previous]',
  summary: `Puts a new key into the seal key file. What was sealed with the key until now still opens, so nobody has to log in again;
what was sealed with the key before that does not open any more. A running gateway takes the new key by itself.

Gateways on several machines: give all of them the new key as "previous" first, then make it "current" on all of them.`,
  flags: {
    sealKeyFile: sealKeyFileFlag,
    dropPrevious: {
      type: 'boolean',
      help: 'For a key that leaked: also forget the key until now. Clients register and log in again',
    },
  },
  examples: ['mcp-gatehouse rotate-key', 'mcp-gatehouse rotate-key --drop-previous'],
  async run({ sealKeyFile, dropPrevious }, io) {
    const path = sealKeyFile ?? findDefaultKeyFile(io.env);
    if (path === undefined)
      return refuse('say which file: --seal-key-file PATH; neither XDG_STATE_HOME nor HOME is set');
    const result = await rotateSealKeyFile(path, { dropPrevious });
    if (!result.ok) {
      const advice = result.problem === 'missing' ? ' A gateway makes it when it first needs one.' : '';
      return fail(1, `${result.message}${advice}`);
    }
    io.stdout(
      dropPrevious
        ? `${path} has a new key, and no other. Every client registers and logs in again.\n`
        : `${path} has a new key; the one until now still opens what it sealed. Nobody has to log in again.\n`,
    );
    return 0;
  },
});
