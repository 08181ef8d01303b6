import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { connect, type ConnectionOptions } from 'node:tls';
import * as fc from 'fast-check';
import { readClientHello } from './client-hello.ts';

/** What a real client sends first. */
function captureHello(options: ConnectionOptions): Promise<Buffer> {
  return new Promise((resolve) => {
    const stream = new Duplex({ read: () => {}, write: (chunk: Buffer) => resolve(chunk) });
    const socket = connect({ socket: stream, ...options });
    socket.on('error', () => {});
  });
}

/** The same handshake message in records of one fragment size. */
function splitRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let start = 0; start < message.length; start += size) {
    const fragment = message.subarray(start, start + size);
    records.push(Buffer.from([22, 3, 1, fragment.length >> 8, fragment.length & 0xff]), fragment);
  }
  return Buffer.concat(records);
}

const named = await captureHello({ servername: 'WWW.Example.test', ALPNProtocols: ['h2', 'http/1.1'] });
const unnamed = await captureHello({ servername: '' });
const old = await captureHello({ servername: 'old.test', maxVersion: 'TLSv1.2' });

test('finds the server name, in lower case', () => {
  assert.deepEqual(readClientHello(named), { kind: 'complete', serverName: 'www.example.test' });
  assert.deepEqual(readClientHello(old), { kind: 'complete', serverName: 'old.test' });
  assert.deepEqual(readClientHello(unnamed), { kind: 'complete', serverName: undefined });
});

test('every beginning of a hello is incomplete', () => {
  for (let length = 0; length < named.length; length += 1) {
    assert.deepEqual(readClientHello(named.subarray(0, length)), { kind: 'incomplete' }, `${length} bytes`);
  }
});

test('a hello may be split over records, and more may follow it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 600 }), (size) => {
      const split = splitRecords(named, size);
      assert.deepEqual(readClientHello(split), { kind: 'complete', serverName: 'www.example.test' });
      const more = Buffer.concat([split, Buffer.from([22, 3, 1])]);
      assert.deepEqual(readClientHello(more), { kind: 'complete', serverName: 'www.example.test' });
    }),
  );
});

test('what is no ClientHello is invalid at once', () => {
  for (const text of [
    'GET / HTTP/1.1\r\n',
    '\x16\x02',
    '\x15\x03\x01\x00\x02\x02\x28',
    '\x16\x03\x01\x00\x00',
    '\x16\x03\x01\xff\xff',
  ]) {
    assert.deepEqual(readClientHello(Buffer.from(text, 'latin1')), { kind: 'invalid' });
  }
  // A ServerHello, and one that claims to be huge.
  assert.deepEqual(readClientHello(Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])), { kind: 'invalid' });
  assert.deepEqual(readClientHello(Buffer.from([22, 3, 1, 0, 4, 1, 255, 255, 255])), { kind: 'invalid' });
});

test('damaged bytes give a verdict, never an exception', () => {
  const damage = fc.array(fc.tuple(fc.nat({ max: named.length - 1 }), fc.nat({ max: 255 })), { minLength: 1 });
  fc.assert(
    fc.property(damage, (changes) => {
      const damaged = Buffer.from(named);
      for (const [position, value] of changes) damaged[position] = value;
      assert.ok(['incomplete', 'complete', 'invalid'].includes(readClientHello(damaged).kind));
    }),
    { numRuns: 1_000 },
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      readClientHello(Buffer.from(bytes));
    }),
  );
});
