// What the workers*.test.ts files stand on: which worker has a connection, and connections that stay where they are.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { type CountingUpstream, startCountingUpstream } from './counting-upstream.ts';

/** The process ids of the workers of a gateway, in ascending order. */
export function listWorkers(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => readParent(each) === pid)
    .toSorted((left, right) => left - right);
}

function readParent(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Whatever is in the parentheses is the program's name.
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

/** The one of these processes that has the other end of a connection from `clientPort` to `serverPort`, on 127.0.0.1. */
export function findOwner(pids: readonly number[], clientPort: number, serverPort: number): number | undefined {
  const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((each) => each.trim().split(/\s+/))
    .find(([, local, remote]) => local === `0100007F:${hex(serverPort)}` && remote === `0100007F:${hex(clientPort)}`);
  const inode = line?.[9];
  return pids.find((pid) => listSockets(pid).includes(`socket:[${inode}]`));
}

function listSockets(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}

/** A connection that is kept. */
export interface KeptConnection {
  readonly localPort: number;
  /** The status of a POST. Rejects when the connection does not answer. */
  post(path: string, headers?: Record<string, string>, body?: string): Promise<{ status: number; body: string }>;
  close(): void;
}

/** Opens a connection to a loopback port with a first request. */
export async function openConnection(port: number, path: string): Promise<KeptConnection> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let socket: Socket | undefined;
  const post: KeptConnection['post'] = (target, headers = {}, body = '{}') =>
    new Promise((resolve, reject) => {
      const call = request(
        {
          host: '127.0.0.1',
          port,
          path: target,
          method: 'POST',
          agent,
          headers: { 'content-length': body.length, ...headers },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('end', () => resolve({ status: response.statusCode!, body: text }));
          response.on('error', reject);
        },
      );
      call.on('socket', (used) => {
        if (socket !== undefined && socket !== used) reject(new Error('another connection was needed'));
        socket = used;
      });
      call.on('error', reject);
      call.end(body);
    });
  await post(path);
  return { localPort: socket!.localPort!, post, close: () => agent.destroy() };
}

/** One connection to each worker; `path` is for first requests. */
export async function connectToEach(
  pids: readonly number[],
  port: number,
  path: string,
): Promise<Map<number, KeptConnection>> {
  const byPid = new Map<number, KeptConnection>();
  for (let tries = 0; tries < 500 && byPid.size < pids.length; tries += 1) {
    const connection = await openConnection(port, path);
    const owner = findOwner(pids, connection.localPort, port);
    if (owner === undefined || byPid.has(owner)) connection.close();
    else byPid.set(owner, connection);
  }
  return byPid;
}

/** Ends a process without any warning. */
export function killHard(pid: number): void {
  process.kill(pid, 'SIGKILL');
}

/** A gateway with two workers, in front of one upstream at `/a`. */
export async function startWorkers(
  t: { after(end: () => Promise<unknown>): void },
  {
    flags = [],
    delayMs = 0,
    logFormat = 'json',
  }: { readonly flags?: readonly string[]; readonly delayMs?: number; readonly logFormat?: 'json' | 'text' } = {},
): Promise<{ gateway: GatewayProcessRun; upstream: CountingUpstream; pids: () => number[] }> {
  const upstream = await startCountingUpstream({ delayMs });
  t.after(() => upstream.close());
  const gateway = await runGatewayProcess({
    resources: (port) => describeResources(port, upstream.port, '/a'),
    flags: ['--workers', '2', '--log-format', logFormat, ...flags],
  });
  t.after(() => gateway.stop());
  return { gateway, upstream, pids: () => listWorkers(gateway.child.pid) };
}

/** Everything below a path goes to the upstream. */
export function describeResources(port: number, upstream: number, path: string): object[] {
  return [gatewayResource(port), routeResource('a', [ruleTo(path, 'a')]), backendResource('a', upstream)];
}

/** A connection to each of the two workers. */
export async function connectToBoth(t: TestContext, gateway: GatewayProcessRun): Promise<Map<number, KeptConnection>> {
  const pids = listWorkers(gateway.child.pid);
  assert.equal(pids.length, 2);
  const connections = await connectToEach(pids, gateway.port, '/a');
  t.after(() => {
    for (const connection of connections.values()) connection.close();
  });
  assert.deepEqual(new Set(connections.keys()), new Set(pids), 'connections reach both workers');
  return connections;
}

/** As the metrics say. */
export async function countRequests(gateway: GatewayProcessRun): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith('mcp_gateway_requests_total{'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** There is no such process any more. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
