// The guarded fetcher against addresses and names: what must not be called is not called, however it is spelled (server-side request forgery).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { guardAddressExceptLoopback } from '../kit/loopback-address-policy.ts';
import {
  createFetcher,
  type FetcherOptions,
  type FetchOutcome,
  type GuardedRequest,
} from '../../src/base/fetch-json.ts';
import { createLookup, serveHttp, serveHttps, testAuthority } from './fetch-fixture.ts';

const ca = testAuthority.cert;

function fetchOnce(
  request: Partial<GuardedRequest> & { url: string },
  options: FetcherOptions = {},
): Promise<FetchOutcome> {
  return createFetcher(options).fetch({ chosenBy: 'operator', timeoutMs: 60_000, ...request });
}

async function codeOf(outcome: Promise<FetchOutcome>): Promise<string> {
  const result = await outcome;
  return result.ok ? 'ok' : result.code;
}

describe('addresses', () => {
  for (const host of [
    '169.254.169.254',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::1]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '0.0.0.0',
    '[::]',
    '0',
    '2852039166', // 169.254.169.254 as a number
    '0xa9fea9fe',
    '0251.0376.0251.0376',
    '169.254.43518',
    '224.0.0.1',
    '255.255.255.255',
  ]) {
    test(`${host} is never called, whoever asks`, async () => {
      for (const chosenBy of ['operator', 'client'] as const) {
        assert.equal(await codeOf(fetchOnce({ url: `https://${host}/`, chosenBy })), 'blocked');
      }
      assert.equal(await codeOf(fetchOnce({ url: `http://${host}/`, allowInsecureHttp: true })), 'blocked');
    });
  }

  test('loopback and private addresses are for operators only', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'));
    for (const host of [
      '127.0.0.1',
      'localhost',
      '127.1',
      '0x7f.1',
      '[::ffff:127.0.0.1]',
      'x.localhost',
      'localhost.',
    ]) {
      const url = `https://${host}:${server.port}/`;
      assert.equal(await codeOf(fetchOnce({ url, chosenBy: 'client', ca })), 'blocked', host);
    }
    for (const host of ['10.0.0.1', '192.168.0.1', '172.16.0.1', '100.64.0.1', '[::1]', '[fd00::1]']) {
      assert.equal(await codeOf(fetchOnce({ url: `https://${host}/`, chosenBy: 'client' })), 'blocked', host);
    }
    assert.equal(server.connections(), 0);
    assert.equal(await codeOf(fetchOnce({ url: `https://127.0.0.1:${server.port}/`, ca })), 'ok');
    assert.equal(await codeOf(fetchOnce({ url: `https://localhost:${server.port}/`, ca })), 'ok');
  });

  test('only a policy for tests lets clients call loopback, and only loopback', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'));
    const options = { addressPolicy: guardAddressExceptLoopback };
    const url = `https://localhost:${server.port}/`;
    assert.equal(await codeOf(fetchOnce({ url, chosenBy: 'client', ca }, options)), 'ok');
    assert.equal(await codeOf(fetchOnce({ url: 'https://10.0.0.1/', chosenBy: 'client' }, options)), 'blocked');
    assert.equal(await codeOf(fetchOnce({ url: 'https://169.254.169.254/', chosenBy: 'client' }, options)), 'blocked');
  });
});

describe('names', () => {
  test('the resolved address counts, not the name', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'));
    const url = `https://idp.example.com:${server.port}/`;
    for (const [addresses, operator, client] of [
      [['127.0.0.1'], 'ok', 'blocked'],
      [['169.254.169.254'], 'blocked', 'blocked'],
      [['::ffff:169.254.169.254'], 'blocked', 'blocked'],
      [['fd00:ec2::254'], 'blocked', 'blocked'],
      [['169.254.169.254', '127.0.0.1'], 'ok', 'blocked'],
      [['0.0.0.0', '::'], 'blocked', 'blocked'],
      [[], 'unreachable', 'unreachable'],
    ] as const) {
      const label = addresses.join(', ');
      assert.equal(await codeOf(fetchOnce({ url, ca }, { lookup: createLookup(addresses) })), operator, label);
      const byClient = fetchOnce({ url, ca, chosenBy: 'client' }, { lookup: createLookup(addresses) });
      assert.equal(await codeOf(byClient), client, label);
    }
  });

  test('DNS rebinding: there is no second look-up, and a later one is checked again', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'));
    const url = `https://idp.example.com:${server.port}/`;
    // Good at the first look, bad at the second.
    const lookup = createLookup(['127.0.0.1'], ['169.254.169.254']);
    const fetcher = createFetcher({ lookup });
    assert.equal(await codeOf(fetcher.fetch({ url, ca, chosenBy: 'operator' })), 'ok');
    assert.deepEqual(lookup.asked, ['idp.example.com']);
    assert.equal(await codeOf(fetcher.fetch({ url, ca, chosenBy: 'operator' })), 'blocked');
    assert.equal(server.connections(), 1);
  });

  test('a connection that the operator may use is never lent to a client', async (context) => {
    const server = await serveHttps(context, (_request, response) => response.end('{}'));
    const url = `https://idp.example.com:${server.port}/`;
    const fetcher = createFetcher({ lookup: createLookup(['127.0.0.1']) });
    assert.equal(await codeOf(fetcher.fetch({ url, ca, chosenBy: 'operator' })), 'ok');
    assert.equal(await codeOf(fetcher.fetch({ url, ca, chosenBy: 'client' })), 'blocked');
    assert.equal(server.connections(), 1);
  });

  test('localhost is this machine, whatever DNS says', async (context) => {
    const server = await serveHttp(context, (_request, response) => response.end('{}'));
    const lookup = createLookup(['203.0.113.1']);
    assert.equal(await codeOf(fetchOnce({ url: `http://localhost:${server.port}/` }, { lookup })), 'ok');
    assert.equal(await codeOf(fetchOnce({ url: `http://idp.localhost:${server.port}/` }, { lookup })), 'ok');
    assert.deepEqual(lookup.asked, []);
  });

  test('a resolver that fails', async () => {
    const lookup = (): Promise<never> => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    const outcome = await fetchOnce({ url: 'https://idp.example.com/' }, { lookup });
    assert.deepEqual(outcome, {
      ok: false,
      code: 'unreachable',
      message: 'https://idp.example.com/ cannot be reached: its name does not resolve (ENOTFOUND)',
    });
  });

  test('the names of clients are asked of DNS alone', async () => {
    // Reserved (RFC 6761): exists in no DNS, whether this machine has one or not.
    assert.equal(await codeOf(fetchOnce({ url: 'https://client.invalid/', chosenBy: 'client' })), 'unreachable');
  });
});

describe('schemes and URLs', () => {
  for (const url of [
    'file:///etc/passwd',
    'ftp://idp.example.com/',
    'data:,{}',
    'javascript:1',
    'unix:/run/x',
    'gopher://x',
    'idp.example.com',
    '',
    '//x',
    'https://',
    'https://exa mple.com/',
  ]) {
    test(`refused: ${JSON.stringify(url)}`, async () => assert.equal(await codeOf(fetchOnce({ url })), 'blocked'));
  }

  test('credentials in a URL are refused, and not repeated', async () => {
    const outcome = await fetchOnce({ url: 'https://user:hunter2@idp.example.com/' });
    assert.ok(!outcome.ok);
    assert.equal(outcome.code, 'blocked');
    assert.doesNotMatch(outcome.message, /hunter2|user/);
  });

  test('http is for loopback and the cluster', async (context) => {
    const server = await serveHttp(context, (_request, response) => response.end('{}'));
    const lookup = createLookup(['127.0.0.1']);
    for (const [host, expected] of [
      ['127.0.0.1', 'ok'],
      ['127.0.0.1', 'ok'],
      ['localhost', 'ok'],
      ['idp.localhost', 'ok'],
      ['dex.auth.svc', 'ok'],
      ['dex.auth.svc.cluster.local', 'ok'],
      ['idp.example.com', 'blocked'],
      ['idp', 'blocked'],
      ['svc', 'blocked'],
      ['.svc', 'blocked'],
      ['svc.cluster.local', 'blocked'],
      ['dex.auth.svc.example.com', 'blocked'],
      ['notlocalhost', 'blocked'],
      ['localhost.example.com', 'blocked'],
      ['127.0.0.1.example.com', 'blocked'],
      ['10.0.0.1', 'blocked'],
    ] as const) {
      const url = `http://${host}:${server.port}/`;
      assert.equal(await codeOf(fetchOnce({ url }, { lookup })), expected, host);
      const byClient = fetchOnce({ url, chosenBy: 'client', allowInsecureHttp: true }, { lookup });
      assert.equal(await codeOf(byClient), 'blocked', `${host}, by a client`);
    }
    const insecure = fetchOnce({ url: `http://idp.example.com:${server.port}/`, allowInsecureHttp: true }, { lookup });
    assert.equal(await codeOf(insecure), 'ok');
  });
});
