// `mcp-gateway check`: validates files and prints what would be served. Opens no port and changes nothing.
import { FilesSource } from '../sources/files/files-source.ts';
import { shortenPath } from '../sources/files/problem-line.ts';
import { translate } from '../translate/translate.ts';
import { buildCheckReport, buildFailedReport } from './check-report.ts';
import type { CheckReport } from './check-report.ts';
import { defineFlags, readFlags } from './flags.ts';
import type { CommandFlags } from './flags.ts';
import { formatCheckProblems, formatServed } from './format-check-report.ts';

/** Where the command writes, and what it may read of the process. */
export interface CheckCommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly color: boolean;
  readonly env: NodeJS.ProcessEnv;
}

const checkFlagTable = defineFlags({
  file: {
    type: 'paths',
    short: 'f',
    env: 'MCP_GATEWAY_FILES',
    placeholder: 'PATH',
    help: 'A file or folder with resources',
  },
  json: { type: 'boolean', help: 'Print one JSON object on standard output, and nothing else' },
});

const checkCommandFlags: CommandFlags<typeof checkFlagTable> = {
  command: 'mcp-gateway check',
  usage: '-f PATH... [--json]',
  summary: `Validates files and prints what would be served: listeners, hosts and paths in the order in which they are tried,
backends, policies with where they are in force, and conditions that are not as they should be. Problems go to
standard error.

Exit code: 0 all is well, 1 there are problems, 2 wrong usage.

With --json, every member is always there; what does not apply is null or empty:
  problems    [{file, line, column, kind, namespace, name, path, code, message}]
              code: unknown_field, required, invalid, not_supported_yet   a field of a resource
                    not_found, unreadable, no_resources, syntax           a path or a file
                    duplicate, unresolved_value                           a resource, a value of a Secret
                    condition, not_served, unusable                       what becomes of a resource that is valid
  gateways    [{namespace, name, listeners: [{name, addresses, port, protocol, hostname, served, routes: [
                {hostname, path: {type, value}, method, headers, queryParams, httpRoute, rule,
                 backends: [{backend, weight, answers}], filters, policies, answers: {status, reason, message}}]}]}]
  backends    [{backend, transport, endpoints}]
  policies    [{namespace, name, attachments: [{field, target, closed}]}]
  conditions  [{kind, namespace, name, part, type, status, reason, message}]   those that are not as they should be`,
  flags: checkFlagTable,
  positionals: 'file',
  examples: ['mcp-gateway check -f gateway.yaml', 'mcp-gateway check -f conf/ --json | jq .problems'],
};

/** Runs the command and returns its exit code. */
export async function runCheckCommand(args: readonly string[], io: CheckCommandIo): Promise<number> {
  const read = readFlags(checkCommandFlags, args, io.env);
  if (read.kind === 'help') {
    io.stdout(read.text);
    return 0;
  }
  const mistakes = read.kind === 'problems' ? read.problems : [];
  if (read.kind === 'problems' || read.values.file.length === 0) {
    for (const line of mistakes.length > 0 ? mistakes : ['say what to check: -f PATH'])
      io.stderr(`mcp-gateway check: ${line}\n`);
    io.stderr('See mcp-gateway check --help.\n');
    return 2;
  }
  const { file, json } = read.values;
  const report = await checkFiles(file, io.env);
  printReport(report, json, io);
  return report.problems.length > 0 ? 1 : 0;
}

async function checkFiles(paths: readonly string[], environment: NodeJS.ProcessEnv): Promise<CheckReport> {
  const source = new FilesSource({ paths, environment, watch: false });
  const started = await source.start();
  if (!started.ok) return buildFailedReport(started.problems);
  const resources = source.resources.get();
  return buildCheckReport({
    resources,
    translation: translate(resources),
    problems: source.problems.get(),
    locate: (identity) => source.locate(identity),
  });
}

function printReport(report: CheckReport, json: boolean, io: CheckCommandIo): void {
  const workingDirectory = process.cwd();
  if (json) {
    const problems = report.problems.map(({ file, ...problem }) => ({
      file: file === null ? null : shortenPath(file, workingDirectory),
      ...problem,
    }));
    io.stdout(`${JSON.stringify({ ...report, problems }, null, 2)}\n`);
    return;
  }
  const count = report.problems.length;
  io.stderr(formatCheckProblems(report.problems, workingDirectory, io.color));
  io.stdout(formatServed(report, io.color));
  if (count > 0) io.stderr(`${count === 1 ? '1 problem' : `${count} problems`}\n`);
  else io.stdout('No problems.\n');
}
