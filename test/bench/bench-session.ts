// What a measurement needs around it: a folder, an upstream, and everything stopped in the end however it ends.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from '../kit/free-ports.ts';
import type { BenchCase, BenchRequest } from './bench-case.ts';
import { startNginxUpstream } from './nginx-upstream.ts';
import { otherCore, type RunningProxy, startProxy, type Tools } from './start-proxy.ts';

export interface SessionOptions {
  readonly tools: Tools;
  readonly accessLog: boolean;
  readonly report: (line: string) => void;
  /** Answers that the upstream must have, in bytes. */
  readonly sizes?: readonly number[];
}

/** What a measurement can use. */
export interface BenchSession extends SessionOptions {
  readonly folder: string;
  /** Of nginx, which answers everything. */
  readonly upstreamPort: number;
  /** What is handed over here is stopped in the end. */
  readonly keep: <Stoppable extends { stop(): Promise<void> }>(started: Stoppable) => Stoppable;
  /** Starts the proxy of a case and checks that it answers as it should. */
  start(each: BenchCase, nodeFlags?: readonly string[]): Promise<StartedCase>;
}

/** The proxy of a case, and the request with what had to be asked for beforehand. */
export interface StartedCase extends RunningProxy {
  readonly request: BenchRequest;
}

/** Runs a measurement, and leaves nothing behind. */
export async function inSession<Result>(
  options: SessionOptions,
  measure: (session: BenchSession) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-bench-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', removeFolder);
  const started: { stop(): Promise<void> }[] = [];
  const keep = <Stoppable extends { stop(): Promise<void> }>(one: Stoppable): Stoppable => {
    started.push(one);
    return one;
  };
  try {
    const [upstreamPort] = (await findFreePorts(1)) as [number];
    const { nginx, taskset } = options.tools;
    const { sizes = [] } = options;
    keep(await startNginxUpstream({ nginx, taskset, core: otherCore, port: upstreamPort, folder, sizes }));
    return await measure({
      ...options,
      folder,
      upstreamPort,
      keep,
      async start(each, nodeFlags = []) {
        const { tools, accessLog } = options;
        const setting = { tools, accessLog, folder, upstreamPort, nodeFlags };
        const proxy = keep(await startProxy(each.name, each.proxy, setting));
        const request = await openRequest(each, proxy);
        await checkAnswer({ ...each, request }, proxy);
        return { ...proxy, request };
      },
    });
  } finally {
    for (const each of started.toReversed()) await each.stop();
    removeFolder();
    process.off('exit', removeFolder);
  }
}

/** The URL at which a proxy gets the request. */
export function formatUrl({ request }: BenchCase, { port }: RunningProxy): string {
  return `http://127.0.0.1:${port}${request.path}`;
}

/** The request with what the answer to its opening says. */
async function openRequest(each: BenchCase, proxy: RunningProxy): Promise<BenchRequest> {
  const { request, name } = each;
  const { opening, method, headers } = request;
  if (opening === undefined) return request;
  const answer = await fetch(formatUrl(each, proxy), { method, headers, body: opening.body });
  const text = await answer.text();
  const value = answer.headers.get(opening.keeps);
  if (value === null)
    throw new Error(
      `${name}: no ${opening.keeps} in the answer ${answer.status} ${text.slice(0, 500)}\n${proxy.readErrors()}`,
    );
  return { ...request, headers: { ...headers, [opening.keeps]: value } };
}

/** The proxy must answer as the case says: or the wrong thing is measured. */
async function checkAnswer(each: BenchCase, proxy: RunningProxy): Promise<void> {
  const { request, answer: expected, name } = each;
  const { method, headers, bodies: [body] = [] } = request;
  const answer = await fetch(formatUrl(each, proxy), { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await answer.text();
  const hasBody =
    expected.body === undefined ||
    (typeof expected.body === 'string' ? text === expected.body : expected.body.test(text));
  if (answer.status !== expected.status || !hasBody) {
    throw new Error(`${name}: answered ${answer.status} ${text.slice(0, 500)}\n${proxy.readErrors()}`);
  }
}
