// `mcp-gatehouse explain`: what a gateway does with a request, and why. Before it is sent, by files, by a cluster, or by what a gateway has in force;
// afterwards, by the journal of the gateway.
import { askGateway } from './explain/ask-gateway.ts';
import { explainCommandFlags, type ExplainValues } from './explain/explain-flags.ts';
import type { ExplainReport } from './explain/explain-report.ts';
import { explainRequest } from './explain/explain-request.ts';
import { formatExplainReport } from './explain/format-explain-report.ts';
import { buildJournalReport } from './explain/journal-report.ts';
import { chooseSource } from './explain/read-source.ts';
import { type CommandEnd, defineCommand, fail, refuse } from './command.ts';
import type { CommandIo } from './process-host.ts';
import { processTokenInput, type TokenInput } from './token/read-token-input.ts';

/** What the command needs beyond standard output. */
export interface ExplainIo extends CommandIo {
  /** Standard input; the one of the process when absent. */
  readonly stdin?: TokenInput;
}

export const explainCommand = defineCommand({
  ...explainCommandFlags,
  async run(values, io: ExplainIo, origins) {
    if (values.requestId !== undefined) return explainHappened(values.requestId, values, io);
    if (values.request === undefined)
      return refuse("say what to explain: --request 'POST https://host/mcp', or --request-id ID");
    const chosen = chooseSource(values, origins.admin === 'flag', origins.file === 'flag');
    if (!chosen.ok) return refuse(chosen.problem);
    const explained = await explainRequest(values, chosen.source, io.env, io.stdin ?? processTokenInput);
    return explained.ok ? print(explained.report, values.json, io) : fail(2, ...explained.problems);
  },
});

async function explainHappened(id: string, values: ExplainValues, io: ExplainIo): Promise<CommandEnd> {
  const others = (['request', 'token', 'claims', 'method', 'body', 'toolsFrom'] as const).filter(
    (name) => values[name] !== undefined,
  );
  if (others.length > 0) return refuse('--request-id asks about a request that happened; --request is not needed');
  if (values.fromCluster || values.gateway !== undefined)
    return refuse(
      '--request-id asks one gateway about a request that happened: --admin says where, not --from-cluster',
    );
  if (!/^[\w-]{1,128}$/.test(id))
    return refuse(
      `--request-id ${JSON.stringify(id)} is not the id of a request: it is in x-request-id and in the access log`,
    );
  const answer = await askGateway(values, id);
  return answer.ok ? print(buildJournalReport(answer.request), values.json, io) : fail(answer.exitCode, answer.problem);
}

function print(report: ExplainReport, json: boolean, io: ExplainIo): number {
  io.stdout(json ? `${JSON.stringify(report, null, 2)}\n` : formatExplainReport(report, io.color));
  const { items, verdict } = report;
  if (items !== null) return items.every(({ allowed }) => allowed) ? 0 : 1;
  return verdict.outcome === 'denied' ? 1 : 0;
}
