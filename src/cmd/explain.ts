// `mcp-gateway explain`: what a gateway does with a request, and why. Before it is sent, by files, by a cluster, or by what a gateway has in force;
// afterwards, by the journal of the gateway.
import { askGateway } from './explain/ask-gateway.ts';
import { explainCommandFlags, type ExplainValues } from './explain/explain-flags.ts';
import type { ExplainReport } from './explain/explain-report.ts';
import { explainRequest } from './explain/explain-request.ts';
import { formatExplainReport } from './explain/format-explain-report.ts';
import { buildJournalReport } from './explain/journal-report.ts';
import { chooseSource } from './explain/read-source.ts';
import type { CommandIo } from './command-io.ts';
import { readFlags } from './flags.ts';
import { processTokenInput, type TokenInput } from './token/read-token-input.ts';

/** What the command needs beyond standard output. */
export interface ExplainIo extends CommandIo {
  /** Standard input; the one of the process when absent. */
  readonly stdin?: TokenInput;
}

/** Runs the command and returns its exit code. */
export async function runExplainCommand(args: readonly string[], io: ExplainIo): Promise<number> {
  const read = readFlags(explainCommandFlags, args, io.env);
  if (read.kind === 'help') {
    io.stdout(read.text);
    return 0;
  }
  if (read.kind === 'problems') return refuse(io, read.problems, true);
  const { values, origins } = read;
  if (values.requestId !== undefined) return explainHappened(values.requestId, values, io);
  if (values.request === undefined)
    return refuse(io, ["say what to explain: --request 'POST https://host/mcp', or --request-id ID"], true);
  const chosen = chooseSource(values, origins.admin === 'flag', origins.file === 'flag');
  if (!chosen.ok) return refuse(io, [chosen.problem], true);
  const explained = await explainRequest(values, chosen.source, io.env, io.stdin ?? processTokenInput);
  if (!explained.ok) return refuse(io, explained.problems, false);
  return print(explained.report, values.json, io);
}

async function explainHappened(id: string, values: ExplainValues, io: ExplainIo): Promise<number> {
  const others = (['request', 'token', 'claims', 'method', 'body', 'toolsFrom'] as const).filter(
    (name) => values[name] !== undefined,
  );
  if (others.length > 0)
    return refuse(io, ['--request-id asks about a request that happened; --request is not needed'], true);
  if (values.fromCluster || values.gateway !== undefined)
    return refuse(
      io,
      ['--request-id asks one gateway about a request that happened: --admin says where, not --from-cluster'],
      true,
    );
  if (!/^[\w-]{1,128}$/.test(id))
    return refuse(
      io,
      [`--request-id ${JSON.stringify(id)} is not the id of a request: it is in x-request-id and in the access log`],
      false,
    );
  const answer = await askGateway(values, id);
  if (!answer.ok) {
    io.stderr(`mcp-gateway explain: ${answer.problem}\n`);
    return answer.exitCode;
  }
  return print(buildJournalReport(answer.request), values.json, io);
}

function print(report: ExplainReport, json: boolean, io: ExplainIo): number {
  io.stdout(json ? `${JSON.stringify(report, null, 2)}\n` : formatExplainReport(report, io.color));
  const { items, verdict } = report;
  if (items !== null) return items.every(({ allowed }) => allowed) ? 0 : 1;
  return verdict.outcome === 'denied' ? 1 : 0;
}

function refuse(io: ExplainIo, lines: readonly string[], pointToHelp: boolean): number {
  for (const line of lines) io.stderr(`mcp-gateway explain: ${line}\n`);
  if (pointToHelp) io.stderr('See mcp-gateway explain --help.\n');
  return 2;
}
