// A federation of servers each of which does one thing wrong, beside one that does nothing wrong; and what clients learn of each fault.
import type { TestContext } from 'node:test';
import { initialize, modern, post, type RawAnswer, request } from '../integration/federation-fixture.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type Fault, faults as describedFaults, type FaultyServer, startFaultyServer } from '../mcp/faulty-server.ts';

export type Era = 'legacy' | 'modern';
export const eras: readonly Era[] = ['legacy', 'modern'];
export const faults = Object.keys(describedFaults) as readonly Fault[];

/** What a client learns of a fault; undefined: nothing, the answer is as it is without. */
export const failures: Readonly<Record<Fault, { readonly says: string; readonly reason: string } | undefined>> = {
  cut: { says: 'broke off before it answered', reason: 'no-answer' },
  'stream-cut': { says: 'broke off before it answered', reason: 'no-answer' },
  'stream-ended': { says: 'broke off before it answered', reason: 'no-answer' },
  hung: { says: 'did not answer in time', reason: 'timeout' },
  'hung-in-stream': { says: 'did not answer in time', reason: 'timeout' },
  slow: undefined,
  'no-json': { says: 'sent an answer that cannot be read', reason: 'garbage' },
  foreign: { says: 'sent an answer that cannot be read', reason: 'garbage' },
  'other-shape': { says: 'sent an answer that cannot be read', reason: 'garbage' },
  // A message all the same: what a result means is between client and server, unless the gateway has to read it.
  'other-result': undefined,
  oversized: { says: 'sent an answer that cannot be read', reason: 'garbage' },
  'answers-twice': undefined,
  'answers-others-first': undefined,
  'answers-others': { says: 'broke off before it answered', reason: 'no-answer' },
  'http-401': { says: 'refused the request (HTTP 401)', reason: 'refused' },
  'http-500': { says: 'refused the request (HTTP 500)', reason: 'refused' },
  'http-503': { says: 'refused the request (HTTP 503)', reason: 'refused' },
};

/** They cost the time limit of requests. */
export const hung = faults.filter((fault) => failures[fault]?.reason === 'timeout');
/** No time limit is needed for these, so that no answer depends on the speed of the machine. */
export const prompt = faults.filter((fault) => !hung.includes(fault));

/** Of requests, where a server hangs. */
const requestLimit = '10s';

export interface Setting {
  readonly gateway: GatewayRun;
  readonly servers: Readonly<Record<string, FaultyServer>>;
}

/** One target for each name. */
export async function start(
  t: TestContext,
  names: readonly string[],
  era: Era,
  mcp: Readonly<Record<string, unknown>> = {},
): Promise<Setting> {
  const started = await Promise.all(names.map(async (name) => [name, await startFaultyServer(era)] as const));
  // What is sound speaks the other era: both are spoken to at the same time.
  started.push(['good', await startFaultyServer(era === 'legacy' ? 'modern' : 'legacy')]);
  const gateway = await startFederatedGateway({
    targets: Object.fromEntries(started.map(([name, { url }]) => [name, { url }])),
    mcp: { ...(names.some(isHung) && { timeouts: { request: requestLimit } }), ...mcp },
  });
  t.after(async () => {
    await gateway.stop();
    await Promise.all(started.map(([, server]) => server.kill()));
  });
  return { gateway, servers: Object.fromEntries(started) };
}

function isHung(name: string): boolean {
  return hung.some((fault) => fault === name);
}

/** Asks in the name of one client. */
export type Ask = (method: string, params?: Readonly<Record<string, unknown>>) => Promise<RawAnswer>;

export async function connect(gateway: GatewayRun, era: Era): Promise<Ask> {
  if (era === 'modern')
    return (method, params) => {
      const { body, headers } = modern(method, params);
      return post(gateway, body, { headers });
    };
  const session = await initialize(gateway);
  return (method, params) => post(gateway, request(method, params), { session });
}

/** The answer without what the eras add, in a form that can be compared. */
export function read({ status, messages, text: body }: RawAnswer): unknown {
  const { error, result } = messages.at(-1) ?? {};
  if (status !== 200 || (error === undefined && result === undefined)) return `${status} ${body}`;
  if (error !== undefined) return error;
  if (typeof result !== 'object') return result;
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest } = result;
  return rest;
}

export function failureOf(target: string, fault: Fault): object | undefined {
  const failure = failures[fault];
  if (failure === undefined) return undefined;
  const { says, reason } = failure;
  const status = /HTTP (\d+)/.exec(says)?.[1];
  return {
    code: -32_603,
    message: `The server "${target}" ${says}.`,
    data: {
      target,
      reason,
      ...(status !== undefined && { status: Number(status) }),
      ...(fault === 'http-503' && { retryAfter: '7' }),
    },
  };
}
