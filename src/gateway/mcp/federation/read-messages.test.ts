import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DocumentReader,
  EventReader,
  maxMessageBytes,
  type ReadMessage,
  type ReadMessages,
  type StreamMark,
} from './read-messages.ts';

const answer = '{"jsonrpc":"2.0","id":1,"result":{}}';
const notice = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';

function print(read: ReadMessage | StreamMark): string {
  if ('head' in read) return read.text;
  return `mark ${read.eventId ?? '-'} ${read.retryMs ?? '-'}`;
}

function listTexts(read: ReadMessages): string[] {
  assert.ok(read.ok, JSON.stringify(read));
  return read.messages.map(print);
}

function readDocument(text: string | Uint8Array): ReadMessages {
  const reader = new DocumentReader();
  const bytes = Buffer.from(text as string);
  // Byte by byte: borders of chunks mean nothing.
  for (let at = 0; at < bytes.length; at += 1) assert.deepEqual(listTexts(reader.push(bytes.subarray(at, at + 1))), []);
  return reader.end();
}

test('a document is not nested without end', () => {
  const nest = (depth: number): string =>
    `{"jsonrpc":"2.0","id":1,"result":{"a":${'['.repeat(depth)}"${'['.repeat(2_000)}"${']'.repeat(depth)}}}`;
  assert.ok(readDocument(nest(510)).ok);
  assert.deepEqual(readDocument(nest(511)), { ok: false, detail: 'sent JSON that is nested more than 512 deep' });
  assert.equal(readDocument(nest(100_000)).ok, false);
  assert.ok(readDocument(`[${Array.from({ length: 90 }, () => nest(10)).join(',')}]`).ok);
});

test('a document is one message, or an array of them, byte for byte', () => {
  const spaced = ` {"jsonrpc":"2.0", "id":"ä", "error":{"code":1.0e0,"message":"x"}}\n`;
  assert.deepEqual(listTexts(readDocument(spaced)), [spaced]);
  assert.deepEqual(listTexts(readDocument(`[${notice}, ${answer}]`)), [notice, answer]);
  const read = readDocument(answer);
  assert.ok(read.ok);
  const head = { kind: 'response', id: '1', method: undefined, isError: false };
  assert.deepEqual(read.messages, [{ text: answer, head, eventId: undefined }]);
});

test('a document that is no message is refused', () => {
  const wrong = [
    '',
    ' ',
    'x',
    '1',
    'null',
    '"x"',
    '{}',
    '[]',
    '[1]',
    `[${answer},{}]`,
    `${answer}${answer}`,
    '{"id":1,"result":{},}',
    '{"id":1,"id":2,"result":{}}',
    '{"id":1,"result":{},"error":{}}',
    '{"id":1.5,"result":{}}',
    '{"id":1,"method":"x","result":{}}',
    '{"Method":"x","id":1,"result":{}}',
    `[${Array.from({ length: 101 }, () => notice).join(',')}]`,
    '['.repeat(100_000),
  ];
  for (const text of wrong) assert.equal(readDocument(text.slice(0, 9_000)).ok, false, text.slice(0, 60));
  const reader = new DocumentReader();
  reader.push(Buffer.from([0x7b, 0xff, 0x7d]));
  assert.equal(reader.end().ok, false);
});

test('a document has a largest size', () => {
  const reader = new DocumentReader();
  const chunk = Buffer.alloc(1024 * 1024, 0x20);
  let read: ReadMessages = { ok: true, messages: [] };
  for (let bytes = 0; bytes <= maxMessageBytes && read.ok; bytes += chunk.length) read = reader.push(chunk);
  assert.equal(read.ok, false);
});

function readEvents(
  text: string,
  chunkSize: number,
): { texts: string[]; ids: (string | undefined)[]; marks: string[]; reader: EventReader } {
  const reader = new EventReader();
  const bytes = Buffer.from(text);
  const texts: string[] = [];
  const ids: (string | undefined)[] = [];
  const marks: string[] = [];
  for (let at = 0; at < bytes.length; at += chunkSize) {
    const read = reader.push(bytes.subarray(at, at + chunkSize));
    assert.ok(read.ok, JSON.stringify(read));
    for (const message of read.messages) {
      if (!('head' in message)) {
        marks.push(print(message));
        continue;
      }
      texts.push(message.text);
      ids.push(message.eventId);
    }
  }
  return { texts, ids, marks, reader };
}

test('events become messages, whatever their line ends and wherever chunks end', () => {
  const stream =
    `\ufeff: beat\n\nid: 1\r\nevent: message\r\ndata: ${notice}\r\n\r\n` +
    `retry: 12\rdata:${answer.slice(0, 17)}\rdata: ${answer.slice(17)}\r\rid: 2\ndata:\n\nevent: other\ndata: x\n\n` +
    `event\nid\ndata: ${answer}\n\ndata: ${notice}\n`;
  for (const size of [1, 2, 7, 1_000]) {
    const { texts, ids, marks, reader } = readEvents(stream, size);
    assert.deepEqual(texts, [notice, `${answer.slice(0, 17)}\n${answer.slice(17)}`, answer]);
    assert.deepEqual(ids, ['1', undefined, undefined]);
    // A beat, a time to wait before a message, a place to go on.
    assert.deepEqual(marks, ['mark - -', 'mark - 12', 'mark 2 -']);
    assert.equal(reader.retryMs, 12);
    assert.equal(reader.lastEventId, undefined);
    // The last event has no blank line.
    assert.deepEqual(listTexts(reader.end()), []);
  }
});

test('an event without data tells where to go on', () => {
  assert.equal(readEvents('id: e-1\ndata: \n\n', 3).reader.lastEventId, 'e-1');
  // What could not be sent back in a header is no place to go on from.
  assert.equal(readEvents('id: \u00e4\ndata: \n\n', 3).reader.lastEventId, undefined);
  assert.equal(readEvents(`id: ${'x'.repeat(1_025)}\n\n`, 100).reader.lastEventId, undefined);
});

test('of several messages in one event the last one has its id: whoever goes on after it misses none', () => {
  const { texts, ids } = readEvents(`id: 7\ndata: [${notice},${answer}]\n\n`, 5);
  assert.deepEqual(texts, [notice, answer]);
  assert.deepEqual(ids, [undefined, '7']);
});

test('events of other types go their own way', () => {
  const others: string[] = [];
  const reader = new EventReader((type, data) => others.push(`${type} ${data}`));
  assert.ok(reader.push(Buffer.from('event: endpoint\ndata: /messages?a=1\n\n')).ok);
  assert.deepEqual(others, ['endpoint /messages?a=1']);
});

test('an event that is no message is refused', () => {
  for (const data of ['x', '{}', '17', '\xff'])
    assert.equal(new EventReader().push(Buffer.from(`data: ${data}\n\n`, 'latin1')).ok, false, data);
});
