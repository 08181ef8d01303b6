// The store in a real redis-server: the contract of all drivers, and what it does when the server is gone, hangs, is full, forgets, or is the wrong one.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Log, silentLog } from '../../src/base/log.ts';
import { openRedisStore } from '../../src/store/redis-store.ts';
import { readStoreAddress, type RedisAddress } from '../../src/store/store-address.ts';
import type { Store } from '../../src/store/store.ts';
import { expectValue, testStore } from '../../src/store/testing/store-contract.ts';
import { type RedisServer, startRedisServer } from '../kit/redis-server.ts';
import { waitFor } from '../kit/wait-for.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';

const longMs = 600_000;
/** What docs/store.md says, for the prefix of all keys. */
const minimalAcl = '+get +set +getdel +del +incr +pexpire +sadd +srem +srandmember +eval +info ~mcp-gatehouse:*';

let folder = '';
let server: RedisServer;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-redis-store-'));
  server = await startRedisServer();
});
after(async () => {
  for (const close of closes) await close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const closes: (() => Promise<void>)[] = [];

interface Way {
  readonly username?: string;
  readonly password?: string;
  readonly ca?: string;
  readonly log?: Log;
  readonly scope?: string;
  readonly database?: number;
  readonly timeoutMs?: number;
}

function connect(url: string, way: Way = {}): ReturnType<typeof openRedisStore> {
  const read = readStoreAddress(url);
  assert.ok(read.ok && read.address.kind === 'redis');
  const address: RedisAddress = { ...read.address, ...(way.database !== undefined && { database: way.database }) };
  const write = (name: string, text: string | undefined): string | undefined => {
    if (text === undefined) return undefined;
    const path = join(folder, `${name}-${Math.random()}`);
    writeFileSync(path, `${text}\n`);
    return path;
  };
  return openRedisStore({
    address,
    username: way.username,
    passwordFile: write('password', way.password),
    caFile: write('ca', way.ca),
    log: way.log ?? silentLog,
    // Slow is fine: what happens when nothing answers has a test of its own.
    timeoutMs: way.timeoutMs ?? 60_000,
    ...(way.scope !== undefined && { scope: way.scope }),
  });
}

async function open(url: string, way?: Way): Promise<Store> {
  const opened = await connect(url, way);
  assert.ok(opened.ok, opened.ok ? '' : opened.problem);
  closes.push(() => opened.store.close());
  return opened.store;
}

async function refuse(url: string, way?: Way): Promise<string> {
  const opened = await connect(url, way);
  if (opened.ok) await opened.store.close();
  assert.ok(!opened.ok, 'it was opened');
  return opened.problem.replace(/:\d+\/\d+/, '');
}

async function startOwn(t: TestContext, options: Parameters<typeof startRedisServer>[0] = {}): Promise<RedisServer> {
  const own = await startRedisServer(options);
  t.after(() => own.stop());
  return own;
}

let shared: Promise<Store> | undefined;
testStore({
  name: 'redis',
  open: () => (shared ??= open(server.url)),
  pass: (ms) => delay(ms + 20),
  realShortMs: 5_000,
});

describe('two gateways with one server', () => {
  test('see the same entries, and use what is there once', async () => {
    const [one, two] = [await open(server.url), await open(server.url)];
    assert.deepEqual([one.kind, one.reach], ['redis', 'shared']);
    expectValue(await one.put('both', '1', longMs));
    const taken = await Promise.all([one, two, one, two].map((store) => store.take('both')));
    assert.deepEqual(
      taken.map(expectValue).filter((value) => value !== undefined),
      ['1'],
    );
    const sums = await Promise.all([one, two, one, two].map((store) => store.count('both', longMs)));
    assert.deepEqual(new Set(sums.map(expectValue)), new Set([1, 2, 3, 4]));
  });

  test('with different scopes do not see each other', async () => {
    const [one, two] = [await open(server.url, { scope: 'a/one' }), await open(server.url, { scope: 'a/two' })];
    expectValue(await one.put('scoped', '1', longMs));
    assert.equal(expectValue(await two.get('scoped')), undefined);
    assert.match(await server.run('EXISTS', 'mcp-gatehouse:a/one:v:scoped'), /:1/);
  });

  test('every key begins with the prefix, and ends by itself', async () => {
    const store = await open(server.url);
    expectValue(await store.put('k', '1', longMs));
    expectValue(await store.count('k', longMs));
    expectValue(await store.addMember('k', 'm', longMs));
    expectValue(await store.probe());
    const names = [...(await server.run('KEYS', '*')).matchAll(/^[^$*+\r\n].*$/gm)].map(([name]) => name);
    assert.ok(names.length > 2);
    for (const name of names) {
      assert.ok(name.startsWith('mcp-gatehouse:'), name);
      assert.doesNotMatch(await server.run('PTTL', name), /:-1\r/, name);
    }
  });
});

describe('a server', () => {
  test('that is killed: calls fail at once, and go on when it is back, with nothing in it', async (t) => {
    const own = await startOwn(t);
    // A call that waited for the server would do so until this test is stopped.
    const store = await open(own.url, { timeoutMs: longMs });
    expectValue(await store.put('a', '1', longMs));
    await own.kill();
    await waitFor('the store is down', async () => !(await store.get('a')).ok);
    const failed = await Promise.all(Array.from({ length: 100 }, () => store.put('b', '1', longMs)));
    for (const result of failed) assert.equal(result.ok, false);
    const probe = await store.probe();
    assert.match(
      probe.ok ? '' : probe.detail,
      /^redis:\/\/127\.0\.0\.1:\d+\/0: (?:nothing listens there|it closed the connection)$/,
    );
    await own.restart();
    await waitFor('the store is back', async () => (await store.probe()).ok);
    assert.equal(expectValue(await store.get('a')), undefined);
    assert.equal(expectValue(await store.get('b')), undefined);
    expectValue(await store.put('b', '2', longMs));
  });

  test('that hangs: calls end in time, and later ones at once', async (t) => {
    const own = await startOwn(t);
    const store = await open(own.url, { timeoutMs: 5_000 });
    expectValue(await store.put('a', '1', longMs));
    own.pause();
    const results = await Promise.all([store.get('a'), store.take('a'), store.count('a', longMs)]);
    for (const result of results) assert.equal(result.ok, false);
    assert.match(JSON.stringify(results[0]), /does not answer in time/);
    assert.equal((await store.get('a')).ok, false);
    own.resume();
    await waitFor('the store is back', async () => (await store.probe()).ok);
    // Whether the call that got no answer took place is not known; the server has done it here.
    assert.equal(expectValue(await store.get('a')), undefined);
  });

  test('that is full: writes fail, reads go on, and it recovers', async (t) => {
    const own = await startOwn(t);
    const store = await open(own.url);
    expectValue(await store.put('kept', '1', longMs));
    // Less than it has in use.
    await own.run('CONFIG', 'SET', 'maxmemory', '100kb');
    for (const result of [
      await store.put('new', '1', longMs),
      await store.probe(),
      await store.count('new', longMs),
      await store.compareAndSet('new', undefined, '1', longMs),
      await store.addMember('new', 'm', longMs),
    ])
      assert.match(result.ok ? 'it was written' : result.detail, /its memory is full \(maxmemory\)$/);
    assert.equal(expectValue(await store.get('kept')), '1');
    assert.equal(expectValue(await store.take('kept')), '1');
    await own.run('CONFIG', 'SET', 'maxmemory', '0');
    expectValue(await store.put('new', '1', longMs));
  });

  test('that is not there yet: the store opens, and is up when the server is', async (t) => {
    const own = await startOwn(t);
    await own.kill();
    const store = await open(own.url);
    const got = await store.get('a');
    assert.match(got.ok ? '' : got.detail, /nothing listens there$/);
    await own.restart();
    await waitFor('the store is up', async () => (await store.probe()).ok);
  });

  test('that evicts is refused, at the start and when it comes back', async (t) => {
    const own = await startOwn(t, { settings: { 'maxmemory-policy': 'allkeys-lru' } });
    assert.equal(
      await refuse(own.url),
      'the store redis://127.0.0.1 cannot be used: its maxmemory-policy is allkeys-lru, and an evicted entry can make a used token usable again. Set maxmemory-policy to noeviction',
    );
    await own.run('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    const store = await open(own.url);
    expectValue(await store.put('a', '1', longMs));
    await own.kill();
    await own.restart({ 'maxmemory-policy': 'volatile-ttl' });
    await waitFor('it is refused', async () => {
      const probe = await store.probe();
      return !probe.ok && probe.detail.includes('volatile-ttl');
    });
    await own.run('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await waitFor('it is accepted', async () => (await store.probe()).ok);
  });

  test('that has no such database is refused', async () => {
    assert.match(await refuse(server.url, { database: 99 }), /it has no database of that number$/);
  });
});

describe('credentials', () => {
  test('a password: right, wrong, missing, and one too many', async (t) => {
    const own = await startOwn(t, { settings: { requirepass: 'correct horse' } });
    expectValue(await (await open(own.url, { password: 'correct horse' })).put('a', '1', longMs));
    const wrong = await refuse(own.url, { password: 'hunter2' });
    assert.equal(wrong, 'the store redis://127.0.0.1 cannot be used: user name or password are wrong');
    assert.match(await refuse(own.url), /it asks for a password: --store-password-file names the file with it$/);
    assert.match(await refuse(server.url, { password: 'hunter2' }), /it has no password, and one was given/);
    assert.match(await refuse(own.url, { password: '' }), /of --store-password-file is empty$/);
  });

  test('a user with the documented ACL can do everything, and one with less is refused', async (t) => {
    const own = await startOwn(t, {
      commands: [
        ['ACL', 'SETUSER', 'gateway', 'on', '>pass', ...minimalAcl.split(' ')],
        ...['getdel', 'incr', 'eval', 'srandmember', 'set'].map((command) => [
          'ACL',
          'SETUSER',
          `no-${command}`,
          'on',
          '>pass',
          ...minimalAcl.split(' ').filter((rule) => rule !== `+${command}`),
        ]),
        ['ACL', 'SETUSER', 'no-info', 'on', '>pass', ...minimalAcl.split(' ').filter((rule) => rule !== '+info')],
        [
          'ACL',
          'SETUSER',
          'elsewhere',
          'on',
          '>pass',
          ...minimalAcl.replace('~mcp-gatehouse:*', '~other:*').split(' '),
        ],
      ],
    });
    const store = await open(own.url, { username: 'gateway', password: 'pass' });
    expectValue(await store.put('a', '1', longMs));
    expectValue(await store.compareAndSet('a', '1', undefined, longMs));
    expectValue(await store.addMember('a', 'm', longMs));
    const [rights, keys] = minimalAcl.split(' ~');
    const page = readFileSync(new URL('../../docs/store.md', import.meta.url), 'utf8');
    assert.ok(page.includes(`~${keys} resetchannels -@all ${rights}\n`), 'docs/store.md has another ACL');
    // Inside a script, some versions do not say which command it was.
    for (const command of ['getdel', 'incr', 'eval', 'srandmember', 'set'])
      assert.match(
        await refuse(own.url, { username: `no-${command}`, password: 'pass' }),
        new RegExp(
          `its user may not run (?:${command}|one of the commands inside scripts): see the ACL in docs/store.md$`,
        ),
      );
    assert.match(
      await refuse(own.url, { username: 'elsewhere', password: 'pass' }),
      /its user may not use keys that begin with mcp-gatehouse:/,
    );
    const warnings: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => void warnings.push(message) };
    await open(own.url, { username: 'no-info', password: 'pass', log });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /does not tell its maxmemory-policy/);
  });

  test('a new password is read from the file with the next connection', async (t) => {
    const own = await startOwn(t, { settings: { requirepass: 'old' } });
    const passwordFile = join(folder, 'rotated');
    writeFileSync(passwordFile, 'old');
    const read = readStoreAddress(own.url);
    assert.ok(read.ok && read.address.kind === 'redis');
    const opened = await openRedisStore({
      address: read.address,
      username: undefined,
      passwordFile,
      caFile: undefined,
      log: silentLog,
    });
    assert.ok(opened.ok);
    t.after(() => opened.store.close());
    await own.kill();
    writeFileSync(passwordFile, 'new');
    // Until the server has it, too, the store is down; then it is up, by itself.
    await own.restart();
    await waitFor('the password is wrong', async () => {
      const probe = await opened.store.probe();
      return !probe.ok && probe.detail.includes('password');
    });
    await own.run('CONFIG', 'SET', 'requirepass', 'new');
    await waitFor('the store is up', async () => (await opened.store.probe()).ok);
  });
});

describe('TLS', () => {
  test('the right CA, another one, none, and another name', async (t) => {
    const authority = createAuthority('Redis CA');
    const write = (name: string, text: string): string => {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    };
    const { cert, key } = createCertificate({ names: ['127.0.0.1'], issuer: authority });
    const tls = { certFile: write('server.crt', cert), keyFile: write('server.key', key) };
    const own = await startOwn(t, { tls });
    const store = await open(own.url, { ca: authority.cert });
    expectValue(await store.put('a', '1', longMs));
    const unknown = /its certificate is not signed by a CA that is known: --store-ca-file names the file with the CA$/;
    assert.match(await refuse(own.url, { ca: createAuthority('Another CA').cert }), unknown);
    assert.match(await refuse(own.url), unknown);
    assert.match(
      await refuse(own.url.replace('127.0.0.1', 'localhost'), { ca: authority.cert }),
      /its certificate is for another host$/,
    );
  });
});
