// Scripted upstreams behind listener and forwarder, with answers that rules over messages judge: what the mcp-rules-answers*.test.ts files stand on.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { BackendConfig } from '../../src/gateway/config/runtime-config.ts';
import type { ForwardPlan } from '../../src/gateway/forward/forward-plan.ts';
import type { AnswerExpectation } from '../../src/gateway/mcp/answer/answer-expectation.ts';
import type { ListMethod } from '../../src/gateway/mcp/read/list-methods.ts';
import type { ItemKind } from '../../src/gateway/mcp/read/read-item.ts';
import { type AnswerLimits, createAnswerFilter } from '../../src/gateway/mcp/answer/filter-answer.ts';
import type { NotificationStreams } from '../../src/gateway/mcp/streams/list-changed.ts';
import { createRules } from '../../src/gateway/mcp/testing/message-fixture.ts';
import {
  type Answer,
  backendOn,
  fetchAnswer,
  startForwardingGateway,
  startUpstream,
  type TestGateway,
} from './forwarding-fixture.ts';

export const rules = createRules({ action: 'Deny', expressions: ['mcp.tool.name == "hidden"'] });
export const judge = (_kind: ItemKind, name: string): boolean => !name.includes('hidden');
export const base: AnswerExpectation = { rules, judge, listRequests: undefined, injected: [], isBatch: false };
export const list: AnswerExpectation = { ...base, listRequests: new Map<string, ListMethod>([['1', 'tools/list']]) };
export const call: AnswerExpectation = { ...base, listRequests: new Map() };

export const tools = (...names: string[]): string =>
  `{"jsonrpc":"2.0","id":1,"result":{"tools":[${names.map((name) => `{"name":"${name}"}`).join(',')}]}}`;

export interface Scene {
  readonly expectation?: AnswerExpectation;
  readonly limits?: AnswerLimits;
  readonly body?: string | undefined;
  readonly plan?: Partial<ForwardPlan>;
  readonly others?: readonly BackendConfig[];
  readonly ports?: readonly number[];
  readonly backend?: Parameters<typeof backendOn>[1];
  readonly streams?: NotificationStreams;
}

/** A gateway in front of an upstream that does this with every request. */
export async function serve(
  t: TestContext,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  { expectation = list, limits, body, plan, others, ports = [], backend, streams }: Scene = {},
): Promise<TestGateway> {
  const { port } = await startUpstream(t, listener);
  return startForwardingGateway(t, {
    backend: backendOn([...ports, port], backend),
    ...(others === undefined ? {} : { others }),
    ...(streams === undefined ? {} : { streams }),
    plan: () => ({
      ...(body === undefined ? {} : { body: Buffer.from(body) }),
      filterAnswer: createAnswerFilter(expectation, limits),
      ...plan,
    }),
  });
}

export const post = (gateway: TestGateway, headers: Record<string, string> = {}): Promise<Answer> =>
  fetchAnswer(gateway, { method: 'POST', headers: { 'content-length': '0', ...headers } });

/** Status and reason of an error that the gateway made. */
export function readError({ status, body, headers }: Answer): string {
  const error = JSON.parse(body) as { error: string; error_description: string };
  assert.equal(headers['content-type'], 'application/json');
  if (error.error === 'upstream_protocol_error') assert.match(error.error_description, /rules of this gateway/);
  return `${status} ${error.error}`;
}

/** An HTTP/2 upstream. */
export async function startHttp2(
  t: TestContext,
  onStream: (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void,
): Promise<number> {
  const server = createHttp2Server();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => void sessions.add(session));
  server.on('stream', (stream: ServerHttp2Stream, headers: Record<string, unknown>) => {
    stream.on('error', () => {});
    onStream(stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const session of sessions) session.destroy();
  });
  return (server.address() as AddressInfo).port;
}
