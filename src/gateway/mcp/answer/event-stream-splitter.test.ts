import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { EventSplitter } from './event-stream-splitter.ts';

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

function split(chunks: readonly Uint8Array[], splitter = new EventSplitter()): { events: string[]; rest: string } {
  const events = chunks.flatMap((chunk) => splitter.push(chunk).map(latin1));
  return { events, rest: latin1(splitter.take()) };
}

/** Cuts a text at these places. */
function cut(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

/** The events of a text, by the words of the specification: a line that is empty ends an event. */
function splitNaively(text: string): { events: string[]; rest: string } {
  const events: string[] = [];
  let event = '';
  for (const line of text.match(/[^\r\n]*(?:\r\n|\r|\n)/g) ?? []) {
    event += line;
    if (!/^[\r\n]+$/.test(line)) continue;
    events.push(event);
    event = '';
  }
  return { events, rest: event + text.slice(events.join('').length + event.length) };
}

describe('the events of a stream', () => {
  const streams: [text: string, events: string[], rest: string][] = [
    ['', [], ''],
    ['data: a\n\ndata: b\n\n', ['data: a\n\n', 'data: b\n\n'], ''],
    ['data: a\r\n\r\ndata: b\r\n\r\n', ['data: a\r\n\r\n', 'data: b\r\n\r\n'], ''],
    ['data: a\r\rdata: b\r\r', ['data: a\r\r', 'data: b\r\r'], ''],
    ['data: a\n\rdata: b\r\n\n', ['data: a\n\r', 'data: b\r\n\n'], ''],
    ['\n\n: x\n\n', ['\n', '\n', ': x\n\n'], ''],
    ['data: a\ndata: b', [], 'data: a\ndata: b'],
    ['data: a\n', [], 'data: a\n'],
    ['data: a\r\n\r\nda', ['data: a\r\n\r\n'], 'da'],
  ];
  for (const [text, events, rest] of streams)
    test(JSON.stringify(text), () => assert.deepEqual(split([Buffer.from(text)]), { events, rest }));

  const anyText = fc.array(fc.constantFrom('\n', '\r', '\r\n', 'a', 'data: b')).map((parts) => parts.join(''));

  test('property: as the specification says', () => {
    fc.assert(
      fc.property(anyText, (text) => assert.deepEqual(split([Buffer.from(text, 'latin1')]), splitNaively(text))),
    );
  });

  test('property: however it is cut, nothing is lost, and as many events are complete', () => {
    fc.assert(
      fc.property(anyText, fc.array(fc.nat(100)), (text, places) => {
        const { events, rest } = split(cut(text, places));
        assert.equal(events.join('') + rest, text);
        assert.equal(events.length, splitNaively(text).events.length);
      }),
    );
  });

  test('a complete event does not wait, not even for the LF of its last CR', () => {
    const splitter = new EventSplitter();
    assert.deepEqual(splitter.push(Buffer.from('data: a\r\n\r')).map(latin1), ['data: a\r\n\r']);
    assert.deepEqual(splitter.push(Buffer.from('\ndata: b\r\n')).map(latin1), []);
    assert.equal(splitter.heldBytes, 10);
    assert.deepEqual(splitter.push(Buffer.from('\r\n')).map(latin1), ['\ndata: b\r\n\r\n']);
    assert.equal(splitter.heldBytes, 0);
  });

  test('property: joined in the middle, it finds the same ends', () => {
    fc.assert(
      fc.property(anyText, fc.nat(100), (text, place) => {
        const at = place % (text.length + 1);
        const position = { isBetweenEvents: false, lastByte: at === 0 ? undefined : text.charCodeAt(at - 1) };
        const later = split([Buffer.from(text.slice(at), 'latin1')], new EventSplitter(position));
        const all = split(cut(text, [at]));
        // From the first event on that ends after the place.
        const ends = (events: readonly string[], start: number): number[] =>
          events.map((_, index) => start + events.slice(0, index + 1).join('').length);
        assert.deepEqual(
          ends(later.events, at),
          ends(all.events, 0).filter((end) => end > at),
        );
      }),
    );
  });
});
