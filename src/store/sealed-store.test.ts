import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSealer, createSealKey } from '../base/sealed.ts';
import { createMemoryStore } from './memory-store.ts';
import { sealStore } from './sealed-store.ts';
import type { Store } from './store.ts';
import { expectValue, testStore } from './testing/store-contract.ts';

let nowMs = 1_000;
const now = (): number => nowMs;
const sealer = createSealer([createSealKey()], now);
const contractStore = sealStore(createMemoryStore({ now }), sealer, 'test');

testStore({ name: 'sealed', open: async () => contractStore, pass: async (ms) => void (nowMs += ms) });

const longMs = 60_000;

/** A store that writes down all that it is given. */
function createRecordingStore(): { readonly inner: Store; readonly seen: string[] } {
  const memory = createMemoryStore({ now });
  const seen: string[] = [];
  const inner = Object.fromEntries(
    Object.entries(memory).map(([name, member]: [string, unknown]) => [
      name,
      typeof member !== 'function'
        ? member
        : (...args: unknown[]) => {
            seen.push(...args.filter((arg) => typeof arg === 'string'));
            return (member as (...all: unknown[]) => unknown)(...args);
          },
    ]),
  ) as unknown as Store;
  return { inner, seen };
}

describe('a sealed store', () => {
  test('shows neither keys nor values to the store', async () => {
    const { inner, seen } = createRecordingStore();
    const sealed = sealStore(inner, sealer, 'grants');
    expectValue(await sealed.put('alice', 'secret-value', longMs));
    expectValue(await sealed.compareAndSet('alice', 'secret-value', 'secret-next', longMs));
    expectValue(await sealed.count('alice', longMs));
    expectValue(await sealed.addMember('alice', 'secret-member', longMs));
    expectValue(await sealed.removeMember('alice', 'secret-member'));
    expectValue(await sealed.take('alice'));
    assert.ok(seen.length >= 10);
    for (const text of seen) {
      assert.ok(!/alice|secret/.test(text), text);
      assert.ok(!Buffer.from(text, 'base64url').includes('secret'), text);
    }
    assert.match(seen[0]!, /^grants:[\w-]{43}$/);
  });

  test('opens nothing that was moved, changed or made up', async () => {
    const inner = createMemoryStore({ now });
    const sealed = sealStore(inner, sealer, 'grants');
    const { inner: recording, seen } = createRecordingStore();
    const names = sealStore(recording, sealer, 'grants');
    await names.get('a');
    await names.get('b');
    const [a, b] = seen as [string, string];
    expectValue(await sealed.put('a', 'value', longMs));
    const text = expectValue(await inner.get(a))!;
    for (const wrong of [text, 'made up', `${text.slice(0, -2)}AA`]) {
      expectValue(await inner.put(b, wrong, longMs));
      const got = await sealed.get('b');
      assert.ok(!got.ok);
      assert.match(
        got.detail,
        /^the store has an entry of grants that this gateway did not write \((?:tampered|malformed)\)$/,
      );
      assert.equal((await sealed.compareAndSet('b', 'value', 'next', longMs)).ok, false);
      // It is something, and cannot be used for "nothing is there".
      assert.equal(expectValue(await sealed.compareAndSet('b', undefined, 'next', longMs)), false);
      expectValue(await inner.addMember(b, wrong, longMs));
      assert.equal((await sealed.listMembers('b', 10)).ok, false);
      expectValue(await inner.removeMember(b, wrong));
      assert.equal((await sealed.take('b')).ok, false);
    }
  });

  test('keeps purposes apart', async () => {
    const inner = createMemoryStore({ now });
    const [one, two] = ['grants', 'answers'].map((purpose) => sealStore(inner, sealer, purpose)) as [Store, Store];
    expectValue(await one.put('a', '1', longMs));
    assert.equal(expectValue(await two.get('a')), undefined);
  });

  test('survives a rotation of keys, and forgets what was sealed with keys that are gone', async () => {
    const inner = createMemoryStore({ now });
    const [oldKey, newKey] = [createSealKey(), createSealKey()];
    const [before, rotated, dropped] = [[oldKey], [newKey, oldKey], [newKey]].map((keys) =>
      sealStore(inner, createSealer(keys, now), 'grants'),
    ) as [Store, Store, Store];
    expectValue(await before.put('a', '1', longMs));
    expectValue(await before.addMember('s', 'm', longMs));
    expectValue(await before.addMember('s', 'n', longMs));
    assert.equal(expectValue(await rotated.compareAndSet('a', '1', '2', longMs)), true);
    assert.equal(expectValue(await dropped.get('a')), '2');
    // Added again with the new key, it is still one member.
    expectValue(await rotated.addMember('s', 'm', longMs));
    assert.deepEqual(expectValue(await rotated.listMembers('s', 10)).toSorted(), ['m', 'n']);
    expectValue(await rotated.removeMember('s', 'm'));
    assert.deepEqual(expectValue(await rotated.listMembers('s', 10)), ['n']);
    assert.deepEqual(expectValue(await dropped.listMembers('s', 10)), []);
    expectValue(await before.put('b', '1', longMs));
    assert.equal(expectValue(await dropped.get('b')), undefined);
    assert.equal(expectValue(await dropped.compareAndSet('b', '1', '2', longMs)), false);
  });

  test('sets over a value that somebody sealed anew meanwhile, and gives up when that never ends', async () => {
    const memory = createMemoryStore({ now });
    let disturb = 2;
    const other = sealStore(memory, sealer, 'grants');
    const inner: Store = {
      ...memory,
      async compareAndSet(...args) {
        if (disturb > 0) {
          disturb -= 1;
          await other.put('a', '1', longMs);
        }
        return memory.compareAndSet(...args);
      },
    };
    const sealed = sealStore(inner, sealer, 'grants');
    expectValue(await sealed.put('a', '1', longMs));
    assert.equal(expectValue(await sealed.compareAndSet('a', '1', '2', longMs)), true);
    expectValue(await sealed.put('a', '1', longMs));
    disturb = 100;
    assert.deepEqual(await sealed.compareAndSet('a', '1', '2', longMs), {
      ok: false,
      detail: 'an entry of grants is changed by too many at once',
    });
  });

  test('writes nothing that it could not open again', async () => {
    const tooLong = { ok: false, detail: 'an entry of test is too long for the store' };
    assert.deepEqual(await contractStore.put('long', 'x'.repeat(131_072), longMs), tooLong);
    assert.deepEqual(await contractStore.compareAndSet('long', undefined, 'x'.repeat(131_072), longMs), tooLong);
    assert.equal(expectValue(await contractStore.get('long')), undefined);
  });

  test('passes failures of the store on', async () => {
    const failure = { ok: false, detail: 'down' } as const;
    const inner = new Proxy(createMemoryStore(), {
      get: (target, name) => (name === 'kind' || name === 'reach' ? target[name] : async () => failure),
    });
    const sealed = sealStore(inner, sealer, 'grants');
    const results = await Promise.all([
      sealed.put('a', '1', longMs),
      sealed.get('a'),
      sealed.take('a'),
      sealed.count('a', longMs),
      sealed.compareAndSet('a', '1', '2', longMs),
      sealed.compareAndSet('a', undefined, '2', longMs),
      sealed.addMember('a', 'm', longMs),
      sealed.removeMember('a', 'm'),
      sealed.listMembers('a', 1),
      sealed.probe(),
    ]);
    for (const result of results) assert.deepEqual(result, failure);
  });
});
