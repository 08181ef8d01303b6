// HTTP/2 frames (RFC 9113) and header blocks (RFC 7541) by hand: node's own client refuses to send what an attacker would.
import type { TestContext } from 'node:test';
import { connectWire, type WireClient } from './wire-client.ts';
import { waitFor } from '../kit/wait-for.ts';

export const frameTypes = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  continuation: 9,
} as const;

export const endStream = 0x1;
export const endHeaders = 0x4;

/** One frame. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** Writes a frame. */
export function writeFrame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** Writes header fields as they are: no check, no compression, no entry in the table. */
export function writeFields(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), writeString(name), writeString(value)]));
}

/** A field that goes into the receiver's table as its newest entry, where one byte (0xbe) names it from then on. */
export function writeIndexedField(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0x40]), writeString(name), writeString(value)]);
}

function writeString(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  const prefix: number[] = [];
  if (bytes.length < 127) {
    prefix.push(bytes.length);
  } else {
    prefix.push(127);
    let left = bytes.length - 127;
    for (; left >= 128; left = Math.floor(left / 128)) prefix.push((left % 128) + 128);
    prefix.push(left);
  }
  return Buffer.concat([Buffer.from(prefix), bytes]);
}

/** The pseudo-header fields of a GET or POST. */
export function pseudoFields(method: string, path: string): [string, string][] {
  return [
    [':method', method],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
  ];
}

/** A connection that has said hello. */
export interface Http2Wire {
  readonly wire: WireClient;
  readonly frames: readonly Frame[];
  /** What came as DATA on a stream. */
  readData(streamId: number): string;
  /** Resolves when the stream was reset or has ended, or the connection is over. */
  waitForStreamEnd(streamId: number): Promise<true>;
  hasFrame(type: number, streamId?: number): boolean;
}

/** Connects with prior knowledge. */
export async function connectHttp2Wire(t: TestContext, port: number): Promise<Http2Wire> {
  const wire = await connectWire(t, port);
  const frames: Frame[] = [];
  let pending = Buffer.alloc(0);
  wire.socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 9) {
      const length = pending.readUIntBE(0, 3);
      if (pending.length < 9 + length) return;
      frames.push({
        type: pending.readUInt8(3),
        flags: pending.readUInt8(4),
        streamId: pending.readUInt32BE(5),
        payload: Buffer.from(pending.subarray(9, 9 + length)),
      });
      pending = pending.subarray(9 + length);
    }
  });
  wire.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  wire.send(writeFrame(frameTypes.settings, 0, 0, Buffer.alloc(0)));
  await waitFor(() => frames.some(({ type }) => type === frameTypes.settings));
  wire.send(writeFrame(frameTypes.settings, 1, 0, Buffer.alloc(0)));
  const hasFrame = (type: number, streamId?: number): boolean =>
    frames.some((frame) => frame.type === type && (streamId === undefined || frame.streamId === streamId));
  return {
    wire,
    frames,
    hasFrame,
    readData: (streamId) =>
      Buffer.concat(
        frames
          .filter((frame) => frame.type === frameTypes.data && frame.streamId === streamId)
          .map(({ payload }) => payload),
      ).toString('latin1'),
    waitForStreamEnd: (streamId) =>
      waitFor(
        () =>
          wire.closed ||
          hasFrame(frameTypes.goaway) ||
          frames.some(
            (frame) =>
              frame.streamId === streamId &&
              (frame.type === frameTypes.rstStream ||
                ((frame.type === frameTypes.data || frame.type === frameTypes.headers) &&
                  (frame.flags & endStream) !== 0)),
          ),
      ),
  };
}
