import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatLogFields } from './log-fields.ts';

function read(fields: object): Record<string, unknown> {
  const text = formatLogFields(fields);
  assert.ok(text === '' || text.startsWith(','), text);
  return JSON.parse(`{${text.slice(1)}}`) as Record<string, unknown>;
}

test('fields are JSON in their order, without those that have no value there', () => {
  assert.equal(formatLogFields({}), '');
  assert.equal(
    formatLogFields({ b: 1, a: 'x"\n', no: undefined, call: () => {}, list: [1, null], nan: Number.NaN, is: false }),
    ',"b":1,"a":"x\\"\\n","list":[1,null],"nan":null,"is":false',
  );
  assert.equal(formatLogFields({ 'a"b': 1 }), ',"a\\"b":1');
});

test('an error has its type, message, stack, causes and own fields', () => {
  class LostError extends Error {}
  const cause = Object.assign(new TypeError('inner'), { code: 'ECONNRESET' });
  const error = Object.assign(new LostError('outer', { cause }), { port: 8080 });
  const { err } = read({ err: error }) as { err: Record<string, unknown> };
  assert.deepEqual(Object.keys(err), ['type', 'message', 'stack', 'cause', 'port']);
  assert.equal(err['type'], 'LostError');
  assert.equal(err['message'], 'outer');
  assert.match(String(err['stack']), /LostError|Error: outer\n +at /);
  assert.equal(err['port'], 8080);
  const inner = err['cause'] as Record<string, unknown>;
  assert.deepEqual([inner['type'], inner['message'], inner['code']], ['TypeError', 'inner', 'ECONNRESET']);
});

test('several errors in one are all there', () => {
  const { error } = read({ error: new AggregateError([new Error('a'), 'b'], 'both') }) as {
    error: { aggregateErrors: readonly unknown[] };
  };
  const [first, second] = error.aggregateErrors as readonly [{ message: string }, string];
  assert.deepEqual([first.message, second], ['a', 'b']);
});

test('what is under the name of an error and is none stays as it is', () => {
  assert.deepEqual(read({ err: 'text', error: { code: 5 } }), { err: 'text', error: { code: 5 } });
});

test('errors that cause each other end', () => {
  const one: Error = new Error('one');
  const other = new Error('other', { cause: one });
  one.cause = other;
  const { err } = read({ err: one }) as { err: { cause: { message: string; cause?: unknown } } };
  assert.equal(err.cause.message, 'other');
  assert.equal(err.cause.cause, undefined);
});

test('no value keeps a line from being written', () => {
  const circle: Record<string, unknown> = { name: 'c' };
  circle['self'] = circle;
  circle['list'] = [circle];
  const shared = { x: 1 };
  const unreadable = {
    get secret(): never {
      throw new Error('no');
    },
  };
  assert.deepEqual(read({ circle, big: { size: 10n }, unreadable, twice: [shared, shared], after: 1 }), {
    circle: { name: 'c', self: '[Circular]', list: ['[Circular]'] },
    big: { size: 10 },
    unreadable: '[cannot be written]',
    twice: [{ x: 1 }, { x: 1 }],
    after: 1,
  });
});
