// Live requests over real sockets: who may watch, what is seen of open gateways and of workers, and viewers that do not read.
import assert from 'node:assert/strict';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { after, before, describe, test, type TestContext } from 'node:test';
import { LiveRequests, type LiveBatch } from '../../src/gateway/observe/live-requests.ts';
import { maxViewers } from '../../src/gateway/admin/live-page.ts';
import { createFlowInspector } from '../../src/gateway/observe/flow-inspector.ts';
import { createRequestJournal } from '../../src/gateway/observe/request-journal.ts';
import { compile } from '../../src/gateway/config/compile/compile.ts';
import { createLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { startAdminServer } from '../../src/gateway/admin/admin-server.ts';
import type { PlainServer } from '../../src/gateway/admin/plain-server.ts';
import { emptyConfiguration } from '../../src/ir/configuration.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { buildContext } from './admin-fixture.ts';
import { connectToBoth, startWorkers } from './workers-fixture.ts';

interface Viewer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** What has come so far. */
  text(): string;
  batches(): LiveBatch[];
  readonly response: IncomingMessage;
  close(): void;
  readonly isClosed: () => boolean;
}

/** Opens the stream; `reads: false` takes the head and nothing after it. */
function watch(
  t: Pick<TestContext, 'after'>,
  port: number,
  { headers = {}, reads = true }: { headers?: Record<string, string>; reads?: boolean } = {},
): Promise<Viewer> {
  return new Promise((resolve, reject) => {
    let text = '';
    let isClosed = false;
    const call: ClientRequest = request(
      { host: '127.0.0.1', port, path: '/live/events', headers: { accept: 'text/event-stream', ...headers } },
      (response) => {
        response.on('error', () => {});
        response.on('close', () => (isClosed = true));
        if (reads) response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          text: () => text,
          batches: () =>
            [...text.matchAll(/^event: requests\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as LiveBatch),
          response,
          close: () => call.destroy(),
          isClosed: () => isClosed,
        });
      },
    );
    call.on('error', reject);
    call.end();
    t.after(() => void call.destroy());
  });
}

const listNames = (viewer: Viewer): (string | undefined)[] =>
  viewer.batches().flatMap(({ requests }) => requests.map(({ message }) => message?.method));

describe('an open gateway', () => {
  let upstream: RecordingUpstream;
  let gateway: GatewayRun;
  before(async () => {
    upstream = await startMcpUpstream();
    gateway = await runGateway({
      resources: (port) => [
        gatewayResource(port),
        routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
        backendResource('mcp', upstream.port),
      ],
    });
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  const post = async (body: object, path = '/mcp'): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-secret': 'hidden-header' };
    return (await fetch(gateway.urlOf(path), { method: 'POST', headers, body: JSON.stringify(body) })).status;
  };

  test('shows the method and the tool of messages that no rule reads, and nothing that is secret', async (t) => {
    const viewer = await watch(t, gateway.adminPort);
    assert.equal(viewer.headers['content-type'], 'text/event-stream');
    assert.equal(viewer.headers['cache-control'], 'no-store');
    const params = { name: 'find', arguments: { text: 'hidden-argument' } };
    assert.equal(await post({ id: 1, method: 'tools/call', params }, '/mcp?key=hidden-query'), 200);
    assert.equal(await post({ id: 2, method: 'ping' }, '/none'), 404);
    await waitFor('both are there', () => viewer.batches().flatMap(({ requests }) => requests).length === 2);
    const [call, none] = viewer.batches().flatMap(({ requests }) => requests);
    assert.deepEqual(
      [call?.method, call?.path, call?.route, call?.message, call?.status, call?.reason],
      ['POST', '/mcp', 'default/mcp rule 0', { method: 'tools/call', kind: 'tool', item: 'find', count: 1 }, 200, null],
    );
    assert.deepEqual([none?.route, none?.status, none?.reason], [null, 404, 'no_route']);
    assert.doesNotMatch(viewer.text(), /hidden/);
    // The body got to its server as it was.
    assert.ok(upstream.requests.some(({ body }) => body.includes('hidden-argument')));
  });

  test('ends its streams when it ends', async (t) => {
    const own = await runGateway({ resources: (port) => [gatewayResource(port)] });
    const viewer = await watch(t, own.adminPort);
    await waitFor('it watches', () => viewer.text().includes('hello'));
    await own.stop();
    await waitFor('the stream is over', viewer.isClosed);
  });
});

describe('the admin server', () => {
  let admin: PlainServer;
  const live = new LiveRequests({ flushMs: 5, maxPerBatch: 50 });
  const token = 'a-token-of-this-gateway';
  const start = (options: { readonly token?: string } = {}): Promise<PlainServer> =>
    startAdminServer({
      port: 0,
      version: '1',
      flows: createFlowInspector(),
      journal: createRequestJournal(),
      live,
      getSessions: () => ({ kind: 'no_issuer' }),
      metrics: createMetrics(),
      readState: () => Promise.reject(new Error('not asked')),
      getConfiguration: () => emptyConfiguration,
      getRuntime: () => compile(emptyConfiguration).runtime,
      log: createLog({ level: 'error', format: 'json', destination: { write: () => {} } }),
      ...options,
    });
  before(async () => {
    admin = await start();
  });
  after(() => admin?.close());

  test('lets no other site watch', async (t) => {
    for (const headers of [
      { host: 'evil.example' },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
    ]) {
      assert.equal((await watch(t, admin.port, { headers })).status, 403, JSON.stringify(headers));
    }
    assert.equal(live.isWatched, false);
    const own = { origin: `http://127.0.0.1:${admin.port}`, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };
    assert.equal((await watch(t, admin.port, { headers: own })).status, 200);
  });

  test('asks for the token here as everywhere', async (t) => {
    const guarded = await start({ token });
    t.after(() => guarded.close());
    assert.equal((await watch(t, guarded.port)).status, 401);
    assert.equal((await watch(t, guarded.port, { headers: { authorization: 'Bearer wrong' } })).status, 401);
    assert.equal((await watch(t, guarded.port, { headers: { authorization: `Bearer ${token}` } })).status, 200);
  });

  test('takes so many viewers and no more; one that leaves makes room', async (t) => {
    await waitFor('nobody watches', () => !live.isWatched);
    const viewers = await Promise.all(Array.from({ length: maxViewers }, () => watch(t, admin.port)));
    await waitFor('all watch', () => live.watchers === maxViewers);
    const late = await watch(t, admin.port);
    assert.equal(late.status, 503);
    await waitFor(() => late.text().includes('too_many_viewers'));
    live.finish(buildContext());
    await waitFor('all are told', () => viewers.every((viewer) => viewer.batches().length === 1));
    viewers[0]!.close();
    await waitFor('there is room', () => live.watchers === maxViewers - 1);
    assert.equal((await watch(t, admin.port)).status, 200);
    for (const viewer of viewers) viewer.close();
  });

  test('HEAD, and a browser that follows a link, take no place', async (t) => {
    await waitFor('nobody watches', () => live.watchers <= 1);
    const others = live.watchers;
    const head = await fetch(`${admin.url}/live/events`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    const link = await watch(t, admin.port, { headers: { accept: 'text/html' } });
    assert.deepEqual([link.status, link.headers['location']], [303, '/live']);
    assert.ok(live.watchers <= others);
  });

  const seeOne = async (viewer: Viewer): Promise<LiveBatch['requests'][number]> => {
    live.finish(buildContext());
    await waitFor('it is seen', () => viewer.batches().length > 0);
    return viewer.batches()[0]!.requests[0]!;
  };

  test('a viewer that stops reading holds up nobody, piles nothing up, and is told what it missed', async (t) => {
    await waitFor('nobody watches', () => !live.isWatched);
    const stuck = await watch(t, admin.port, { reads: false });
    const reader = await watch(t, admin.port);
    await waitFor('both watch', () => live.watchers === 2);
    // Batches as large as the buffers of kernels deserve.
    const large = { ...(await seeOne(reader)), path: 'x'.repeat(20_000) };
    const requests = Array.from({ length: 50 }, () => large);
    let sent = 1;
    const send = (): void => {
      live.take({ requests, skipped: 0 });
      sent += requests.length;
    };
    await waitFor('the reader has had much', () => {
      send();
      return reader.text().length > 24_000_000;
    });
    let text = '';
    stuck.response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    const countSkipped = (): number =>
      [...text.matchAll(/"skipped":(\d+)/g)].reduce((sum, [, number]) => sum + Number(number), 0);
    await waitFor('it reads again, and hears what it missed', () => {
      send();
      return countSkipped() > 0;
    });
    const shown = (text.match(/"id":/g) ?? []).length;
    assert.ok(shown + countSkipped() <= sent, `${shown} and ${countSkipped()} of ${sent}`);
  });
});

test('workers tell of their requests while somebody watches, and of their endpoints', async (t) => {
  const { gateway } = await startWorkers(t);
  const connections = [...(await connectToBoth(t, gateway)).values()];
  const viewer = await watch(t, gateway.adminPort);
  await waitFor('it watches', () => viewer.text().includes('hello'));
  // A worker hears of the viewer a moment later.
  await waitFor('requests of both workers are seen', async () => {
    for (const [index, connection] of connections.entries())
      await connection.post('/a', {}, JSON.stringify({ method: `worker/${index}` }));
    const names = new Set(listNames(viewer));
    return names.has('worker/0') && names.has('worker/1');
  });
  const page = await (
    await fetch(`http://127.0.0.1:${gateway.adminPort}/`, { headers: { accept: 'text/html' } })
  ).text();
  assert.match(page, /2 workers\./);
  assert.match(page, /ProxyBackend default\/a/);
  viewer.close();
});
