import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { formatStoreAddress, readStoreAddress } from './store-address.ts';

const redis = { kind: 'redis', host: '127.0.0.1', port: 6379, database: 0, isTls: false };

describe('--store', () => {
  const good: readonly (readonly [string, object, string])[] = [
    ['memory', { kind: 'memory' }, 'memory'],
    ['sqlite:/var/lib/store.db', { kind: 'sqlite', path: '/var/lib/store.db' }, 'sqlite:/var/lib/store.db'],
    ['sqlite:store.db', { kind: 'sqlite', path: resolve('store.db') }, `sqlite:${resolve('store.db')}`],
    ['redis://127.0.0.1', redis, 'redis://127.0.0.1:6379/0'],
    ['redis://127.0.0.1:6380/', { ...redis, port: 6380 }, 'redis://127.0.0.1:6380/0'],
    ['rediss://cache.example.com:6390/3', { ...redis, host: 'cache.example.com', port: 6390, database: 3, isTls: true }, 'rediss://cache.example.com:6390/3'], // prettier-ignore
    ['redis://[::1]:7000/1', { ...redis, host: '::1', port: 7000, database: 1 }, 'redis://[::1]:7000/1'],
  ];
  for (const [text, address, formatted] of good)
    test(text, () => {
      const read = readStoreAddress(text);
      assert.deepEqual(read, { ok: true, address });
      assert.ok(read.ok);
      assert.equal(formatStoreAddress(read.address), formatted);
    });

  const bad: readonly (readonly [string, RegExp])[] = [
    ['', /^must be memory, sqlite:PATH, redis:\/\/host:port\/db or rediss:\/\/host:port\/db, not ""$/],
    ['disk', /not "disk"$/],
    ['Memory', /^must be memory, /],
    ['sqlite', /^must be memory, sqlite:PATH/],
    ['sqlite:', /^names no file: sqlite:PATH, such as/],
    ['sqlite::memory:', /^names no file: use --store memory/],
    ['sqlite:///var/lib/store.db', /without slashes in front of an absolute path$/],
    ['sqlite:/var/lib/', /^must name a file, not "\/var\/lib\/"$/],
    ['redis:', /^must be redis:\/\/host:port\/db/],
    ['redis://', /^must be redis:\/\/host:port\/db/],
    ['redis://:6379', /^must be redis:\/\/host:port\/db/],
    ['redis://host:99999', /^must be redis:\/\/host:port\/db/],
    ['redis://host/one', /^must have the number of a database as its path, such as \/0, not "\/one"$/],
    ['redis://host/0/1', /not "\/0\/1"$/],
    ['redis://host/0?ssl=true', /^must not have anything after the number/],
    ['redis://user@host/0', /^must not have a user in it: use --store-username$/],
    ['valkey://host:6379/0', /^must begin with redis:\/\/ or rediss:\/\/ for Valkey, too/],
  ];
  for (const [text, problem] of bad)
    test(`refuses ${JSON.stringify(text)}`, () => {
      const read = readStoreAddress(text);
      assert.ok(!read.ok);
      assert.match(read.problem, problem);
    });

  test('never repeats a password', () => {
    for (const text of [
      'redis://:hunter2@host:6379/0',
      'rediss://user:hunter2@host',
      'postgres://user:hunter2@host/db',
    ]) {
      const read = readStoreAddress(text);
      assert.ok(!read.ok);
      assert.ok(!read.problem.includes('hunter2'), read.problem);
    }
    const read = readStoreAddress('redis://:hunter2@host:6379/0');
    assert.match(read.ok ? '' : read.problem, /put it in a file, and name that with --store-password-file$/);
  });
});
