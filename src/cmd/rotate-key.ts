// `mcp-gatehouse rotate-key`: a new key in the seal key file, or with --signing in the signing key file. A gateway that runs picks it up by itself.
import { type CommandEnd, defineCommand, fail, refuse } from './command.ts';
import { findDefaultKeyFile, rotateSealKeyFile } from './seal-key-file.ts';
import { sealKeyFileFlag, signingKeyFileFlag } from './run-flags.ts';
import { findSigningKeyFile, rotateSigningKeyFile } from './signing-key-file.ts';

export const rotateKeyCommand = defineCommand({
  name: 'rotate-key',
  usage: '[--signing] [--seal-key-file PATH] [--signing-key-file PATH] [--drop-previous]',
  summary: `Puts a new key into the seal key file. What was sealed with the key until now still opens, so nobody has to log in again;
what was sealed with the key before that does not open any more. A running gateway takes the new key by itself.

Gateways on several machines: give all of them the new key as "previous" first, then make it "current" on all of them.

With --signing, a new key for access tokens that the gateway issues itself (flow Issuer), in the signing key file. It is published at once and signs five minutes
later, when every gateway that shares the file has it; tokens until then stay good. Gateways on several machines: copy the file to all of them within these minutes.`,
  flags: {
    signing: { type: 'boolean', help: 'Rotate the key that signs access tokens, not the seal key' },
    sealKeyFile: sealKeyFileFlag,
    signingKeyFile: signingKeyFileFlag,
    dropPrevious: {
      type: 'boolean',
      help: 'For a key that leaked: also forget the key until now. Clients register and log in again; with --signing they fetch new access tokens',
    },
  },
  examples: [
    'mcp-gatehouse rotate-key',
    'mcp-gatehouse rotate-key --drop-previous',
    'mcp-gatehouse rotate-key --signing',
  ],
  async run({ signing, sealKeyFile, signingKeyFile, dropPrevious }, io, origins) {
    const sealPath = sealKeyFile ?? findDefaultKeyFile(io.env);
    if (signing) return rotateSigning(signingKeyFile ?? findSigningKeyFile(sealPath), dropPrevious, io.stdout);
    if (origins.signingKeyFile === 'flag')
      return refuse('--signing-key-file goes with --signing: without it the seal key is rotated');
    return rotateSeal(sealPath, dropPrevious, io.stdout);
  },
});

async function rotateSeal(
  path: string | undefined,
  dropPrevious: boolean,
  print: (text: string) => void,
): Promise<CommandEnd> {
  if (path === undefined) return refuse('say which file: --seal-key-file PATH; neither XDG_STATE_HOME nor HOME is set');
  const result = await rotateSealKeyFile(path, { dropPrevious });
  if (!result.ok) return fail(1, adviseOnMissing(result));
  print(
    dropPrevious
      ? `${path} has a new key, and no other. Every client registers and logs in again.\n`
      : `${path} has a new key; the one until now still opens what it sealed. Nobody has to log in again.\n`,
  );
  return 0;
}

async function rotateSigning(
  path: string | undefined,
  dropPrevious: boolean,
  print: (text: string) => void,
): Promise<CommandEnd> {
  if (path === undefined)
    return refuse('say which file: --signing-key-file PATH; neither XDG_STATE_HOME nor HOME is set');
  const now = Date.now();
  const result = await rotateSigningKeyFile(path, { dropPrevious, now });
  if (!result.ok) return fail(1, adviseOnMissing(result));
  const added = result.keys.find(({ createdAt }) => createdAt === now)!;
  print(
    dropPrevious
      ? `${path} has a new key, and no other. Access tokens until now are refused; clients fetch new ones with their refresh tokens, or log in again.\n`
      : `${path} has a new key, which signs from ${new Date(added.signsFrom).toISOString()}. Access tokens until then stay good.\n`,
  );
  return 0;
}

function adviseOnMissing({ problem, message }: { readonly problem: string; readonly message: string }): string {
  return problem === 'missing' ? `${message} A gateway makes it when it first needs one.` : message;
}
