// What a change costs: the cases of our gateway in this checkout and in another one, by turns in one run. `npm run bench -- change --against FOLDER`.
import type { BenchCase } from '../bench-case.ts';
import { formatNumber } from '../bench-report.ts';
import type { ExperimentResult, Finding, Target } from '../bench-result.ts';
import type { Experiment } from '../experiment.ts';
import { type CaseMeasurements, measureCases } from '../measure-cases.ts';
import { ourCases } from '../request-cases.ts';
import { compareRounds, summarize } from '../statistics.ts';

/** A change is noticed beyond this; below it lies what two builds of the same sources differ by. */
const target: Target = { kind: 'atMost', value: 1.05 };

interface Pair {
  readonly name: string;
  /** Names of the two cases. */
  readonly of: string;
  readonly to: string;
}

export const changeExperiment: Experiment = {
  name: 'change',
  description: 'CPU per request of our gateway, beside that of another checkout: needs --against FOLDER',
  cases: [],
  isLong: true,
  async run(options) {
    const { against } = options;
    if (against === undefined)
      throw new Error('--against FOLDER names the checkout to compare with, built with `npm run build`.');
    const chosen = options.smoke ? ourCases.slice(0, 1) : ourCases;
    const pairs = chosen.map(({ name }): Pair => ({ name, of: `${name}-now`, to: `${name}-before` }));
    const cases = chosen.flatMap((each): readonly BenchCase[] => {
      const { proxy } = each;
      if (proxy.kind !== 'gateway') return [];
      return [
        { ...each, name: `${each.name}-now` },
        { ...each, name: `${each.name}-before`, proxy: { ...proxy, checkout: against } },
      ];
    });
    return describeChange(pairs, await measureCases(cases, { ...options, compared: pairs }));
  },
};

/** Puts the numbers together. */
export function describeChange(pairs: readonly Pair[], { all }: CaseMeasurements): ExperimentResult {
  const costs = (name: string): readonly number[] => all.get(name)!.cpuMicrosPerRequest;
  const rows = pairs.map(({ name, of, to }) => {
    const [now, before] = [summarize(costs(of)), summarize(costs(to))];
    return [name, formatNumber(before.median), formatNumber(now.median), `+-${(50 * now.spread).toFixed(1)} %`];
  });
  const findings = pairs.map(({ name, of, to }): Finding => ({
    what: `${name}: now, beside before`,
    measured: compareRounds([{ values: costs(of), base: costs(to) }]),
    unit: 'times',
    target,
  }));
  return {
    name: 'change',
    title: 'What a change costs',
    tables: [{ head: ['case', 'before: CPU us/request', 'now', 'spread'], rows, notes: [] }],
    findings,
    bars: [],
  };
}
