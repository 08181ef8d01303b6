// Measures what a request costs the gateway, in microseconds of CPU, and how many times a plain route that is. Linux only.
// `npm run bench -- jwt` runs a group, `npm run bench -- plain mcp-rules` some cases of it; `--smoke` only proves that it works.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import type { BenchCase, BenchGroups } from '../test/bench/bench-case.ts';
import { createReport, formatReport } from '../test/bench/bench-report.ts';
import { findTools, ToolMissingError } from '../test/bench/debian-tools.ts';
import { jwtCases } from '../test/bench/jwt-cases.ts';
import { measureCases, type Pace } from '../test/bench/measure-cases.ts';

const groups: BenchGroups = { jwt: jwtCases };
const everyCase = Object.values(groups).flat();
const usage = `Usage: npm run bench -- [GROUP | CASE...] [--smoke] [--json] [--rounds N] [--seconds N] [--no-access-log]

Groups: ${Object.keys(groups).join(', ')}
Cases: ${everyCase.map(({ name }) => name).join(', ')}`;

/** Nothing asked for is everything there is. A case is always compared with the first one of its group. */
function selectCases(names: readonly string[]): readonly BenchCase[] | string {
  if (names.length === 0) return Object.values(groups)[0]!;
  const selected = new Set<BenchCase>();
  for (const name of names) {
    const group = Object.hasOwn(groups, name) ? groups[name] : undefined;
    const owner = Object.values(groups).find((cases) => cases.some((each) => each.name === name));
    if (group === undefined && owner === undefined) return `There is no case or group called ${name}.`;
    for (const each of group ?? [owner![0]!, owner!.find((one) => one.name === name)!]) selected.add(each);
  }
  return [...selected];
}

function readPace(values: { smoke: boolean; rounds?: string | undefined; seconds?: string | undefined }): Pace {
  const { rounds, seconds } = values;
  const usual = values.smoke
    ? { fewestRounds: 1, mostRounds: 1, secondsPerRound: 1, warmUpSeconds: 1 }
    : // As many as it takes: on a quiet machine a dozen, on a busy one more.
      { fewestRounds: 12, mostRounds: 80, secondsPerRound: 1, warmUpSeconds: 6 };
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
      'access-log': { type: 'boolean', default: true },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const cases = selectCases(positionals);
  const pace = readPace(values);
  if (typeof cases === 'string' || !isWhole(pace.mostRounds) || !isWhole(pace.secondsPerRound)) {
    console.error(typeof cases === 'string' ? cases : '--rounds and --seconds take whole numbers from 1 on.');
    console.error(usage);
    return 2;
  }
  if (process.platform !== 'linux' || availableParallelism() < 2) {
    console.error('The benchmarks need Linux and two cores: one for the gateway, one for the load.');
    return 1;
  }
  // Progress goes to stderr, so that --json is JSON and nothing else.
  const report = (line: string): void => console.error(line);
  try {
    const tools = await findTools(['nginx', 'wrk', 'taskset'], report);
    const conditions = { pace, accessLog: values['access-log'] };
    const measured = await measureCases(cases, { tools, report, ...conditions });
    const result = createReport(cases, measured, conditions);
    console.log(values.json ? JSON.stringify(result, null, 2) : `\n${formatReport(result)}`);
    return result.overLimit.length > 0 ? 1 : 0;
  } catch (error) {
    if (!(error instanceof ToolMissingError)) throw error;
    console.error(error.message);
    return 1;
  }
}

function isWhole(value: number): boolean {
  return Number.isInteger(value) && value >= 1;
}

// Who breaks it off leaves nothing behind: what runs and what was written goes when this process exits, not when it is killed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main();
