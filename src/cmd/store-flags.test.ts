import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readStoreFlags } from './store-flags.ts';

const none = { store: 'memory', storeUsername: undefined, storePasswordFile: undefined, storeCaFile: undefined };

describe('the flags of the store', () => {
  test('become settings', () => {
    assert.deepEqual(readStoreFlags(none), {
      ok: true,
      settings: {
        address: { kind: 'memory' },
        username: undefined,
        passwordFile: undefined,
        caFile: undefined,
        scope: '',
      },
    });
    const values = { store: 'rediss://cache:6390/1', storeUsername: 'u', storePasswordFile: '/p', storeCaFile: '/c' };
    assert.deepEqual(readStoreFlags(values, 'default/web'), {
      ok: true,
      settings: {
        address: { kind: 'redis', host: 'cache', port: 6390, database: 1, isTls: true },
        username: 'u',
        passwordFile: '/p',
        caFile: '/c',
        scope: 'default/web',
      },
    });
  });

  const bad: readonly (readonly [object, string])[] = [
    [
      { store: 'disk' },
      '--store must be memory, sqlite:PATH, redis://host:port/db or rediss://host:port/db, not "disk"',
    ],
    [{ storePasswordFile: '/p' }, '--store-password-file goes with --store redis://... or rediss://...'],
    [{ store: 'sqlite:/s', storeUsername: 'u' }, '--store-username goes with --store redis://... or rediss://...'],
    [
      { store: 'redis://cache', storeUsername: 'u' },
      '--store-username goes with --store-password-file: a user alone is not let in',
    ],
    [{ store: 'redis://cache', storeCaFile: '/c' }, '--store-ca-file goes with --store rediss://..., which is TLS'],
  ];
  for (const [values, problem] of bad)
    test(problem, () => {
      assert.deepEqual(readStoreFlags({ ...none, ...values }), { ok: false, problems: [problem] });
    });
});
