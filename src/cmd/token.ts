// `mcp-gateway token inspect`: what is in a token, and who would take it. It is read from standard input and goes nowhere.
import { createFetcher } from '../base/fetch-json.ts';
import type { CommandIo } from './command-io.ts';
import { AssumedKeys } from './explain/assumed-keys.ts';
import { compileExplained, readConfiguration } from './explain/compile-files.ts';
import { type CommandFlags, defineFlags, type FlagValues, readFlags } from './flags.ts';
import { inferenceExtensionFlag } from './inference-extension-flag.ts';
import { describeToken } from './token/describe-token.ts';
import { formatTokenReport } from './token/format-token-report.ts';
import { judgeToken } from './token/judge-token.ts';
import { listProviders } from './token/list-providers.ts';
import { cleanToken, processTokenInput, readTokenInput, type TokenInput } from './token/read-token-input.ts';
import type { TokenReport } from './token/token-report.ts';

const inspectFlagTable = defineFlags({
  file: {
    type: 'paths',
    short: 'f',
    env: 'MCP_GATEWAY_FILES',
    placeholder: 'PATH',
    help: 'A file or folder with resources: which of their policies would take the token?',
  },
  inferenceExtension: inferenceExtensionFlag,
  online: { type: 'boolean', help: 'Fetch the keys of identity providers, to check the signature' },
  resource: {
    type: 'string',
    placeholder: 'URL',
    help: 'The URL of the MCP server that the token is for, where the files do not tell',
  },
  json: { type: 'boolean', help: 'Print one JSON object on standard output, and nothing else' },
});

const inspectCommandFlags: CommandFlags<typeof inspectFlagTable> = {
  command: 'mcp-gateway token inspect',
  usage: '[-f PATH...] [--online] [--resource URL] [--json] < token.txt',
  summary: `Shows what is in a token, and with -f which policies would take it, which check would fail first, and which others too. The token comes from
standard input, with or without "Bearer " in front. It is not sent anywhere and not printed; with --online only public keys are fetched.

Exit code: 0 it is a signed JSON Web Token, and with -f a policy takes it; 1 otherwise; 2 wrong usage, or files that cannot be read.
The members of --json are in docs/explain.md.`,
  flags: inspectFlagTable,
  examples: [
    'mcp-gateway token inspect < token.txt',
    'pbpaste | mcp-gateway token inspect -f gateway.yaml',
    'mcp-gateway token inspect -f gateway.yaml --online --resource https://mcp.example.com/mcp < token.txt',
  ],
};

/** What the command needs beyond standard output. */
export interface TokenIo extends CommandIo {
  /** Standard input; the one of the process when absent. */
  readonly stdin?: TokenInput;
  /** Milliseconds since 1970; the system's when absent. */
  readonly now?: () => number;
}

const usage = `Usage: mcp-gateway token inspect [flags] < token.txt

"mcp-gateway token inspect --help" says what it shows.
`;

/** Runs the command and returns its exit code. */
export async function runTokenCommand(args: readonly string[], io: TokenIo): Promise<number> {
  const [action, ...rest] = args;
  if (action === 'inspect') return runInspect(rest, io);
  if (action === '--help' || action === '-h') {
    io.stdout(usage);
    return 0;
  }
  // Never what was typed: it may be a token.
  const problem = action === undefined ? 'say what to do with it' : 'there is no such subcommand; there is inspect';
  io.stderr(`mcp-gateway token: ${problem}.\n${usage}`);
  return 2;
}

async function runInspect(args: readonly string[], io: TokenIo): Promise<number> {
  const read = readFlags(inspectCommandFlags, args, io.env);
  if (read.kind === 'help') {
    io.stdout(read.text);
    return 0;
  }
  if (read.kind === 'problems') return refuse(io, read.problems.map(hideArgument), true);
  const { values } = read;
  if (values.resource !== undefined && URL.parse(values.resource) === null)
    return refuse(io, [`--resource must be a URL such as https://mcp.example.com/mcp`], true);
  if (values.online && values.file.length === 0) return refuse(io, ['--online goes with -f'], true);
  const input = await readTokenInput(io.stdin ?? processTokenInput);
  if (!input.ok) return refuse(io, [input.message], false);
  const cleaned = cleanToken(input.value);
  if (!cleaned.ok) return refuse(io, [`standard input ${cleaned.problem}`], false);
  const nowMs = (io.now ?? Date.now)();
  const described = describeToken(cleaned.token, nowMs);
  if (values.file.length === 0) return print(described, values.json, io);
  const judged = await judge(cleaned.token, values, io.env, nowMs);
  if (!judged.ok) return refuse(io, judged.problems, false);
  if (!values.json && judged.fileProblems > 0)
    io.stderr('mcp-gateway token inspect: the files have problems, which mcp-gateway check lists\n');
  return print({ ...described, providers: judged.providers }, values.json, io);
}

type Judged =
  | { readonly ok: true; readonly providers: TokenReport['providers']; readonly fileProblems: number }
  | { readonly ok: false; readonly problems: readonly string[] };

async function judge(
  token: string,
  { file, resource, online, inferenceExtension }: FlagValues<typeof inspectFlagTable>,
  environment: NodeJS.ProcessEnv,
  nowMs: number,
): Promise<Judged> {
  const read = await readConfiguration(file, environment, inferenceExtension);
  if (!read.ok) return read;
  const compiled = compileExplained(read.configuration, new AssumedKeys({ kind: 'none' }));
  const fetcher = createFetcher();
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

/** What stands on the command line without a flag is most likely the token. It is not repeated. */
function hideArgument(problem: string): string {
  return problem.startsWith('unexpected argument')
    ? 'the token comes from standard input: on the command line it would stay in the shell history, where others can read it'
    : problem;
}

function refuse(io: TokenIo, lines: readonly string[], pointToHelp: boolean): number {
  for (const line of lines) io.stderr(`mcp-gateway token inspect: ${line}\n`);
  if (pointToHelp) io.stderr('See mcp-gateway token inspect --help.\n');
  return 2;
}
