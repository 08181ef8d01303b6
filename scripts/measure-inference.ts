// Measures requests to an InferencePool: the time between tokens at the model server and at the client, and many requests at once with prompts of 1 KB to
// 1 MB, with the gateway's memory. `npm run measure:inference`; `-- --write` puts the table into docs/performance.md. Linux only: it reads /proc.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sendPrompts } from '../test/inference/concurrent-prompts.ts';
import { readClock, type TokenEvent } from '../test/inference/fake-model-server.ts';
import { poolOf, poolRef } from '../test/inference/pool-resources.ts';
import { readEvents } from '../test/inference/server-events.ts';
import { gatewayOf, rule } from '../test/integration/gateway-fixture.ts';
import { routeResource } from '../test/kit/gateway-resources.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../test/kit/run-gateway.ts';
import type { InferencePeers } from './inference-peers.ts';

const usage =
  'Usage: npm run measure:inference -- [--requests N] [--rounds N] [--streams N] [--tokens N] [--interval MILLISECONDS] [--write]';
const page = join(import.meta.dirname, '..', 'docs', 'performance.md');
const modes = ['plain', 'streamed'] as const;

interface Settings {
  readonly requests: number;
  /** How often so many are sent. */
  readonly rounds: number;
  readonly streams: number;
  readonly tokens: number;
  readonly interval: number;
}

/** Milliseconds, each list sorted. */
interface TokenTimes {
  readonly betweenAtServer: readonly number[];
  readonly betweenAtClient: readonly number[];
  /** The time from the server's write to the client's read. */
  readonly onTheWay: readonly number[];
}

interface LoadResult {
  readonly seconds: number;
  readonly bytes: number;
  readonly servedAsChosen: number;
  readonly problems: readonly string[];
  /** Bytes of the gateway. */
  readonly memory: { readonly before: number; readonly peaks: readonly number[]; readonly after: number };
}

interface ModeResult {
  readonly direct: TokenTimes;
  readonly one: TokenTimes;
  readonly many: TokenTimes;
  readonly load: LoadResult;
}

async function readRss(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** Reads one completion as it is streamed. */
async function readTokens(port: number, { tokens, interval }: Settings): Promise<(TokenEvent & { readAt: number })[]> {
  const message = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    agent: false,
  });
  const chat = { model: 'test', stream: true, max_tokens: tokens, interval_ms: interval };
  message.end(JSON.stringify({ ...chat, messages: [{ role: 'user', content: 'hello '.repeat(200) }] }));
  const [response] = (await once(message, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the gateway answered ${response.statusCode}`);
  const events: (TokenEvent & { readAt: number })[] = [];
  for await (const data of readEvents(response)) {
    const readAt = readClock();
    if (data === '[DONE]') continue;
    const event = JSON.parse(data) as Partial<TokenEvent>;
    if (event.token !== undefined && event.written_at !== undefined)
      events.push({ token: event.token, written_at: event.written_at, readAt });
  }
  if (events.length !== tokens) throw new Error(`${events.length} of ${tokens} tokens arrived`);
  return events;
}

async function measureTokens(port: number, streams: number, settings: Settings): Promise<TokenTimes> {
  const all = await Promise.all(Array.from({ length: streams }, () => readTokens(port, settings)));
  const sort = (numbers: readonly number[]): number[] => numbers.toSorted((left, right) => left - right);
  const differences = (read: (event: TokenEvent & { readAt: number }) => number): number[] =>
    sort(all.flatMap((events) => events.slice(1).map((event, index) => read(event) - read(events[index]!))));
  return {
    betweenAtServer: differences((event) => event.written_at),
    betweenAtClient: differences((event) => event.readAt),
    onTheWay: sort(all.flatMap((events) => events.map((event) => event.readAt - event.written_at))),
  };
}

/** Measures the peak of memory during an action. */
async function watchPeak<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly peak: number }> {
  const state = { peak: 0, isDone: false };
  const watching = (async () => {
    while (!state.isDone) {
      state.peak = Math.max(state.peak, await readRss(pid));
      await delay(20);
    }
  })();
  try {
    const result = await work();
    return { result, peak: state.peak };
  } finally {
    state.isDone = true;
    await watching;
  }
}

/** The same several times: memory that is needed is needed once, memory that leaks is needed every time. */
async function measureLoad(
  gateway: GatewayProcessRun,
  peers: InferencePeers,
  { requests: count, rounds }: Settings,
): Promise<LoadResult> {
  const { pid } = gateway.child;
  const before = await readRss(pid);
  const peaks: number[] = [];
  const problems: string[] = [];
  const seconds: number[] = [];
  let servedCount = 0;
  let sentBytes = 0;
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    const { result, peak } = await watchPeak(pid, () =>
      sendPrompts({
        port: gateway.port,
        endpoints: peers.servers.map(({ endpoint }) => endpoint),
        count,
        minBytes: 1_000,
        maxBytes: 1_000_000,
      }),
    );
    seconds.push((performance.now() - startedAt) / 1_000);
    peaks.push(peak);
    problems.push(...result.problems);
    servedCount += [...result.served.values()].reduce((sum, each) => sum + each, 0) - result.problems.length;
    sentBytes = result.bytes;
  }
  // Memory goes back as V8 collects, which it does when it has nothing else to do.
  let after = await readRss(pid);
  for (let reading = 0; reading < 30; reading += 1) {
    await delay(1_000);
    after = Math.min(after, await readRss(pid));
  }
  return {
    seconds: Math.max(...seconds),
    bytes: sentBytes,
    servedAsChosen: servedCount,
    problems,
    memory: { before, peaks, after },
  };
}

async function measureMode(mode: (typeof modes)[number], settings: Settings): Promise<ModeResult> {
  const child = fork(new URL('inference-peers.ts', import.meta.url), [mode]);
  const [peers] = (await once(child, 'message')) as [InferencePeers];
  const ports = peers.servers.map(({ port }) => port);
  const gateway = await runGatewayProcess({
    resources: (port) => [
      gatewayOf('test', [{ name: 'http', port, protocol: 'HTTP' }]),
      routeResource('pool', [rule('/', [poolRef('pool')])]),
      // One picker serves all, on shared cores: its slowness is not what is measured.
      ...poolOf('pool', {
        ports,
        picker: peers.picker,
        annotations: { 'gateway.proxy/endpoint-picker-timeout': '60s' },
      }),
    ],
    flags: ['--inference-extension', '--log-level', 'warn', '--drain-timeout', '1s'],
  });
  try {
    // The first ones are slower for everybody: code is compiled, connections are opened.
    await measureTokens(ports[0]!, settings.streams, { ...settings, tokens: 20 });
    await measureTokens(gateway.port, settings.streams, { ...settings, tokens: 20 });
    const direct = await measureTokens(ports[0]!, 1, settings);
    const one = await measureTokens(gateway.port, 1, settings);
    const many = await measureTokens(gateway.port, settings.streams, settings);
    const load = await measureLoad(gateway, peers, settings);
    // Its last words say why.
    if (load.problems.length > 0) console.error(gateway.child.readOutput().slice(-2_000));
    return { direct, one, many, load };
  } finally {
    await gateway.stop();
    child.disconnect();
  }
}

const pick = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const spread = (sorted: readonly number[]): string =>
  `${pick(sorted, 0.5).toFixed(1)}, ${pick(sorted, 0.99).toFixed(1)} ms`;
const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

function formatTable(
  results: readonly ModeResult[],
  { requests, rounds, streams, tokens, interval }: Settings,
): string {
  const rows: readonly (readonly [string, (result: ModeResult) => string])[] = [
    ['between tokens at the server, without the gateway: p50, p99', ({ direct }) => spread(direct.betweenAtServer)],
    ['between tokens at the client, without the gateway: p50, p99', ({ direct }) => spread(direct.betweenAtClient)],
    ['between tokens at the server, one stream: p50, p99', ({ one }) => spread(one.betweenAtServer)],
    ['between tokens at the client, one stream: p50, p99', ({ one }) => spread(one.betweenAtClient)],
    ['a token on the way, one stream: p50, p99', ({ one }) => spread(one.onTheWay)],
    [`between tokens at the server, ${streams} streams: p50, p99`, ({ many }) => spread(many.betweenAtServer)],
    [`between tokens at the client, ${streams} streams: p50, p99`, ({ many }) => spread(many.betweenAtClient)],
    [`a token on the way, ${streams} streams: p50, p99`, ({ many }) => spread(many.onTheWay)],
    [
      `${rounds} times ${requests.toLocaleString('en')} requests at once, prompts of 1 KB to 1 MB: served by the chosen endpoint with every byte`,
      ({ load }) => load.servedAsChosen.toLocaleString('en'),
    ],
    [
      'each time all of them answered after, at most',
      ({ load }) => `${load.seconds.toFixed(1)} s (${megabytes(load.bytes)} of prompts)`,
    ],
    [
      'gateway: memory before; at most the first, the second and the last time; half a minute after',
      ({ load: { memory } }) =>
        [[memory.before], [...memory.peaks.slice(0, 2), memory.peaks.at(-1)!], [memory.after]]
          .map((group) => group.map(megabytes).join(', '))
          .join('; '),
    ],
  ];
  return [
    '| picker | answers each piece | sends the body anew |',
    '| --- | ---: | ---: |',
    ...rows.map(([name, read]) => `| ${name} | ${results.map(read).join(' | ')} |`),
    '',
    `${tokens} tokens, one every ${interval} ms. ${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}) for everything: gateway, picker, model servers and client.`,
  ].join('\n');
}

/** Replaces what is between the marks. */
async function writeSection(table: string): Promise<void> {
  const marks = /(<!-- measure:inference -->\n)[^]*?(<!-- \/measure:inference -->)/;
  const text = await readFile(page, 'utf8');
  if (!marks.test(text)) throw new Error(`${page} has no marks for measure:inference`);
  await writeFile(
    page,
    text.replace(marks, (_, start: string, end: string) => `${start}${table}\n${end}`),
  );
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '1000' },
      rounds: { type: 'string', default: '3' },
      streams: { type: 'string', default: '50' },
      tokens: { type: 'string', default: '200' },
      interval: { type: 'string', default: '20' },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const settings: Settings = {
    requests: Number(values.requests),
    rounds: Number(values.rounds),
    streams: Number(values.streams),
    tokens: Number(values.tokens),
    interval: Number(values.interval),
  };
  if (!Object.values(settings).every((count) => Number.isInteger(count) && count > 0)) {
    console.error(`All of these take whole numbers from 1 on.\n${usage}`);
    return 2;
  }
  const results: ModeResult[] = [];
  for (const mode of modes) {
    const result = await measureMode(mode, settings);
    for (const problem of result.load.problems.slice(0, 10)) console.error(`${mode}: ${problem}`);
    results.push(result);
  }
  const table = formatTable(results, settings);
  console.log(table);
  const wanted = settings.rounds * settings.requests;
  if (results.some(({ load }) => load.problems.length > 0 || load.servedAsChosen !== wanted)) return 1;
  if (values.write) await writeSection(table);
  return 0;
}

process.exitCode = await main();
