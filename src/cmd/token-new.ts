// `mcp-gatehouse token new`: a token for tests, and the policy that accepts it. The private key never leaves the process.
import { readFile, writeFile } from 'node:fs/promises';
import { formatFieldPath } from '../api/problem.ts';
import { readText } from '../sources/files/read-text.ts';
import { validateResource } from '../sources/validate.ts';
import { defineCommand, fail, refuse } from './command.ts';
import type { CommandIo } from './process-host.ts';
import { formatTestPolicy, mintToken, policyFileMark, type PolicyTargetReference } from './token/mint-token.ts';
import { readClaimFlags } from './token/read-claim-flags.ts';

const maxClaimsBytes = 64 * 1024;

/** What the command needs beyond standard output. */
export interface TokenNewIo extends CommandIo {
  /** Milliseconds since 1970; the system's when absent. */
  readonly now?: () => number;
}

export const tokenNewCommand = defineCommand({
  name: 'token new',
  usage:
    '[--sub NAME] [--aud URL...] [--scope "A B"] [--claim NAME=VALUE...] [--lifetime 10m] [--policy-out FILE] [--json]',
  summary: `Makes a token to test a gateway with, without an identity provider, and the ProxyPolicy that accepts it. The token is signed with a key that is made for
it and thrown away: it is not written anywhere, and no second token can be made with it.
The token goes to standard output, the policy as YAML to standard error, or with --policy-out into a file, which a gateway that reads its folder takes up at once.
Only a gateway that reads files accepts such a policy, with a warning. Deployed gateways, which a controller configures, refuse it.
With --json: {token, issuer, expires, claims, policy}.`,
  flags: {
    sub: { type: 'string', placeholder: 'NAME', help: 'Who the token is about: the claim sub; test-user without one' },
    aud: {
      type: 'strings',
      placeholder: 'URL',
      help: 'Who the token is for: the claim aud, which the policy then requires',
    },
    scope: { type: 'string', placeholder: 'TEXT', help: 'The scopes of the token, separated by spaces' },
    claim: {
      type: 'strings',
      placeholder: 'NAME=VALUE',
      help: `Another claim. A value that is JSON is taken as JSON: level=3, groups=["a","b"]; quoted it is a text: zip='"01234"'`,
    },
    claims: { type: 'string', placeholder: 'FILE', help: 'A file with claims, as one JSON object; flags win over it' },
    lifetime: {
      type: 'duration',
      default: 600_000,
      min: 1_000,
      max: 3_600_000,
      help: 'How long the token is valid, an hour at most',
    },
    target: {
      type: 'string',
      default: 'Gateway/mcp',
      placeholder: 'KIND/NAME',
      help: 'What the policy protects: a Gateway or an HTTPRoute',
    },
    policyOut: {
      type: 'string',
      placeholder: 'FILE',
      help: 'Write the policy there; a file that is no such policy is left alone',
    },
    json: { type: 'boolean', help: 'Print one JSON object on standard output, and nothing else' },
  },
  examples: [
    'mcp-gatehouse token new --sub alice > token.txt',
    'mcp-gatehouse token new --claim \'groups=["staff"]\' --policy-out conf/test-token.yaml | mcp-gatehouse token inspect -f conf/',
    'TOKEN=$(mcp-gatehouse token new --sub alice --policy-out conf/test-token.yaml)',
  ],
  async run(values, io: TokenNewIo) {
    const target = readTarget(values.target);
    if (target === undefined)
      return refuse(`--target must be Gateway/NAME or HTTPRoute/NAME, not ${JSON.stringify(values.target)}`);
    const file = values.claims === undefined ? undefined : await readText(values.claims, maxClaimsBytes);
    if (file?.ok === false) return fail(1, `--claims: the file ${values.claims} ${file.message}`);
    const read = readClaimFlags({ ...values, file: file?.value });
    if (!read.ok) return refuse(...read.problems);
    const nowMs = (io.now ?? Date.now)();
    const minted = mintToken(read.claims, { nowMs, lifetimeMs: values.lifetime, target });
    const valid = validateResource(minted.policy, 'file');
    if (!valid.ok)
      return refuse(
        ...valid.problems.map(({ path, message }) => `the policy cannot have ${formatFieldPath(path)}: ${message}`),
      );
    const policyText = formatTestPolicy(minted);
    if (values.policyOut !== undefined) {
      const problem = await writePolicy(values.policyOut, policyText);
      if (problem !== undefined) return fail(1, `--policy-out: ${problem}`);
    }
    if (values.json) {
      const { token, issuer, claims, policy } = minted;
      const expires = new Date(Number(claims['exp']) * 1_000).toISOString();
      io.stdout(`${JSON.stringify({ token, issuer, expires, claims, policy }, null, 2)}\n`);
      return 0;
    }
    io.stdout(`${minted.token}\n`);
    if (values.policyOut === undefined) io.stderr(policyText);
    return 0;
  },
});

function readTarget(text: string): PolicyTargetReference | undefined {
  const [, kind, name] = /^(Gateway|HTTPRoute)\/([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)$/.exec(text) ?? [];
  return kind === undefined || name === undefined ? undefined : { kind: kind as PolicyTargetReference['kind'], name };
}

/** Undefined: it is written. */
async function writePolicy(path: string, text: string): Promise<string | undefined> {
  const before = await readFile(path, 'utf8').catch(() => undefined);
  if (before !== undefined && !before.startsWith(policyFileMark))
    return `${path} exists and is no policy of this command; name another file`;
  try {
    await writeFile(path, text);
    return undefined;
  } catch (error) {
    return `${path} cannot be written (${error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'})`;
  }
}
