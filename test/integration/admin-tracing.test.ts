// OpenTelemetry export against a real OTLP/HTTP receiver, one that is away, and none at all.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, test } from 'node:test';
import { createLog, type Log, silentLog } from '../../src/base/log.ts';
import type { RequestContext } from '../../src/gateway/request/request-context.ts';
import { parseTraceParent } from '../../src/gateway/http/trace-context.ts';
import { startTracing, type Tracing, wantsTracing } from '../../src/gateway/observe/tracing.ts';
import { buildContext } from './admin-fixture.ts';
import { type Collector, startCollector } from './admin-otlp-collector.ts';

const clientTrace = '4bf92f3577b34da6a3ce929d0e0e4736';
const clientSpan = '00f067aa0ba902b7';
const fromClient = ['traceparent', `00-${clientTrace}-${clientSpan}-01`, 'tracestate', 'vendor=1'];

/** The SDK reads process.env, so the tests set it, one after the other. */
function setEnvironment(values: Record<string, string>): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
  Object.assign(process.env, values);
}

async function start(values: Record<string, string>, log: Log = silentLog): Promise<Tracing> {
  setEnvironment(values);
  const tracing = await startTracing(process.env, log, '1.2.3');
  assert.notEqual(tracing, undefined);
  return tracing!;
}

function trace(tracing: Tracing, context: RequestContext, upstream = true): void {
  tracing.startRequest(context);
  if (upstream) tracing.startUpstream(context);
  tracing.finish(context);
}

async function exportSpans(
  collector: Collector,
  values: Record<string, string>,
  use: (tracing: Tracing) => void,
): Promise<void> {
  const tracing = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...values });
  use(tracing);
  await tracing.stop(30_000);
}

/** What of OpenTelemetry a process loads that starts tracing in this environment. */
async function listModules(env: Record<string, string>): Promise<string[]> {
  const url = new URL('../../src/gateway/observe/tracing.ts', import.meta.url).href;
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = new Set();
    registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context); } });
    const { startTracing } = await import(${JSON.stringify(url)});
    const log = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, isEnabled: () => false, child() { return log; } };
    const tracing = await startTracing(process.env, log);
    await tracing?.stop(1);
    process.stdout.write(JSON.stringify([...loaded]));`;
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('OTEL_')));
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk: string) => (output += chunk));
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0);
  const urls = JSON.parse(output) as string[];
  assert.equal(
    urls.some((loaded) => loaded.endsWith('/src/gateway/observe/tracing.ts')),
    true,
    'the list is real',
  );
  return urls.filter((loaded) => loaded.includes('opentelemetry'));
}

afterEach(() => setEnvironment({}));

describe('what the environment asks for', () => {
  const cases: readonly (readonly [Record<string, string>, boolean])[] = [
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console' }, true],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, false],
    [{ OTEL_SDK_DISABLED: 'TRUE', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, false],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://c:4318' }, false],
    [{ OTEL_SERVICE_NAME: 'x' }, false],
  ];
  for (const [env, expected] of cases) {
    test(`${JSON.stringify(env)}: ${expected ? 'traces' : 'nothing'}`, () => assert.equal(wantsTracing(env), expected));
  }
});

describe('spans', () => {
  const json = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };

  test("continue the client's trace; the client span goes upstream", async () => {
    const collector = await startCollector();
    try {
      const context = buildContext({ query: '?token=S3CRET' }, { headers: fromClient, target: '/mcp?token=S3CRET' });
      await exportSpans(collector, json, (tracing) => trace(tracing, context));
      assert.equal(collector.spans.length, 2);
      const server = collector.spans.find((span) => span.kind === 2)!;
      const client = collector.spans.find((span) => span.kind === 3)!;
      assert.deepEqual([server.traceId, server.parentSpanId], [clientTrace, clientSpan]);
      assert.deepEqual([client.traceId, client.parentSpanId], [clientTrace, server.spanId]);
      assert.equal(context.traceparent, `00-${clientTrace}-${client.spanId}-01`);
      assert.equal(server.name, 'POST default/tickets');
      assert.deepEqual(server.attributes, {
        'http.request.method': 'POST',
        'url.scheme': 'http',
        'url.path': '/mcp',
        'network.protocol.version': '1.1',
        'client.address': '127.0.0.1',
        'server.address': 'mcp.example',
        'server.port': 3_000,
        'http.response.status_code': 200,
        'http.route': 'default/tickets',
        'mcp_gateway.request_id': 'request-1',
        'mcp_gateway.rule': 'default/tickets/0',
        'mcp_gateway.listener': 'default/gw/http',
        'mcp_gateway.backend': 'ProxyBackend/default/tickets',
      });
      assert.deepEqual(client.attributes, {
        'http.request.method': 'POST',
        'server.address': '127.0.0.1',
        'server.port': 3_001,
        'http.response.status_code': 200,
      });
      assert.notEqual(server.statusCode, 2);
      assert.equal(collector.resource['service.name'], 'mcp-gateway');
    } finally {
      await collector.close();
    }
  });

  test('start a new trace without a valid parent', async () => {
    const collector = await startCollector();
    try {
      const context = buildContext({}, { headers: ['traceparent', `00-${'0'.repeat(32)}-${clientSpan}-01`] });
      await exportSpans(collector, json, (tracing) => trace(tracing, context, false));
      const [server] = collector.spans;
      assert.equal(server?.parentSpanId, '');
      assert.equal(parseTraceParent(context.traceparent ?? '')?.traceId, server?.traceId);
    } finally {
      await collector.close();
    }
  });

  test('name the error: a reason of the gateway, or the status', async () => {
    const collector = await startCollector();
    try {
      await exportSpans(collector, json, (tracing) => {
        trace(tracing, buildContext({ status: 502, reason: 'upstream_unreachable', upstreamMs: undefined }));
        trace(tracing, buildContext({ status: 503, path: '/upstream' }), false);
        trace(tracing, buildContext({ status: 200, reason: 'upstream_aborted', path: '/broken' }), false);
        trace(
          tracing,
          buildContext({ status: 404, reason: 'no_route', route: undefined, path: '/none' }, { method: 'BREW' }),
          false,
        );
      });
      const servers = collector.spans.filter((span) => span.kind === 2);
      assert.deepEqual(
        servers.map((span) => [span.attributes['error.type'], span.statusCode]),
        [
          ['upstream_unreachable', 2],
          ['503', 2],
          ['upstream_aborted', 2],
          [undefined, 0],
        ],
      );
      const client = collector.spans.find((span) => span.kind === 3)!;
      assert.deepEqual(
        [client.attributes['error.type'], client.attributes['http.response.status_code']],
        ['upstream_unreachable', undefined],
      );
      assert.equal(servers[3]?.name, '_OTHER');
      assert.equal(servers[3]?.attributes['http.request.method_original'], 'BREW');
    } finally {
      await collector.close();
    }
  });

  test('go out as protobuf by default, to the traces endpoint', async () => {
    const collector = await startCollector();
    try {
      await exportSpans(collector, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/custom` }, (tracing) =>
        trace(tracing, buildContext({}, { headers: fromClient }), false),
      );
      assert.deepEqual(collector.contentTypes, ['application/x-protobuf']);
      assert.deepEqual(
        collector.spans.map(({ traceId, parentSpanId, name }) => [traceId, parentSpanId, name]),
        [[clientTrace, clientSpan, 'POST default/tickets']],
      );
    } finally {
      await collector.close();
    }
  });

  test('are exported while the gateway runs, under the name that the user gave', async () => {
    const collector = await startCollector();
    const tracing = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '1',
      OTEL_SERVICE_NAME: 'edge',
      ...json,
    });
    try {
      trace(tracing, buildContext());
      await collector.waitForSpans(2);
      assert.equal(collector.resource['service.name'], 'edge');
    } finally {
      await tracing.stop(30_000);
      await collector.close();
    }
  });

  test('that are not sampled say so upstream and are not exported', async () => {
    const collector = await startCollector();
    try {
      const context = buildContext();
      await exportSpans(collector, { ...json, OTEL_TRACES_SAMPLER: 'always_off' }, (tracing) =>
        trace(tracing, context),
      );
      assert.equal(collector.spans.length, 0);
      assert.equal(parseTraceParent(context.traceparent ?? '')!.flags & 1, 0);
    } finally {
      await collector.close();
    }
  });
});

describe('a collector in trouble', () => {
  for (const [name, hang] of [
    ['that is down', false],
    ['that never answers', true],
  ] as const) {
    test(`one ${name} neither breaks requests nor holds up the end`, async () => {
      const collector = await startCollector({ hang });
      if (!hang) await collector.close();
      const lines: string[] = [];
      const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => lines.push(line) } });
      const tracing = await start(
        { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_EXPORTER_OTLP_TIMEOUT: '200' },
        log,
      );
      // More than the queue of the exporter holds: the rest is dropped, and nothing waits.
      for (let index = 0; index < 5_000; index += 1) {
        const context = buildContext();
        trace(tracing, context);
        assert.notEqual(context.traceparent, undefined);
      }
      await tracing.stop(500);
      const reports = lines.filter((line) => line.includes('traces are not being exported'));
      assert.equal(reports.length, 1, 'one line, and at most one a minute');
      if (hang) await collector.close();
    });
  }
});

describe('loading', () => {
  test('nothing of OpenTelemetry when nobody asks', async () => {
    assert.deepEqual(await listModules({}), []);
    assert.deepEqual(
      await listModules({ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }),
      [],
    );
  });

  test('the SDK when somebody does', async () => {
    assert.equal((await listModules({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })).length > 0, true);
  });
});
