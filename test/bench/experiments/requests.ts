// CPU per request: our gateway with more and more to do, beside its peers.
import type { BenchCase } from '../bench-case.ts';
import { formatNumber } from '../bench-report.ts';
import { type ExperimentResult, type Finding, judge, type Target } from '../bench-result.ts';
import type { Experiment, ExperimentOptions } from '../experiment.ts';
import { type CaseMeasurements, type MeasuredCases, measureCases } from '../measure-cases.ts';
import { ourCases, requestCases } from '../request-cases.ts';
import { compareRounds, summarize } from '../statistics.ts';

/** A case, and what it may cost as a multiple of another one. */
interface RequestTarget {
  readonly of: string;
  readonly to: string;
  readonly what: string;
  readonly target: Target;
}

/** What the gateway is held to. */
export const requestTargets: readonly RequestTarget[] = [
  { of: 'jwt', to: 'envoy-jwt', what: 'JWT-protected request, beside Envoy with jwt_authn', target: atMost(0.35) },
  {
    of: 'jwt',
    to: 'envoy-jwt-cache',
    what: 'JWT-protected request, beside Envoy with jwt_authn and its token cache',
    target: atMost(0.8),
  },
  { of: 'jwt', to: 'nginx', what: 'JWT-protected request, beside nginx that checks nothing', target: atMost(2) },
  { of: 'jwt-1000', to: 'jwt', what: '1,000 tokens in turn, beside one token', target: atMost(1.1) },
  { of: 'jwt-rules', to: 'plain', what: 'JWT and two CEL rules, beside the plain route', target: atMost(1.15) },
  {
    of: 'mcp-rules',
    to: 'plain',
    what: 'JWT and rules over MCP messages, beside the plain route',
    target: atMost(1.6),
  },
  {
    of: 'federation',
    to: 'mcp-rules',
    what: 'Call in a session with a federation of two servers, beside rules over messages in front of one',
    target: atMost(1.4),
  },
  {
    of: 'federation-modern',
    to: 'mcp-rules-modern',
    what: 'The same with MCP 2026-07-28 on both sides',
    target: atMost(1.4),
  },
  {
    of: 'federation-32',
    to: 'federation',
    what: 'Call in front of 32 servers, beside one in front of two',
    target: atMost(1.05),
  },
  {
    of: 'issued',
    to: 'mcp-auth',
    what: 'Token of the gateway itself, beside one of an identity provider',
    target: atMost(1.05),
  },
  {
    of: 'challenge',
    to: 'jwt',
    what: 'Request without a token that is refused, beside one that is forwarded',
    target: { kind: 'below', value: 1 },
  },
  {
    of: 'forged',
    to: 'jwt',
    what: 'Forged token that is refused, never seen before, beside one that is forwarded',
    target: { kind: 'below', value: 1 },
  },
];

function atMost(value: number): Target {
  return { kind: 'atMost', value };
}

export const requestExperiment: Experiment = {
  name: 'requests',
  description: 'CPU per request of our gateway and its peers',
  cases: requestCases.map(({ name }) => name),
  async run(options) {
    const cases = selectCases(options.cases);
    const compared = findCompared(cases);
    const measured = await measureCases(cases, {
      ...options,
      compared,
      findUndecided: (all) => compared.filter((target) => isUndecided(findRatio(target, [all]))),
    });
    return describeRequests(cases, measured, options);
  },
};

/** A case comes with those that it is held against. */
export function selectCases(names: readonly string[] | undefined): readonly BenchCase[] {
  if (names === undefined) return requestCases;
  const wanted = new Set([...names, ...requestTargets.filter(({ of }) => names.includes(of)).map(({ to }) => to)]);
  return requestCases.filter(({ name }) => wanted.has(name));
}

/** The pairs whose ratio is asked for, among these cases. */
function findCompared(cases: readonly BenchCase[]): readonly RequestTarget[] {
  const has = (name: string): boolean => cases.some((each) => each.name === name);
  return requestTargets.filter(({ of, to }) => has(of) && has(to));
}

/** The ratio, from all rounds that both took part in. */
function findRatio({ of, to, what, target }: RequestTarget, looks: readonly MeasuredCases[]): Finding {
  const rounds = looks
    .filter((look) => look.has(of) && look.has(to))
    .map((look) => ({ values: look.get(of)!.cpuMicrosPerRequest, base: look.get(to)!.cpuMicrosPerRequest }));
  return { what, measured: compareRounds(rounds), unit: 'times', target };
}

/** There were enough rounds to tell, and they do not. */
function isUndecided(finding: Finding): boolean {
  return finding.measured.range !== undefined && judge(finding) === 'unsure';
}

/** Puts the numbers together. */
export function describeRequests(
  cases: readonly BenchCase[],
  { all, closer }: CaseMeasurements,
  { pace }: Pick<ExperimentOptions, 'pace'>,
): ExperimentResult {
  const costs = (name: string): readonly number[] => all.get(name)!.cpuMicrosPerRequest;
  const rows = cases.map(({ name, description }) => {
    const { median, spread } = summarize(costs(name));
    const perSecond = summarize(all.get(name)!.requestsPerSecond).median;
    return [name, formatNumber(median), `+-${(50 * spread).toFixed(1)} %`, formatNumber(perSecond), description];
  });
  const findings = findCompared(cases).map((target) => findRatio(target, [all, closer]));
  const rounds = costs(cases[0]!.name).length;
  const [looked] = closer.values();
  const has = (name: string): boolean => all.has(name);
  return {
    name: 'requests',
    title: 'CPU per request',
    tables: [
      {
        head: ['case', 'CPU us/request', 'spread', 'requests/s', 'what it does'],
        rows,
        notes: [
          `${rounds} rounds of ${pace.secondsPerRound} s per case, in turns of a fifth of a second; 32 connections.`,
          ...(looked === undefined
            ? []
            : [
                `${looked.cpuMicrosPerRequest.length} more of ${[...closer.keys()].join(', ')} alone, because a ratio lay on both sides of its target. They count for the ratios between them.`,
              ]),
          ...(has('jwt-first') && has('jwt')
            ? [
                `The first sight of a token costs ${formatNumber(summarize(costs('jwt-first')).median - summarize(costs('jwt')).median)} us more than the next ones.`,
              ]
            : []),
        ],
      },
    ],
    findings,
    bars: cases.map(({ name, group = '' }) => ({
      group,
      label: name,
      ours: ourCases.some((each) => each.name === name),
      value: summarize(costs(name)).median,
      spread: summarize(costs(name)).spread,
    })),
  };
}
