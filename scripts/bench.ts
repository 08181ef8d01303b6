// Measures what the gateway costs, beside nginx, HAProxy and Envoy in the same run. Linux only. `npm run bench` runs everything and writes
// docs/performance.md; `npm run bench -- requests` runs one experiment, `npm run bench -- jwt mcp-rules` some cases; `--smoke` only proves that it works;
// `npm run bench -- change --against FOLDER` holds this checkout against another one.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { formatText, listMissed } from '../test/bench/bench-report.ts';
import type { StampedResult } from '../test/bench/bench-result.ts';
import { createStamp } from '../test/bench/bench-stamp.ts';
import { findTools, ToolMissingError } from '../test/bench/debian-tools.ts';
import type { Experiment, ExperimentOptions } from '../test/bench/experiment.ts';
import { experiments, type Selection, selectExperiments } from '../test/bench/experiments.ts';
import type { Pace } from '../test/bench/measure-cases.ts';
import { writePage } from '../test/bench/performance-page.ts';
import { createProgress } from '../test/bench/progress-line.ts';
import { buildChanged } from './build-program.ts';
import { installEnvoy } from './install-envoy.ts';
import { InstallationError } from './install-once.ts';

const usage = `Usage: npm run bench -- [EXPERIMENT | CASE...] [--smoke] [--json] [--[no-]write] [--rounds N] [--seconds N] [--minutes N] [--no-access-log] [--against FOLDER]

Experiments:
${experiments.map(({ name, description, isLong }) => `  ${name.padEnd(14)} ${description}${isLong === true ? ' (only when asked for)' : ''}`).join('\n')}
Cases of requests: ${experiments[0]!.cases.join(', ')}`;

function readPace(values: { smoke: boolean; rounds?: string | undefined; seconds?: string | undefined }): Pace {
  const { rounds, seconds } = values;
  const usual = values.smoke
    ? { fewestRounds: 1, mostRounds: 1, secondsPerRound: 0.2, warmUpSeconds: 0.2, mostSpoiltRounds: 0 }
    : // As many as it takes: on a quiet machine a dozen, on a busy one more.
      { fewestRounds: 12, mostRounds: 40, secondsPerRound: 1, warmUpSeconds: 10, mostSpoiltRounds: 60 };
  return {
    ...usual,
    ...(rounds === undefined ? {} : { fewestRounds: Number(rounds), mostRounds: Number(rounds) }),
    ...(seconds === undefined ? {} : { secondsPerRound: Number(seconds) }),
  };
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    allowNegative: true,
    options: {
      smoke: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean' },
      'access-log': { type: 'boolean', default: true },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      minutes: { type: 'string', default: '30' },
      against: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const selected = selectExperiments(positionals);
  const pace = readPace(values);
  const minutes = Number(values.minutes);
  if (typeof selected === 'string' || ![pace.mostRounds, Number(values.seconds ?? 1), minutes].every(isWhole)) {
    console.error(
      typeof selected === 'string' ? selected : '--rounds, --seconds and --minutes take whole numbers from 1 on.',
    );
    console.error(usage);
    return 2;
  }
  if (values.against !== undefined && selected.every(({ experiment }) => experiment.name !== 'change')) {
    console.error('--against goes with the experiment change: npm run bench -- change --against FOLDER');
    return 2;
  }
  // A whole run is worth keeping. Anything else is kept when that is asked for.
  const writes = values.write ?? (positionals.length === 0 && !values.smoke && values.rounds === undefined);
  if (writes && selected.some(({ cases }) => cases !== undefined)) {
    console.error('Some cases of an experiment cannot be written to the page, only all of them.');
    return 2;
  }
  if (process.platform !== 'linux' || availableParallelism() < 2) {
    console.error('The benchmarks need Linux and two cores: one for the proxy, one for the load.');
    return 1;
  }
  // Progress goes to stderr, so that --json is JSON and nothing else.
  const progress = createProgress(process.stderr);
  try {
    const found = await findTools(['nginx', 'haproxy', 'wrk', 'taskset'], progress.say);
    const tools = { ...found, envoy: await installEnvoy(progress.say) };
    // Measures the programs of `npm run build`, as they are in the images.
    progress.say('Building the program');
    await buildChanged();
    const options = {
      tools,
      pace,
      smoke: values.smoke,
      minutes,
      accessLog: values['access-log'],
      against: values.against,
    };
    const stamp = await createStamp(tools, options.accessLog);
    const results: StampedResult[] = [];
    const failures: string[] = [];
    for (const [index, selection] of selected.entries()) {
      const { name } = selection.experiment;
      const report = (line: string): void => progress.show(`${index + 1}/${selected.length} ${name}: ${line}`);
      // A run takes the better part of an hour: what was measured is kept, whatever happens to the rest.
      try {
        const result = { ...(await runExperiment(selection, { ...options, report })), stamp };
        results.push(result);
        if (writes) for (const path of await writePage([result])) progress.say(`wrote ${path}`);
      } catch (error) {
        failures.push(`${name} failed: ${error instanceof Error ? error.stack : String(error)}`);
        progress.say(failures.at(-1)!);
      }
    }
    progress.end();
    console.log(values.json ? JSON.stringify(results, null, 2) : `\n${formatText(results)}`);
    const complaints = [...listMissed(results), ...failures];
    for (const sentence of complaints) console.error(sentence);
    return complaints.length > 0 ? 1 : 0;
  } catch (error) {
    progress.end();
    if (!(error instanceof ToolMissingError || error instanceof InstallationError)) throw error;
    console.error(error.message);
    return 1;
  }
}

function runExperiment({ experiment, cases }: Selection, options: ExperimentOptions): ReturnType<Experiment['run']> {
  return experiment.run(cases === undefined ? options : { ...options, cases });
}

function isWhole(value: number): boolean {
  return Number.isInteger(value) && value >= 1;
}

// An interrupted run leaves nothing behind: processes and files are removed when this process exits, but not when it is killed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main();
