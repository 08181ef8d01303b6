import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeMessage, showMessage } from './seen-message.ts';

test('a message by its method and what it uses', () => {
  assert.deepEqual(showMessage({ method: 'tools/call', item: { kind: 'tool', name: 'open' }, count: 1 }), {
    method: 'tools/call',
    kind: 'tool',
    item: 'open',
    count: 1,
  });
  assert.deepEqual(showMessage({ method: 'ping', item: undefined, count: 3 }), {
    method: 'ping',
    kind: undefined,
    item: undefined,
    count: 3,
  });
});

test('a stream does not hold on to a name as long as a body', () => {
  const { method, item } = seeMessage('m'.repeat(100_000), { kind: 'tool', name: 'a'.repeat(100_000) }, 1);
  assert.ok(method.length < 17_000 && item!.name.length < 17_000);
  assert.deepEqual(seeMessage('ping', undefined, 2), { method: 'ping', item: undefined, count: 2 });
});

test('long names are cut, and credentials are left out before that', () => {
  const readItem = (kind: 'tool' | 'resource', name: string): string =>
    showMessage({ method: 'x', item: { kind, name }, count: 1 }).item!;
  assert.equal(readItem('tool', 'a'.repeat(100_000)), `${'a'.repeat(256)}...`);
  assert.equal(showMessage({ method: 'm'.repeat(300), item: undefined, count: 1 }).method, `${'m'.repeat(256)}...`);
  assert.equal(readItem('resource', 'https://host/a?key=S3CRET'), 'https://host/a');
  assert.equal(readItem('resource', 'file:///a#S3CRET'), 'file:///a');
  assert.equal(readItem('resource', 'https://me:S3CRET@host/a'), 'https://me:[redacted]@host/a');
  assert.equal(
    readItem('tool', `${'a'.repeat(240)} eyJhbGciOi.${'S'.repeat(400)}.c2ln`),
    `${'a'.repeat(240)} [redacted]`,
  );
  // A name may hold a question mark.
  assert.equal(readItem('tool', 'really?'), 'really?');
});
