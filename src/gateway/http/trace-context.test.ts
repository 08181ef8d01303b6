import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  createTraceParent,
  formatTraceParent,
  parseTraceParent,
  passTraceParent,
  readTraceContext,
  replaceTraceHeaders,
} from './trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const valid = `00-${traceId}-${spanId}-01`;

function readState(...fields: string[]): string | undefined {
  const context = readTraceContext(['traceparent', valid, ...fields.flatMap((field) => ['tracestate', field])]);
  return context.kind === 'valid' ? context.tracestate : assert.fail();
}

function hex(length: number): fc.Arbitrary<string> {
  return fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => /[1-9a-f]/.test(text));
}

describe('traceparent', () => {
  test('is read', () => {
    assert.deepEqual(parseTraceParent(valid), { traceId, spanId, flags: 1 });
  });

  test('of a later version is read as far as this one reaches', () => {
    assert.deepEqual(parseTraceParent(`01-${traceId}-${spanId}-09-what-the-future-brings`), {
      traceId,
      spanId,
      flags: 9,
    });
    assert.deepEqual(parseTraceParent(`cc-${traceId}-${spanId}-00`), { traceId, spanId, flags: 0 });
  });

  for (const [why, text] of [
    ['version ff', `ff-${traceId}-${spanId}-01`],
    ['more after version 00', `${valid}-x`],
    ['upper case', valid.toUpperCase()],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['a short trace id', `00-${traceId.slice(1)}-${spanId}-01`],
    ['flags that are no digits', `00-${traceId}-${spanId}-0x`],
    ['a later version without a separator', `01-${traceId}-${spanId}-01what`],
    ['nothing', ''],
  ] as const) {
    test(`with ${why} is invalid`, () => assert.equal(parseTraceParent(text), undefined));
  }

  test('reads back as it is written', () => {
    fc.assert(
      fc.property(hex(32), hex(16), fc.constantFrom(0, 1, 2, 3), (trace, span, flags) => {
        const parent = { traceId: trace, spanId: span, flags };
        assert.deepEqual(parseTraceParent(formatTraceParent(parent)), parent);
      }),
    );
  });

  test('is written without flags that version 00 does not have', () => {
    assert.equal(formatTraceParent({ traceId, spanId, flags: 0xff }).slice(-2), '03');
  });

  test('is new every time', () => {
    const made = Array.from({ length: 50 }, () => formatTraceParent(createTraceParent()));
    assert.equal(new Set(made).size, 50);
    for (const text of made) assert.notEqual(parseTraceParent(text), undefined);
  });
});

describe('headers', () => {
  test('none, one, two', () => {
    assert.equal(readTraceContext(['accept', '*/*', 'tracestate', 'a=1']).kind, 'none');
    assert.equal(readTraceContext(['TraceParent', ` ${valid} `]).kind, 'valid');
    assert.equal(readTraceContext(['traceparent', valid, 'traceparent', valid]).kind, 'invalid');
    assert.equal(readTraceContext(['traceparent', 'x']).kind, 'invalid');
  });

  test('tracestate is joined in order, without empty members', () => {
    assert.equal(readState('a=1, b=2', '', 'tenant@sys=x y!'), 'a=1,b=2,tenant@sys=x y!');
    assert.equal(readState(), undefined);
    assert.equal(readState(' ,\t'), undefined);
  });

  for (const [why, state] of [
    ['a key twice', 'a=1,a=2'],
    ['an upper-case key', 'A=1'],
    ['no value', 'a'],
    ['an equals sign in a value', 'a=1=2'],
    ['a control character', 'a=1\u0001'],
    ['33 members', Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(',')],
    ['a long value', `a=${'x'.repeat(257)}`],
  ] as const) {
    test(`tracestate with ${why} is dropped, the traceparent stays`, () => assert.equal(readState(state), undefined));
  }

  test('a valid context passes as it came', () => {
    const headers = ['accept', '*/*', 'traceparent', `01-${traceId}-${spanId}-01-x`, 'tracestate', 'a=1'];
    assert.equal(passTraceParent(headers), `01-${traceId}-${spanId}-01-x`);
    assert.deepEqual(replaceTraceHeaders(headers, passTraceParent(headers)), headers);
  });

  test('an invalid one and its tracestate do not pass', () => {
    const headers = ['Traceparent', 'x', 'TraceState', 'a=1', 'accept', '*/*'];
    assert.equal(passTraceParent(headers), undefined);
    assert.deepEqual(replaceTraceHeaders(headers, undefined), ['accept', '*/*']);
    assert.deepEqual(replaceTraceHeaders(headers, valid), ['accept', '*/*', 'traceparent', valid]);
  });

  test('a tracestate alone does not pass', () => {
    assert.deepEqual(replaceTraceHeaders(['tracestate', 'a=1', 'b', 'c'], undefined), ['b', 'c']);
  });

  test('a new span in the trace keeps the tracestate', () => {
    assert.deepEqual(replaceTraceHeaders(['traceparent', valid, 'tracestate', 'a=1'], 'new'), [
      'traceparent',
      'new',
      'tracestate',
      'a=1',
    ]);
  });

  test('without any of it the list is the same one', () => {
    const headers = ['accept', '*/*'];
    assert.equal(replaceTraceHeaders(headers, undefined), headers);
  });
});
