// Runs cases against each other: one gateway each, all on one core. They take turns many times a second, so that whatever else the
// machine does falls on all of them alike.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePorts } from '../mcp/gateway-under-test.ts';
import type { BenchCase } from './bench-case.ts';
import { type BenchGateway, startBenchGateway } from './bench-gateway.ts';
import { readCpuTime } from './cpu-time.ts';
import { answerBody, type NginxUpstream, startNginxUpstream } from './nginx-upstream.ts';
import { compare } from './statistics.ts';
import { type Load, startLoad, writeLoadScript } from './wrk-load.ts';

/** How long to measure. */
export interface Pace {
  readonly fewestRounds: number;
  /** It ends before, once all ratios are sure. */
  readonly mostRounds: number;
  /** Of each case. */
  readonly secondsPerRound: number;
  readonly warmUpSeconds: number;
}

export interface MeasureOptions {
  readonly tools: Readonly<Record<'nginx' | 'wrk' | 'taskset', string>>;
  readonly pace: Pace;
  readonly accessLog: boolean;
  readonly report: (line: string) => void;
  readonly nodeFlags?: readonly string[];
}

/** What was measured of one case, one entry per round. */
export interface Measurements {
  readonly cpuMicrosPerRequest: readonly number[];
  readonly requestsPerSecond: readonly number[];
}

const gatewayCore = 0;
const otherCore = 1;

/** How long a case has the cores to itself before it is the next one's turn. */
const turnMs = 100;
/** For what is on its way when the load is held still. */
const settleMs = 15;

interface RunningCase {
  readonly name: string;
  readonly gateway: BenchGateway;
  readonly load: Load;
  readonly cpuMicrosPerRequest: number[];
  readonly requestsPerSecond: number[];
}

/** Measures all cases. Throws when a request fails: then it is no measurement. */
export async function measureCases(
  cases: readonly BenchCase[],
  options: MeasureOptions,
): Promise<ReadonlyMap<string, Measurements>> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-gateway-bench-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', removeFolder);
  const started: { stop(): Promise<void> }[] = [];
  try {
    const [upstreamPort] = (await findFreePorts(1)) as [number];
    const { nginx, taskset } = options.tools;
    const upstream = await startNginxUpstream({ nginx, taskset, core: otherCore, port: upstreamPort, folder });
    started.push(upstream);
    const all = { ...options, folder, upstreamPort, started };
    const gateways: BenchGateway[] = [];
    for (const each of cases) gateways.push(await startGateway(each, all));
    const running: RunningCase[] = [];
    for (const [index, each] of cases.entries()) running.push(await startCase(each, gateways[index]!, all));
    options.report('Warming up');
    await measureRound(running, upstream, options.pace.warmUpSeconds, 0);
    const { fewestRounds, mostRounds } = options.pace;
    for (let round = 0; round < mostRounds && (round < fewestRounds || !areSure(running)); round += 1) {
      const measured = await measureRound(running, upstream, options.pace.secondsPerRound, round);
      const costs = running.map((each, index) => {
        const { cpuMicrosPerRequest, requestsPerSecond } = measured[index]!;
        each.cpuMicrosPerRequest.push(cpuMicrosPerRequest);
        each.requestsPerSecond.push(requestsPerSecond);
        return `${each.name} ${cpuMicrosPerRequest.toFixed(1)}`;
      });
      options.report(`Round ${round + 1}, us of CPU per request: ${costs.join(', ')}`);
    }
    for (const each of running) await finishCase(each);
    return new Map(running.map((each) => [each.name, each]));
  } finally {
    for (const each of started.toReversed()) await each.stop();
    removeFolder();
    process.off('exit', removeFolder);
  }
}

interface StartOptions extends MeasureOptions {
  readonly folder: string;
  readonly upstreamPort: number;
  /** What has to be stopped in the end. */
  readonly started: { stop(): Promise<void> }[];
}

/** Starts the gateway of a case. */
async function startGateway(each: BenchCase, options: StartOptions): Promise<BenchGateway> {
  const { tools, report, accessLog, nodeFlags = [], folder, upstreamPort, started } = options;
  report(`Starting the gateway of ${each.name}`);
  const { taskset } = tools;
  const gateway = await startBenchGateway(each, {
    taskset,
    core: gatewayCore,
    folder,
    upstreamPort,
    accessLog,
    nodeFlags,
  });
  started.push(gateway);
  await checkAnswer(each, gateway);
  return gateway;
}

/** Starts the load of a case, and holds it still. */
async function startCase(
  { name, request }: BenchCase,
  gateway: BenchGateway,
  options: StartOptions,
): Promise<RunningCase> {
  const { tools, folder, started } = options;
  const { taskset, wrk } = tools;
  const script = await writeLoadScript(folder, name, request);
  const load = startLoad({ wrk, taskset, core: otherCore, url: formatUrl(request, gateway), script });
  started.push(load);
  await delay(turnMs);
  load.pause();
  return { name, gateway, load, cpuMicrosPerRequest: [], requestsPerSecond: [] };
}

function formatUrl({ path }: BenchCase['request'], { port }: BenchGateway): string {
  return `http://127.0.0.1:${port}${path}`;
}

/** The gateway must let the request through, and the upstream's answer must come back: or the wrong thing is measured. */
async function checkAnswer({ name, request }: BenchCase, gateway: BenchGateway): Promise<void> {
  const { method, headers, body } = request;
  const answer = await fetch(formatUrl(request, gateway), { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await answer.text();
  if (answer.status !== 200 || text !== answerBody) throw new Error(`${name}: answered ${answer.status} ${text}`);
}

/** Whether more rounds would tell nothing new. */
function areSure(running: readonly Measurements[]): boolean {
  const [base, ...others] = running.map(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest);
  return others.every((values) => compare(values, base!).ok);
}

/** One round: so many seconds of every case, in turns. */
async function measureRound(
  running: readonly RunningCase[],
  upstream: NginxUpstream,
  seconds: number,
  round: number,
): Promise<readonly { readonly cpuMicrosPerRequest: number; readonly requestsPerSecond: number }[]> {
  const turns = Math.max(1, Math.round((seconds * 1_000) / turnMs));
  const cpuBefore = await Promise.all(running.map(({ gateway }) => readCpuTime(gateway.pid)));
  const requests = running.map(() => 0);
  for (let turn = 0; turn < turns; turn += 1) {
    for (let place = 0; place < running.length; place += 1) {
      // Another one begins each time, so that none is always behind the same neighbour.
      const index = (round + turn + place) % running.length;
      requests[index]! += await takeTurn(running[index]!, upstream);
    }
  }
  const cpuAfter = await Promise.all(running.map(({ gateway }) => readCpuTime(gateway.pid)));
  for (const [index, { name, gateway }] of running.entries()) {
    if (requests[index] === 0) throw new Error(`${name}: no request came through:\n${gateway.readErrors()}`);
  }
  return running.map((_, index) => ({
    cpuMicrosPerRequest: (cpuAfter[index]! - cpuBefore[index]!) / requests[index]!,
    requestsPerSecond: requests[index]! / ((turns * turnMs) / 1_000),
  }));
}

/** Lets the load run for a moment. Returns how many requests reached the upstream meanwhile. */
async function takeTurn({ load }: RunningCase, upstream: NginxUpstream): Promise<number> {
  const before = await upstream.countRequests();
  load.resume();
  await delay(turnMs);
  load.pause();
  await delay(settleMs);
  return (await upstream.countRequests()) - before;
}

async function finishCase({ name, gateway, load }: RunningCase): Promise<void> {
  const { failures, requests } = await load.finish();
  if (failures > 0) throw new Error(`${name}: ${failures} of ${requests} requests failed:\n${gateway.readErrors()}`);
}
