// InferencePools from files, with a real gateway process: the switch, the picker's Service and its annotations, Pods that come and go.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type FakeModelServer, startModelServer } from '../inference/fake-model-server.ts';
import { type FakePicker, startFakePicker } from '../inference/fake-picker.ts';
import { pick, saysNothing } from '../inference/picker-scripts.ts';
import { poolOf, type PoolOptions, poolRef } from '../inference/pool-resources.ts';
import { sources } from '../kit/gateway-program.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import { ask, gatewayOf, readSeries, resource, rule } from '../integration/gateway-fixture.ts';
import { readArrival, readReason } from '../integration/inference-fixture.ts';
import { routeResource } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const limits = { timeout: 180_000 };
const authority = createAuthority();
const annotation = (name: string): string => `gateway.proxy/endpoint-picker-${name}`;
const certificates = {
  plain: undefined,
  signed: createCertificate({ names: ['verified-picker.default.svc'], issuer: authority }),
  named: createCertificate({ names: ['epp.example'], issuer: authority }),
  selfSigned: createCertificate({ names: ['self-signed.example'] }),
} as const;

let gateway: GatewayRun;
let servers: readonly [FakeModelServer, FakeModelServer];
let pickers: Readonly<Record<keyof typeof certificates, FakePicker>>;

/** Each pool is a route of its own: /name. */
function describePools(): Readonly<Record<string, Omit<PoolOptions, 'ports'>>> {
  const ca = { [annotation('ca')]: 'picker-ca' };
  return {
    plain: { picker: pickers.plain.port },
    http: { picker: pickers.plain.port, appProtocol: 'http' },
    unverified: { picker: pickers.selfSigned.port, appProtocol: undefined },
    verified: { picker: pickers.signed.port, appProtocol: 'https', annotations: ca },
    named: {
      picker: pickers.named.port,
      appProtocol: undefined,
      annotations: { ...ca, [annotation('server-name')]: 'epp.example' },
    },
    'self-signed': { picker: pickers.selfSigned.port, appProtocol: undefined, annotations: ca },
    'wrong-name': { picker: pickers.named.port, appProtocol: undefined, annotations: ca },
    impatient: { picker: pickers.plain.port, annotations: { [annotation('timeout')]: '1s' } },
    open: {
      picker: pickers.plain.port,
      failureMode: 'FailOpen',
      annotations: { [annotation('timeout')]: '1s' },
    },
  };
}

function describeResources(port: number, isReady = true): object[] {
  const pools = describePools();
  return [
    gatewayOf('test', [{ name: 'http', port, protocol: 'HTTP' }]),
    routeResource(
      'pools',
      Object.keys(pools).map((name) => rule(`/${name}`, [poolRef(name)])),
    ),
    resource('v1', 'ConfigMap', 'picker-ca', { data: { 'ca.crt': authority.cert } }),
    ...Object.entries(pools).flatMap(([name, options]) =>
      poolOf(name, { ...options, ports: servers.map((server) => server.port), isReady }),
    ),
  ];
}

before(async () => {
  servers = [await startModelServer(), await startModelServer()];
  const start = (certificate: (typeof certificates)[keyof typeof certificates]): Promise<FakePicker> =>
    startFakePicker({ script: saysNothing, ...(certificate === undefined ? {} : { certificate }) });
  pickers = {
    plain: await start(undefined),
    signed: await start(certificates.signed),
    named: await start(certificates.named),
    selfSigned: await start(certificates.selfSigned),
  };
  gateway = await runGateway({ resources: (port) => describeResources(port), flags: ['--inference-extension'] });
}, limits);

after(async () => {
  await gateway?.stop();
  await Promise.all([...servers, ...Object.values(pickers)].map((each) => each.close()));
});

function choose(endpoint: string): void {
  for (const picker of Object.values(pickers)) picker.script = pick({ endpoints: endpoint });
}

const post = (path: string) => ask(gateway.port, { path, method: 'POST' }, 'prompt');

describe('pools from files', limits, () => {
  for (const name of ['plain', 'http', 'unverified', 'verified', 'named', 'impatient', 'open']) {
    test(`${name}: the picker's choice is honoured`, async () => {
      for (const server of servers) {
        choose(server.endpoint);
        assert.equal(readArrival(await post(`/${name}`)).served_by, server.name);
      }
    });
  }

  for (const name of ['self-signed', 'wrong-name']) {
    test(`${name}: a certificate that does not hold is refused`, async () => {
      choose(servers[0].endpoint);
      assert.equal(readReason(await post(`/${name}`)), '503 picker_unavailable');
    });
  }

  test('a picker that is too slow: 503 with FailClose, served with FailOpen', async () => {
    pickers.plain.script = saysNothing;
    assert.equal(readReason(await post('/impatient')), '503 picker_unavailable');
    assert.equal(readArrival(await post('/open')).method, 'POST');
    const fallbacks = await readSeries(gateway, 'mcp_gateway_pick_fallbacks_total');
    assert.ok([...fallbacks.keys()].some((labels) => labels.includes('open') && labels.includes('unavailable')));
  });

  test('a Pod that is not ready is no endpoint, and one that is again is one', async () => {
    choose(servers[0].endpoint);
    gateway.write(describeResources(gateway.port, false));
    await waitFor(async () => (await post('/plain')).status === 503);
    assert.equal(readReason(await post('/plain')), '503 no_endpoints');
    gateway.write(describeResources(gateway.port));
    await waitFor(async () => (await post('/plain')).status === 200);
  });
});

/** Flags for node that have it say which modules it loads. */
const hook =
  'import{registerHooks}from"node:module";registerHooks({load(u,c,n){process.stderr.write("LOADED "+u+"\\n");return n(u,c)}})';
const tellsModules = `--import=data:text/javascript,${encodeURIComponent(hook)}`;

describe('the switch', limits, () => {
  const resources = (port: number): object[] => [
    gatewayOf('test', [{ name: 'http', port, protocol: 'HTTP' }]),
    routeResource('pool', [rule('/', [poolRef('plain')])]),
    ...poolOf('plain', { ports: [servers[0].port], picker: pickers.plain.port }),
  ];

  test('off: a pool in the files is refused with a word about the flag, and the share of its routes is answered 500', async () => {
    const off = await runGateway({ resources });
    try {
      assert.match(off.readOutput(), /InferencePool[^\n]*--inference-extension/);
      assert.match(off.readOutput(), /Pod[^\n]*--inference-extension/);
      assert.equal(readReason(await ask(off.port)), '500 backend_invalid');
    } finally {
      await off.stop();
    }
  });

  test('the code that asks pickers is loaded with the first request to a pool, and never when the switch is off', async () => {
    const code = ['/inference/picked-call.ts', '/inference/picker-stream.ts', '/ir/gen/envoy/'];
    for (const flags of [[], ['--inference-extension']]) {
      const run = await runGatewayProcess({ resources, flags, env: { NODE_OPTIONS: tellsModules }, program: sources });
      const isLoaded = (file: string): boolean => run.readOutput().includes(file);
      try {
        assert.ok(isLoaded('/src/gateway/gateway.ts'));
        for (const file of code) assert.ok(!isLoaded(file), file);
        choose(servers[0].endpoint);
        const answer = await ask(run.port, { method: 'POST' }, 'prompt');
        if (flags.length === 0) {
          assert.equal(readReason(answer), '500 backend_invalid');
          for (const file of code) assert.ok(!isLoaded(file), file);
        } else {
          readArrival(answer);
          for (const file of code) await waitFor(() => isLoaded(file));
        }
      } finally {
        await run.stop();
      }
    }
  });
});
