import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { EventInsertion } from './event-stream-insertion.ts';
import type { StreamVoice } from './list-changed-notification.ts';

const marker = 'data: ours\n\n';
const open: StreamVoice = { isReady: true, hear() {}, announce: () => marker };

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** Passes the chunks; something is to be told before the one with this index. */
function run(chunks: readonly string[], tellBefore: number, voice = open): string {
  const insertion = new EventInsertion(voice);
  let output = '';
  for (const [index, chunk] of chunks.entries()) {
    if (index === tellBefore) {
      insertion.add(['tools']);
      output += latin1(insertion.take());
    }
    output += latin1(insertion.pass(Buffer.from(chunk, 'latin1')));
  }
  return output;
}

/** What a client dispatches: the data of each event, by the words of the specification. */
function readEvents(stream: string): string[] {
  const events: string[] = [];
  let data: string[] = [];
  for (const line of stream.replace(/^\u00ef\u00bb\u00bf/, '').match(/[^\r\n]*(?:\r\n|\r|\n)/g) ?? []) {
    const text = line.replace(/[\r\n]+$/, '');
    if (text.startsWith('data:')) data.push(text.slice(5).trim());
    if (text !== '') continue;
    if (data.length > 0) events.push(data.join('\n'));
    data = [];
  }
  return events;
}

describe('an event of ours between those of an upstream', () => {
  const cases: [title: string, chunks: string[], tellBefore: number, output: string][] = [
    ['before the first byte', ['data: a\n\n'], 0, `${marker}data: a\n\n`],
    ['between two events', ['data: a\n\n', 'data: b\n\n'], 1, `data: a\n\n${marker}data: b\n\n`],
    ['between two events in one chunk', ['data: a', '\n\ndata: b'], 1, `data: a\n\n${marker}data: b`],
    ['not inside an event', ['data: a\n', 'data: b\n', '\n'], 1, `data: a\ndata: b\n\n${marker}`],
    ['not after a line', [': x\n', 'data: b\r\n\r\n'], 1, `: x\ndata: b\r\n\r\n${marker}`],
    ['CRLF in two chunks', ['data: a\r\n\r', '\ndata: b\r\n\r\n'], 1, `data: a\r\n\r${marker}\ndata: b\r\n\r\n`],
    ['a CR that may be half of a CRLF', ['data: a\r', '\ndata: b\r\n\r\n'], 1, `data: a\r\ndata: b\r\n\r\n${marker}`],
    ['CR alone', ['data: a\r\r', 'data: b'], 1, `data: a\r\r${marker}data: b`],
    ['never, if the event does not end', ['data: a', 'b', 'c\n'], 1, 'data: abc\n'],
    ['a byte order mark is at the beginning or nowhere', ['\u00ef\u00bb\u00bfdata: a\n\n'], 0, `${marker}data: a\n\n`],
    [
      'a byte order mark without us',
      ['\u00ef\u00bb\u00bfdata: a\n\n', 'x'],
      1,
      `\u00ef\u00bb\u00bfdata: a\n\n${marker}x`,
    ],
  ];
  for (const [title, chunks, tellBefore, output] of cases)
    test(title, () => assert.equal(run(chunks, tellBefore), output));

  test('property: the client gets every event of the upstream whole, and ours once, as soon as one has ended', () => {
    const line = fc.constantFrom('data: a', 'data: b', ': c', 'id: 1', '', '');
    const end = fc.constantFrom('\n', '\r', '\r\n');
    const stream = fc.array(fc.tuple(line, end)).map((lines) => lines.flat().join(''));
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200)), fc.nat(10), (text, places, tellBefore) => {
        const ends = [...new Set(places.map((place) => place % (text.length + 1)))].toSorted((a, b) => a - b);
        const chunks = [...ends, text.length].map((at, index) => text.slice(ends[index - 1] ?? 0, at));
        const output = run(chunks, tellBefore);
        const theirs = readEvents(text);
        const received = readEvents(output);
        assert.deepEqual(
          received.filter((event) => event !== 'ours'),
          theirs,
        );
        assert.equal(output.replace(marker, ''), text);
        const isTold = received.includes('ours');
        // Not told: it was never asked to, or no event has ended since.
        const before = chunks.slice(0, tellBefore).join('');
        if (!isTold && tellBefore < chunks.length) assert.equal(readBlankLines(text), readBlankLines(before));
      }),
      { numRuns: 1_000 },
    );
  });

  test('what changes again before it was told is told once; a list that the client did not ask for is not', () => {
    const insertion = new EventInsertion({
      isReady: true,
      hear() {},
      announce: (list) => (list === 'prompts' ? '' : `${list}\n\n`),
    });
    insertion.pass(Buffer.from('data'));
    insertion.add(['tools', 'prompts']);
    insertion.add(['tools', 'resources']);
    assert.equal(insertion.take().length, 0);
    assert.equal(latin1(insertion.pass(Buffer.from(': a\n\ndata'))), ': a\n\ntools\n\nresources\n\ndata');
    assert.equal(latin1(insertion.pass(Buffer.from(': a\n\n'))), ': a\n\n');
  });

  test('nothing is told before the stream is ready for it', () => {
    let heard = '';
    const voice: StreamVoice = {
      get isReady() {
        return heard.includes('go');
      },
      hear: (chunk) => void (heard += latin1(chunk)),
      announce: () => marker,
    };
    assert.equal(
      run(['data: a\n\n', 'data: go\n\ndata: b\n\n'], 0, voice),
      `data: a\n\ndata: go\n\n${marker}data: b\n\n`,
    );
    heard = '';
    assert.equal(run(['data: a\n\ndata: go\n\n'], 0, voice), `data: a\n\ndata: go\n\n${marker}`);
  });

  test('where the stream is', () => {
    const insertion = new EventInsertion(open);
    assert.deepEqual(insertion.position, { isBetweenEvents: true, lastByte: undefined });
    insertion.pass(Buffer.from('data: a\n'));
    assert.deepEqual(insertion.position, { isBetweenEvents: false, lastByte: 10 });
    insertion.pass(Buffer.from('\n'));
    assert.deepEqual(insertion.position, { isBetweenEvents: true, lastByte: 10 });
    insertion.pass(Buffer.from('\n'));
    assert.deepEqual(insertion.position, { isBetweenEvents: true, lastByte: 10 });
  });
});

/** How many lines of a text are blank; of a CRLF that is cut in two, the first half counts. */
function readBlankLines(text: string): number {
  return (text.match(/[^\r\n]*(?:\r\n|\r|\n)/g) ?? []).filter((line) => /^[\r\n]+$/.test(line)).length;
}
