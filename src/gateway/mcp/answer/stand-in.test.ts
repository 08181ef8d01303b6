import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { ItemKind } from '../read/read-item.ts';
import { canStandIn, createSeed, listStandIns, repeatStandIn } from './stand-in.ts';
import { renameItem } from '../names/rename-request.ts';

/** The names in the place of one, with a sign for each invented part. */
function list(kind: ItemKind, name: string): string[] {
  return Array.from(listStandIns({ kind, name }), ({ item }) =>
    item.name.replaceAll(/[a-z]{16,64}/g, 'X').replaceAll(/[1-9]{15}/g, '9'),
  );
}

describe('names in the place of a hidden one', () => {
  const cases: readonly (readonly [kind: ItemKind, name: string, expected: readonly string[]])[] = [
    ['tool', 'delete', ['X']],
    ['tool', 'tickets_delete', ['tickets_X', 'X_X']],
    ['tool', 'a-b.c/d', ['a-b.c/X', 'a-X.X/X', 'X-X.X/X']],
    ['tool', 'step_2', ['step_9', 'X_9']],
    ['tool', '', ['X']],
    ['tool', '__', ['X']],
    ['tool', 'lösche', ['X']],
    ['prompt', 'daily-report', ['daily-X', 'X-X']],
    ['resource', 'file:///data/secret.txt', ['file:///data/X.txt', 'file:///X/X.txt', 'X:///X/X.txt']],
    ['resource', 'ticket://42', ['ticket://9', 'X://9']],
    ['resource', 'db://host/table?id=7#x', ['db://host/table?id=7#X', 'db://X/X?X#X', 'X://X/X?X#X']],
    ['resource', 'file:///dir/', ['file:///X/', 'X:///X/']],
    ['resource', 'desk://secret/{id}', ['desk://secret/X', 'desk://X/X', 'X://X/X']],
    ['resource', 'note', ['X']],
  ];
  for (const [kind, name, expected] of cases)
    test(`${kind} ${JSON.stringify(name)}`, () => assert.deepEqual(list(kind, name), expected));

  test('of a name that is very long or has very many pieces cost no more than others', () => {
    const name = 'a_'.repeat(500);
    assert.ok(canStandIn('tools/call', { kind: 'tool', name }));
    assert.deepEqual(
      Array.from(listStandIns({ kind: 'tool', name }), ({ item, parts }) => [item.name.length, parts.length]),
      [[64, 1]],
    );
    assert.equal(canStandIn('tools/call', { kind: 'tool', name: 'a'.repeat(1_001) }), false);
  });

  test('are new each time, and say which part is which', () => {
    const [first] = listStandIns({ kind: 'tool', name: 'tickets_delete' });
    const [second] = listStandIns({ kind: 'tool', name: 'tickets_delete' });
    assert.notEqual(first!.item.name, second!.item.name);
    assert.deepEqual(first!.parts, [{ asked: 'delete', sent: first!.item.name.slice('tickets_'.length) }]);
  });

  test('arguments stay', () => {
    const [standIn] = listStandIns({ kind: 'tool', name: 'a', arguments: { force: true } });
    assert.deepEqual(standIn!.item.arguments, { force: true });
  });

  test('property: the parts put back give the asked name', () => {
    fc.assert(
      fc.property(fc.constantFrom('tool', 'prompt', 'resource'), fc.string(), (kind, name) => {
        for (const standIn of listStandIns({ kind, name })) {
          const { item, parts, seed } = standIn;
          assert.notEqual(item.name, name);
          assert.deepEqual(repeatStandIn({ kind, name }, seed), standIn);
          assert.equal(seed.length, createSeed(0).length);
          assert.equal(
            parts.reduce((text, { asked, sent }) => text.replace(sent, () => asked), item.name),
            name,
          );
        }
      }),
    );
  });
});

describe('a message under another name', () => {
  const cases: readonly (readonly [method: string, text: string, expected: string])[] = [
    [
      'tools/call',
      '{"params":{"arguments":{"name":"n"},"name" : "a\\u0062"}}',
      '{"params":{"arguments":{"name":"n"},"name" : "Z"}}',
    ],
    ['prompts/get', ' {"id":1.50,"params":{"name":"p"}}', ' {"id":1.50,"params":{"name":"Z"}}'],
    ['resources/read', '{"params":{"uri":"u","_meta":{"uri":"u"}}}', '{"params":{"uri":"Z","_meta":{"uri":"u"}}}'],
    ['resources/subscribe', '{"params":{"uri":"u"}}', '{"params":{"uri":"Z"}}'],
    ['resources/unsubscribe', '{"params":{"uri":"u"}}', '{"params":{"uri":"Z"}}'],
    ['completion/complete', '{"params":{"name":"x","ref":{"name":"p"}}}', '{"params":{"name":"x","ref":{"name":"Z"}}}'],
    ['completion/complete', '{"params":{"ref":{"uri":"u"}}}', '{"params":{"ref":{"uri":"Z"}}}'],
  ];
  for (const [method, text, expected] of cases)
    test(`${method}: ${text}`, () => {
      assert.ok(canStandIn(method, { kind: 'tool', name: 'a' }));
      assert.equal(renameItem(text, method, 'Z'), expected);
    });

  test('others keep theirs', () => {
    for (const method of ['subscriptions/listen', 'tools/list', 'Tools/Call'])
      assert.equal(canStandIn(method, { kind: 'tool', name: 'a' }), false);
    assert.throws(() => renameItem('{"params":{}}', 'tools/call', 'Z'), /without the name/);
  });
});
