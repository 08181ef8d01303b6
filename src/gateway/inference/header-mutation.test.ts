import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { HeaderValueOption_HeaderAppendAction as Action } from '../../ir/gen/envoy/config/core/v3/base_pb.ts';
import { HeaderMutationSchema } from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { mutateHeaders } from './header-mutation.ts';

const before = ['Accept', 'a', 'x-many', '1', 'X-Many', '2', 'host', 'models.example'];

function apply(mutation: MessageInitShape<typeof HeaderMutationSchema>) {
  const mutated = mutateHeaders(before, create(HeaderMutationSchema, mutation));
  assert.ok(mutated.ok);
  return mutated;
}

const set = (key: string, value: string, more: object = {}) => ({
  setHeaders: [{ header: { key, rawValue: Buffer.from(value, 'latin1') }, ...more }],
});

describe('fields that are set', () => {
  test('take the place of those of the same name, however they are spelled', () => {
    assert.deepEqual(apply(set('X-MANY', '3')).headers, ['Accept', 'a', 'host', 'models.example', 'x-many', '3']);
    assert.deepEqual(apply(set('x-new', 'caf\u00e9')).headers.slice(-2), ['x-new', 'caf\u00e9']);
  });

  test('the last value of a name counts, but cookies stay several', () => {
    const values = [...set('x-many', '3').setHeaders, ...set('x-many', '4').setHeaders];
    assert.deepEqual(apply({ setHeaders: values }).headers.slice(-4), ['host', 'models.example', 'x-many', '4']);
    const twice = [...set('set-cookie', 'a=1').setHeaders, ...set('set-cookie', 'b=2').setHeaders];
    assert.deepEqual(apply({ setHeaders: twice }).headers.slice(-4), ['set-cookie', 'a=1', 'set-cookie', 'b=2']);
  });

  test('are added, or set only where there is one, as they say', () => {
    assert.deepEqual(apply(set('accept', 'b', { append: true })).headers.slice(-2), ['accept', 'b']);
    assert.equal(apply(set('accept', 'b', { append: true })).headers.length, before.length + 2);
    assert.deepEqual(apply(set('accept', 'b', { appendAction: Action.ADD_IF_ABSENT })).headers, before);
    assert.deepEqual(apply(set('x-new', 'b', { appendAction: Action.OVERWRITE_IF_EXISTS })).headers, before);
    assert.deepEqual(apply(set('accept', 'b', { appendAction: Action.OVERWRITE_IF_EXISTS })).headers.slice(-2), [
      'accept',
      'b',
    ]);
  });

  test('of framing, of the connection and of the addressee stay what they were', () => {
    for (const name of ['host', ':authority', ':method', ':scheme', 'connection', 'transfer-encoding', 'te', 'upgrade'])
      assert.deepEqual(apply(set(name, 'evil')).headers, before, name);
  });

  test('that are no fields are told apart', () => {
    const { headers, special } = apply({
      setHeaders: [...set(':path', '/other').setHeaders, ...set('Content-Length', '7').setHeaders],
    });
    assert.deepEqual(headers, before);
    assert.deepEqual(
      [...special],
      [
        [':path', '/other'],
        ['content-length', '7'],
      ],
    );
  });

  test('that cannot be sent are refused', () => {
    for (const [name, value] of [
      ['x-split', 'a\r\nx-evil: 1'],
      ['x bad', 'a'],
      ['', 'a'],
      ['x-null', '\0'],
    ] as const) {
      const mutated = mutateHeaders(before, create(HeaderMutationSchema, set(name, value)));
      assert.equal(mutated.ok, false, JSON.stringify(name));
    }
  });
});

test('fields that are removed', () => {
  const { headers, special } = apply({ removeHeaders: ['X-Many', 'host', ':path', 'content-length', 'x-none'] });
  assert.deepEqual(headers, ['Accept', 'a', 'host', 'models.example']);
  assert.deepEqual([...special], [['content-length', null]]);
});

test('no change is no copy', () => {
  const mutated = mutateHeaders(before, undefined);
  assert.ok(mutated.ok && mutated.headers === before);
});
