// `mcp-gateway run`: resources from files (or the short form) -> translate -> the gateway, again on every change.
import { isIP } from 'node:net';
import type { Resources } from '../api/resources.ts';
import type { Configuration } from '../ir/configuration.ts';
import { FilesSource } from '../sources/files/files-source.ts';
import { formatProblemLine } from '../sources/files/problem-line.ts';
import { createFixedSource } from '../sources/fixed-source.ts';
import type { ResourceSource, SourceProblem } from '../sources/resource-source.ts';
import { translate } from '../translate/translate.ts';
import { type FlagValues, readFlags } from './flags.ts';
import { overrideAddress } from './override-address.ts';
import { runCommandFlags } from './run-flags.ts';
import { buildShortForm, printResources } from './short-form.ts';
import { type GatewayProcess, StartError, startGatewayProcess } from './start-gateway.ts';
import { formatStatusProblems } from './status-problems.ts';

type RunValues = FlagValues<typeof runCommandFlags.flags>;

/** Serves until a signal ends the process. Returns an exit code when it could not start, or was not meant to. */
export async function runRunCommand(args: readonly string[]): Promise<number> {
  const read = readFlags(runCommandFlags, args, process.env);
  if (read.kind === 'help') return print(read.text);
  if (read.kind === 'problems') return refuse([...read.problems, 'See mcp-gateway run --help.'], 2);
  const { values } = read;
  const mistakes = findMistakes(values);
  if (mistakes.length > 0) return refuse([...mistakes, 'See mcp-gateway run --help.'], 2);

  let source: ResourceSource;
  if (values.target === undefined) {
    source = new FilesSource({
      paths: values.file,
      environment: process.env,
      watchTimes: { settle: values.reloadSettle },
    });
  } else {
    const short = buildShortForm({ target: values.target, port: values.port, transport: values.transport });
    if (!short.ok) return refuse([short.message], 2);
    if (values.print) return print(printResources(short.resources));
    source = createFixedSource(short.resources);
  }

  const started = await source.start();
  if (!started.ok) return refuse(started.problems.map(formatProblem), 1);
  try {
    await serve(await startGatewayProcess(values), source, values);
    return 0;
  } catch (error) {
    await source.stop();
    if (error instanceof StartError) return refuse(error.message.split('\n'), 1);
    throw error;
  }
}

async function serve(gateway: GatewayProcess, source: ResourceSource, values: RunValues): Promise<void> {
  const { log, metrics, shutdown } = gateway;
  shutdown.addStep({ name: 'stop watching files', timeoutMs: 1_000, run: () => source.stop() });

  const reportProblems = (problems: readonly SourceProblem[]): void => {
    for (const problem of problems) log.error({}, formatProblem(problem));
    metrics.config.setProblems(problems.length);
  };
  // What was said once is not said again with every change.
  let known: ReadonlySet<string> = new Set();
  const translateResources = (resources: Resources): Configuration => {
    const translation = translate(
      values.address === undefined ? resources : overrideAddress(resources, values.address),
    );
    const lines = formatStatusProblems(translation, resources.invalid);
    for (const line of lines) if (!known.has(line)) log.warn({}, line);
    known = new Set(lines);
    return translation.configuration;
  };

  reportProblems(source.problems.get());
  await gateway.applyFirst(translateResources(source.resources.get()));
  gateway.announceServing();

  source.problems.subscribe((problems) => {
    reportProblems(problems);
    if (problems.some(({ consequence }) => consequence !== undefined)) metrics.config.rejected();
    if (problems.length === 0) log.info({}, 'the files have no problems any more');
  });
  source.resources.subscribe((resources) => void gateway.applyChange(translateResources(resources)));
}

/** Flags that do not go together. */
function findMistakes(values: RunValues): string[] {
  const mistakes: string[] = [];
  if (values.file.length === 0 && values.target === undefined)
    mistakes.push('Say what to serve: -f PATH or --target URL.');
  if (values.file.length > 0 && values.target !== undefined) mistakes.push('Use either -f or --target, not both.');
  if (values.target === undefined) {
    if (values.print) mistakes.push('--print goes with --target: with -f the resources are in your files already.');
    if (values.port !== undefined) mistakes.push('--port goes with --target: with -f the Gateways name their ports.');
    if (values.transport !== undefined)
      mistakes.push('--transport goes with --target: with -f the ProxyBackend names its protocol.');
  }
  if (values.address !== undefined && isIP(values.address) === 0) {
    mistakes.push(`--address must be an IP address such as 127.0.0.1 or ::, not ${JSON.stringify(values.address)}.`);
  }
  return mistakes;
}

function formatProblem(problem: SourceProblem): string {
  return formatProblemLine(problem, process.cwd());
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function refuse(lines: readonly string[], code: number): number {
  for (const line of lines) process.stderr.write(`${line}\n`);
  return code;
}
