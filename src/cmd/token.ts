// `mcp-gatehouse token inspect`: what is in a token, and who would take it. It is read from standard input and goes nowhere.
import { createFetcher } from '../base/fetch-json.ts';
import { defineCommand, fail, refuse } from './command.ts';
import { requireEgressProxy } from './egress.ts';
import { AssumedKeys } from './explain/assumed-keys.ts';
import { compileExplained, readConfiguration } from './explain/compile-files.ts';
import { defineFlags, type FlagValues } from './flags.ts';
import { filesFlag, inferenceExtensionFlag } from './resource-flags.ts';
import type { CommandIo } from './process-host.ts';
import { describeToken } from './token/describe-token.ts';
import { formatTokenReport } from './token/format-token-report.ts';
import { judgeToken } from './token/judge-token.ts';
import { listProviders } from './token/list-providers.ts';
import { cleanToken, processTokenInput, readTokenInput, type TokenInput } from './token/read-token-input.ts';
import type { TokenReport } from './token/token-report.ts';

const inspectFlagTable = defineFlags({
  file: { ...filesFlag, help: 'A file or folder with resources: which of their policies would take the token?' },
  inferenceExtension: inferenceExtensionFlag,
  online: { type: 'boolean', help: 'Fetch the keys of identity providers, to check the signature' },
  resource: {
    type: 'string',
    placeholder: 'URL',
    help: 'The URL of the MCP server that the token is for, where the files do not tell',
  },
  json: { type: 'boolean', help: 'Print one JSON object on standard output, and nothing else' },
});

/** What the command needs beyond standard output. */
export interface TokenIo extends CommandIo {
  /** Standard input; the one of the process when absent. */
  readonly stdin?: TokenInput;
  /** Milliseconds since 1970; the system's when absent. */
  readonly now?: () => number;
}

export const tokenInspectCommand = defineCommand({
  name: 'token inspect',
  usage: '[-f PATH...] [--online] [--resource URL] [--json] < token.txt',
  summary: `Shows what is in a token, and with -f which policies would take it, which check would fail first, and which others too. The token comes from
standard input, with or without "Bearer " in front. It is not sent anywhere and not printed; with --online only public keys are fetched.

Exit code: 0 it is a signed JSON Web Token, and with -f a policy takes it; 1 otherwise; 2 wrong usage, or files that cannot be read.
The members of --json are in docs/explain.md.`,
  flags: inspectFlagTable,
  // Most likely the token.
  strayArgument:
    'the token comes from standard input: on the command line it would stay in the shell history, where others can read it',
  examples: [
    'mcp-gatehouse token inspect < token.txt',
    'pbpaste | mcp-gatehouse token inspect -f gateway.yaml',
    'mcp-gatehouse token inspect -f gateway.yaml --online --resource https://mcp.example.com/mcp < token.txt',
  ],
  async run(values, io: TokenIo) {
    if (values.resource !== undefined && URL.parse(values.resource) === null)
      return refuse('--resource must be a URL such as https://mcp.example.com/mcp');
    if (values.online && values.file.length === 0) return refuse('--online goes with -f');
    const input = await readTokenInput(io.stdin ?? processTokenInput);
    if (!input.ok) return fail(2, input.message);
    const cleaned = cleanToken(input.value);
    if (!cleaned.ok) return fail(2, `standard input ${cleaned.problem}`);
    const nowMs = (io.now ?? Date.now)();
    const described = describeToken(cleaned.token, nowMs);
    if (values.file.length === 0) return print(described, values.json, io);
    const judged = await judge(cleaned.token, values, io.env, nowMs);
    if (!judged.ok) return fail(2, ...judged.problems);
    const exitCode = print({ ...described, providers: judged.providers }, values.json, io);
    return values.json || judged.fileProblems === 0
      ? exitCode
      : fail(exitCode, 'the files have problems, which mcp-gatehouse check lists');
  },
});

type Judged =
  | { readonly ok: true; readonly providers: TokenReport['providers']; readonly fileProblems: number }
  | { readonly ok: false; readonly problems: readonly string[] };

async function judge(
  token: string,
  { file, resource, online, inferenceExtension }: FlagValues<typeof inspectFlagTable>,
  environment: NodeJS.ProcessEnv,
  nowMs: number,
): Promise<Judged> {
  const read = await readConfiguration(file, environment, {
    inferenceExtension,
    allowUnattached: false,
    denyUnprotected: false,
  });
  if (!read.ok) return read;
  const egress = online ? requireEgressProxy(environment) : undefined;
  const compiled = compileExplained(read.configuration, new AssumedKeys({ kind: 'none' }), { online: false, egress });
  const fetcher = createFetcher({ proxy: egress });
  try {
    const { runtime } = compiled;
    const providers = listProviders({ runtime, secrets: read.configuration.secrets, resource, fetcher });
    return {
      ok: true,
      providers: await judgeToken(token, providers, { online, fetcher, nowMs }),
      fileProblems: read.problems.length + compiled.problems.length,
    };
  } finally {
    await compiled.close();
    await fetcher.close();
  }
}

function print(report: TokenReport, json: boolean, io: TokenIo): number {
  io.stdout(json ? `${JSON.stringify(report, null, 2)}\n` : formatTokenReport(report, io.color));
  if (report.refusal !== null) return 1;
  return report.providers === null || report.providers.some(({ accepted }) => accepted) ? 0 : 1;
}
