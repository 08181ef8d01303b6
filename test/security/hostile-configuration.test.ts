// Files that are broken, half-written or hostile: what they protect stays protected, and the gateway stays up.
import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { select } from '../kit/effort.ts';
import { createReadMarker, type ReadMarker } from '../kit/read-marker.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startChild } from '../kit/child-process.ts';
import { program } from '../kit/gateway-program.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { closeBackend, closeRoute } from './closed-policy.ts';
import { readResidentBytes } from './process-memory.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';

const hidden = 'value-that-must-not-be-seen';

let gateway: GatewayProcessRun;
let secret: RecordingUpstream;
let open: RecordingUpstream;
let marker: ReadMarker;

const corsPolicy = {
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: 'cors' },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'open' }],
    traffic: { cors: { allowOrigins: ['https://app.example.com'] } },
  },
};

const base = (port: number): object[] => [
  gatewayResource(port),
  routeResource('open', [ruleTo('/open', 'open')]),
  backendResource('open', open.port, '/'),
];
const protectedRoute = (): object[] => [
  routeResource('protected', [ruleTo('/protected', 'secret')]),
  backendResource('secret', secret.port, '/'),
];
const whole = (port: number): object[] => [
  ...base(port),
  ...protectedRoute(),
  corsPolicy,
  closeRoute('guard', 'protected'),
];

const waitUntilRead = (): Promise<void> => marker.waitUntilRead(gateway);

before(async () => {
  marker = createReadMarker();
  secret = await startRecordingUpstream('secret');
  open = await startRecordingUpstream('open');
  gateway = await runGatewayProcess({
    resources: whole,
    flags: marker.flags,
    env: { HIDDEN_VALUE: hidden },
  });
});
after(async () => {
  await gateway?.stop();
  await Promise.all([secret?.close(), open?.close()]);
  marker?.remove();
});
beforeEach(() => {
  secret.forget();
  open.forget();
});

const configFile = (): string => join(gateway.folder, 'gateway.yaml');

/** Asks again and again, over several connections, and remembers every kind of answer. */
function hammer(url: string): { readonly seen: Map<string, number>; stop(): Promise<void> } {
  const seen = new Map<string, number>();
  const stopped = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const kind = await fetch(url).then(
        async (answer) => `${answer.status} ${/"error":"(\w+)"/.exec(await answer.text())?.[1] ?? ''}`,
        () => 'no connection',
      );
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const loops = [loop(), loop(), loop()];
  return {
    seen,
    async stop() {
      stopped.abort();
      await Promise.all(loops);
    },
  };
}

describe('policy not yet programmed: a backend with a rejected policy is never reachable', () => {
  test('not for a moment while the gateway starts', async (t) => {
    const [port] = (await findFreePorts(1)) as [number];
    const load = hammer(`http://127.0.0.1:${port}/protected`);
    t.after(() => load.stop());
    const path = join(gateway.folder, 'start.yaml');
    const resources = [
      gatewayResource(port),
      ...protectedRoute(),
      closeBackend('guard-backend', 'secret'),
      closeRoute('guard', 'protected'),
    ];
    writeFileSync(path, resources.map((resource) => JSON.stringify(resource)).join('\n---\n'));
    const child = startChild({
      command: process.execPath,
      args: [program, 'run', '-f', path, '--admin-port', '0', '--metrics-port', '0', '--readiness-port', '0'],
    });
    t.after(() => child.stop());
    await waitFor(() => (load.seen.get('500 policy_invalid') ?? 0) > 20 || child.exitCode() !== undefined);
    await load.stop();
    await child.stop();
    assert.equal(secret.headCount, 0);
    assert.deepEqual(
      [...load.seen.keys()].filter((kind) => kind !== 'no connection'),
      ['500 policy_invalid'],
      child.readOutput(),
    );
  });

  test('not for a moment while a reload brings it, by route or by backend', async (t) => {
    for (const [index, policy] of [
      closeRoute('guard', 'protected'),
      closeBackend('guard', 'secret'),
      // Nothing in it can be read but that it is a policy.
      { apiVersion: 'gateway.proxy/v1alpha1', kind: 'ProxyPolicy', metadata: { name: 'guard' }, spec: 5 },
      // A misspelled kind was meant to protect something as well.
      { ...closeRoute('guard', 'protected'), kind: 'ProxyPolcy' },
    ].entries()) {
      gateway.write(base(gateway.port));
      await waitUntilRead();
      const load = hammer(`http://127.0.0.1:${gateway.port}/protected`);
      t.after(() => load.stop());
      await waitFor(() => (load.seen.get('404 no_route') ?? 0) > 0);
      // The policy comes last in the file.
      gateway.write([...base(gateway.port), ...protectedRoute(), policy]);
      await waitFor(() => (load.seen.get('500 policy_invalid') ?? 0) > 10);
      await load.stop();
      assert.equal(secret.headCount, 0, `policy ${index}`);
      assert.deepEqual([...load.seen.keys()].toSorted(), ['404 no_route', '500 policy_invalid']);
    }
  });

  test('nor when the file with the policy cannot be read', async () => {
    gateway.write(base(gateway.port));
    await waitUntilRead();
    // Never good: nothing new is served until it can be read.
    // As a whole: a file that is seen empty first was good once.
    const broken = join(marker.folder, '.policy.yaml.tmp');
    writeFileSync(broken, `${stringify(closeRoute('guard', 'protected'))}\n  ] broken`);
    renameSync(broken, join(marker.folder, 'policy.yaml'));
    gateway.write([...base(gateway.port), ...protectedRoute()]);
    await waitFor(() => gateway.readOutput().includes('it may hold a policy'));
    assert.equal((await fetch(`http://127.0.0.1:${gateway.port}/protected`)).status, 404);
    writeFileSync(join(marker.folder, 'policy.yaml'), stringify(closeRoute('guard', 'protected')));
    await waitUntilRead();
    const answer = await fetch(`http://127.0.0.1:${gateway.port}/protected`);
    assert.match(await answer.text(), /policy_invalid/);
    assert.equal(secret.headCount, 0);
    gateway.write(
      whole(gateway.port).filter((each) => (each as { metadata: { name: string } }).metadata.name !== 'guard'),
    );
    await waitUntilRead();
  });
});

describe('truncated configuration file', () => {
  const askOpen = (): Promise<number> =>
    fetch(`http://127.0.0.1:${gateway.port}/open`, { headers: { origin: 'https://app.example.com' } }).then(
      async (answer) => {
        await answer.text();
        return answer.status;
      },
    );
  const checkProtected = async (why: string, neverGood = false): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${gateway.port}/protected`);
    assert.match(await answer.text(), /policy_invalid/, why);
    // Of a policy that never was good more may be closed than it meant, as long as its targets cannot be read.
    const status = await askOpen();
    assert.ok(status === 200 || (neverGood && status === 500), `${why}: the CORS policy is in force, ${status}`);
    assert.equal(secret.headCount, 0);
  };

  test('a file that was emptied keeps its last good content and is reported', async (t) => {
    rmSync(join(marker.folder, 'policy.yaml'), { force: true });
    gateway.write(whole(gateway.port));
    await waitUntilRead();
    const load = hammer(`http://127.0.0.1:${gateway.port}/protected`);
    t.after(() => load.stop());
    for (const text of ['', '\n', '# nothing\n', '---\n---\n', '\uFEFF', '\0'.repeat(100)]) {
      writeFileSync(configFile(), text);
      await waitUntilRead();
      await checkProtected(JSON.stringify(text));
    }
    assert.match(gateway.readOutput(), /has no resources any more/);
    assert.match(gateway.readOutput(), /keeping its previous content/);
    await load.stop();
    assert.deepEqual([...load.seen.keys()], ['500 policy_invalid']);
  });

  test('a policy that is cut off in the middle stays in force', async (t) => {
    for (const last of [corsPolicy, closeRoute('guard', 'protected')]) {
      const others = whole(gateway.port).filter((each) => JSON.stringify(each) !== JSON.stringify(last));
      const front = `${others.map((each) => stringify(each)).join('---\n')}---\n`;
      const policy = stringify(last);
      writeFileSync(configFile(), front + policy);
      await waitUntilRead();
      await checkProtected('whole');
      const load = hammer(`http://127.0.0.1:${gateway.port}/protected`);
      t.after(() => load.stop());
      for (const mark of select(['eway.proxy', 'Policy', 'metadata', 'targetRefs', 'traffic'], 2)) {
        writeFileSync(configFile(), front + policy.slice(0, policy.indexOf(mark)));
        await waitUntilRead();
        await checkProtected(`cut before ${mark}`, last !== corsPolicy);
      }
      await load.stop();
      assert.deepEqual([...load.seen.keys()], ['500 policy_invalid']);
    }
  });
});

describe('hostile YAML: reported at once, and the gateway goes on with what it had', () => {
  const references = (name: string): string => Array.from({ length: 10 }, () => `*${name}`).join(', ');
  const laughs = [
    'a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]',
    ...Array.from('bcdefghi', (name, index) => `${name}: &${name} [${references('abcdefghi'[index]!)}]`),
  ].join('\n');
  const bombs: Record<string, readonly [text: string, report: RegExp]> = {
    'billion laughs': [laughs, /aliases add more than/],
    'an alias of itself': ['a: &a [*a]', /an alias inside of its own anchor never ends/],
    '10,000 levels of brackets': [`a: ${'['.repeat(10_000)}${']'.repeat(10_000)}`, /nested deeper than/],
    '10,000 levels of braces': [`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, /nested deeper than/],
    '10,000 levels of lists': [`${'- '.repeat(10_000)}a`, /nested deeper than/],
    '10,000 levels of indentation': [
      Array.from({ length: 2_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
      /nested deeper than/,
    ],
    'the key __proto__': ['{"kind": "Gateway", "__proto__": {"polluted": true}}', /this key is not allowed/],
    'the key __proto__ inside': [
      'kind: Gateway\nmetadata:\n  name: x\n  __proto__:\n    namespace: y\n',
      /this key is not allowed/,
    ],
    'a tag that makes objects': ['!!js/function "function () {}"', /tags \(!name\) are not read/],
    'a duplicate key': ['kind: Gateway\nkind: ProxyPolicy\n', /appears twice/],
  };

  before(async () => {
    gateway.write(whole(gateway.port));
    await waitUntilRead();
  });

  for (const [name, [text, report]] of select(Object.entries(bombs), 4)) {
    test(name, async () => {
      const outputBefore = gateway.readOutput().length;
      const memoryBefore = readResidentBytes(gateway.child.pid);
      writeFileSync(configFile(), text);
      await waitFor(() => report.test(gateway.readOutput().slice(outputBefore)));
      const answer = await fetch(`http://127.0.0.1:${gateway.port}/protected`);
      assert.match(await answer.text(), /policy_invalid/);
      assert.equal((await fetch(`http://127.0.0.1:${gateway.port}/open`)).status, 200);
      const grown = readResidentBytes(gateway.child.pid) - memoryBefore;
      assert.ok(grown < 256 * 1024 * 1024, `grew by ${grown} bytes`);
      assert.equal(gateway.exitCode(), undefined);
    });
  }

  test('names of Object.prototype are names like any other', async () => {
    const named = (name: string): object => routeResource(name, [ruleTo(`/${name}`, 'open')]);
    const names = ['constructor', 'tostring', 'hasownproperty', 'valueof'];
    gateway.write([
      ...whole(gateway.port),
      ...names.map(named),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'constructor', labels: { constructor: 'x', tostring: 'y' } },
        stringData: { constructor: 'a', toString: 'b' },
      },
    ]);
    await waitUntilRead();
    for (const name of names) assert.equal((await fetch(`http://127.0.0.1:${gateway.port}/${name}`)).status, 200, name);
    assert.equal((await fetch(`http://127.0.0.1:${gateway.port}/__proto__`)).status, 404);
  });
});

test('environment substitution only in Secrets', async (t: TestContext) => {
  const reference = '${HIDDEN_VALUE}';
  const filtersWith = (value: string): object[] => [
    {
      type: 'RequestHeaderModifier',
      requestHeaderModifier: {
        set: [
          { name: 'x-environment', value },
          { name: 'x-file', value: 'of ${file:/proc/self/environ}' },
        ],
      },
    },
  ];
  gateway.write([
    ...base(gateway.port),
    routeResource('literal', [ruleTo('/literal', 'open', { filters: filtersWith(`of ${reference}`) })]),
    // Probably meant to be replaced: refused, and not taken as it is.
    routeResource('refused', [ruleTo('/refused', 'open', { filters: filtersWith(reference) })]),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: reference } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: reference } },
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'invalid', annotations: { a: reference } },
      spec: { hostnames: [reference], rules: [] },
    },
  ]);
  await waitUntilRead();
  assert.equal((await fetch(`http://127.0.0.1:${gateway.port}/literal`)).status, 200);
  const [request] = open.requests;
  assert.deepEqual(request?.all('x-environment'), [`of ${reference}`]);
  assert.deepEqual(request?.all('x-file'), ['of ${file:/proc/self/environ}']);
  assert.equal((await fetch(`http://127.0.0.1:${gateway.port}/refused`)).status, 404);
  assert.match(gateway.readOutput(), /is replaced in stringData of a Secret only/);
  // Nor does the value that a Secret did take show anywhere.
  for (const page of ['/config', '/routes', '/routes?format=json', '/']) {
    const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}${page}`)).text();
    assert.doesNotMatch(text, new RegExp(hidden), page);
  }
  assert.doesNotMatch(gateway.readOutput(), new RegExp(hidden));
  t.diagnostic(`${marker.readings} configurations were read`);
});
