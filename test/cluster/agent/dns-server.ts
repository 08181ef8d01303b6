// Answers DNS (RFC 1035) for pods: names of Services, and NXDOMAIN for everything else at once, so that no test waits for a
// resolver that is not there.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { ServiceNames } from './service-names.ts';

const typeA = 1;
const classInternet = 1;

/** A question of a resolver. */
interface Question {
  readonly name: string;
  readonly type: number;
  /** Header and question as they came. */
  readonly bytes: Buffer;
}

/** Listens on an address; `readNames` is asked for every question. */
export async function startDnsServer(address: string, readNames: () => ServiceNames): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const question = parseQuestion(message);
    if (question !== undefined)
      socket.send(formatAnswer(question, readNames().get(question.name)), from.port, from.address);
  });
  socket.bind(53, address);
  await once(socket, 'listening');
  return socket;
}

/** Reads the first question; undefined when it is none. */
export function parseQuestion(message: Buffer): Question | undefined {
  if (message.length < 17 || message.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = 12;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63 || at + length + 5 > message.length) return undefined;
    at += 1;
    if (length === 0) break;
    labels.push(message.toString('latin1', at, at + length).toLowerCase());
    at += length;
  }
  return { name: labels.join('.'), type: message.readUInt16BE(at), bytes: message.subarray(0, at + 4) };
}

/** The answer: addresses, nothing of the asked type, or no such name. */
export function formatAnswer(question: Question, addresses: readonly string[] | undefined): Buffer {
  const records = question.type === typeA ? (addresses ?? []) : [];
  const head = Buffer.from(question.bytes);
  const recursionDesired = (head[2] ?? 0) & 1;
  const noSuchName = addresses === undefined ? 3 : 0;
  // Response, authoritative, recursion available.
  head.writeUInt16BE(0x8480 | (recursionDesired << 8) | noSuchName, 2);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...records.map((address) => formatRecord(address))]);
}

function formatRecord(address: string): Buffer {
  const record = Buffer.alloc(16);
  // The name is the one of the question, which begins at byte 12.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(typeA, 2);
  record.writeUInt16BE(classInternet, 4);
  record.writeUInt32BE(1, 6);
  record.writeUInt16BE(4, 10);
  record.set(address.split('.').map(Number), 12);
  return record;
}
