// Bodies of three sizes in both directions: what they cost, and how many bytes a second get through.
import type { BenchCase, BenchProxy } from '../bench-case.ts';
import { formatNumber } from '../bench-report.ts';
import { createResources, jwtPolicy, toolAnswer, toolCall } from '../bench-resources.ts';
import type { BenchTable, ExperimentResult, Finding } from '../bench-result.ts';
import type { Experiment, ExperimentOptions } from '../experiment.ts';
import { type MeasuredCases, measureCases } from '../measure-cases.ts';
import { sizedPath, uploadPath } from '../nginx-upstream.ts';
import { configureEnvoy } from '../peers/envoy-configuration.ts';
import { configureNginx } from '../peers/nginx-configuration.ts';
import { compare, summarize } from '../statistics.ts';

const sizes = [
  { name: '200 B', bytes: 200 },
  { name: '10 KB', bytes: 10_240 },
  { name: '1 MB', bytes: 1_048_576 },
] as const;
const directions = ['to the server', 'to the client'] as const;
type Direction = (typeof directions)[number];

/** All with a token; nginx has nothing to check it with. */
const proxies: Readonly<Record<string, BenchProxy>> = {
  gateway: { kind: 'gateway', resources: (ports) => createResources([jwtPolicy], ports) },
  nginx: { kind: 'nginx', configure: (ports) => configureNginx(ports, { streams: true }) },
  envoy: { kind: 'envoy', configure: (ports) => configureEnvoy(ports, { jwt: { cache: true } }) },
};

/** Long bodies take turns of their own length, and few connections fill the way. */
const isLong = (bytes: number): boolean => bytes >= 1_000_000;

/** The same body or answer through each of the proxies. */
export function createBodyCases(direction: Direction, bytes: number): readonly BenchCase[] {
  const [request, answer] =
    direction === 'to the server'
      ? [{ ...toolCall, path: uploadPath, bodies: [createBody(bytes)] }, toolAnswer]
      : [
          { method: 'GET' as const, path: sizedPath(bytes), headers: toolCall.headers },
          { status: 200, body: 'x'.repeat(bytes) },
        ];
  return Object.entries(proxies).map(([name, proxy]) => ({
    name,
    description: `${bytes} bytes ${direction}`,
    proxy,
    request,
    answer,
    ...(isLong(bytes) ? { connections: 8 } : {}),
  }));
}

/** A message of exactly so many bytes. */
function createBody(bytes: number): string {
  const message = (data: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'ticket_read', arguments: { data } },
    });
  return message('x'.repeat(bytes - message('').length));
}

/** What was measured of one size in one direction, by proxy. */
export interface BodyMeasurement {
  readonly direction: Direction;
  readonly size: string;
  readonly bytes: number;
  readonly measured: MeasuredCases;
}

export const bodyExperiment: Experiment = {
  name: 'bodies',
  description: 'bodies of 200 B, 10 KB and 1 MB both ways: CPU and throughput',
  cases: [],
  async run(options) {
    const measurements: BodyMeasurement[] = [];
    for (const direction of directions) {
      for (const { name: size, bytes } of sizes) {
        options.report(`${size} ${direction}`);
        const measured = await measureSize(direction, bytes, options);
        measurements.push({ direction, size, bytes, measured });
      }
    }
    return describeBodies(measurements);
  },
};

async function measureSize(direction: Direction, bytes: number, options: ExperimentOptions): Promise<MeasuredCases> {
  const { pace, smoke } = options;
  const { all } = await measureCases(createBodyCases(direction, bytes), {
    ...options,
    sizes: [bytes],
    turnMs: isLong(bytes) ? 500 : 200,
    pace: {
      ...pace,
      secondsPerRound: smoke ? pace.secondsPerRound : Math.max(pace.secondsPerRound, isLong(bytes) ? 2 : 1),
    },
    compared: isLong(bytes) ? [{ of: 'gateway', to: 'nginx', by: 'requestsPerSecond' }] : [],
  });
  return all;
}

/** Puts the numbers together. */
export function describeBodies(measurements: readonly BodyMeasurement[]): ExperimentResult {
  const names = Object.keys(proxies);
  const table: BenchTable = {
    head: ['body', ...names.flatMap((name) => [`${name}: CPU us`, `${name}: MB/s`])],
    rows: measurements.map(({ direction, size, bytes, measured }) => [
      `${size} ${direction}`,
      ...names.flatMap((name) => {
        const { cpuMicrosPerRequest, requestsPerSecond } = measured.get(name)!;
        const megabytes = (summarize(requestsPerSecond).median * bytes) / 1e6;
        return [formatNumber(summarize(cpuMicrosPerRequest).median), formatNumber(megabytes)];
      }),
    ]),
    notes: [
      'The gateway and Envoy validate a token that they know, nginx passes everything on; all of them stream. 32 connections, 8 for 1 MB.',
    ],
  };
  const findings = measurements
    .filter(({ bytes }) => isLong(bytes))
    .map(({ direction, size, measured }): Finding => {
      const rates = (name: string): readonly number[] => measured.get(name)!.requestsPerSecond;
      return {
        what: `Bodies of ${size} ${direction}: throughput, beside nginx that checks nothing`,
        measured: compare(rates('gateway'), rates('nginx')),
        unit: 'times',
        target: { kind: 'atLeast', value: 0.5 },
      };
    });
  return { name: 'bodies', title: 'Bodies', tables: [table], findings, bars: [] };
}
