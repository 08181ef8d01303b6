// Makes pictures of pages small enough for the docs: a page has few colours, and a PNG with a palette needs a third of the bytes.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const maxColours = 256;

interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of each pixel, in one number. */
  readonly pixels: Uint32Array;
}

/** The same picture with at most 256 colours: those that it uses most; each other one becomes the nearest of them. */
export function shrinkPng(png: Buffer): Buffer {
  const { width, height, pixels } = readPng(png);
  const palette = choosePalette(pixels);
  const nearest = createMatcher(palette);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = nearest(pixels[y * width + x]!);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits per pixel, with a palette.
  header.set([8, 3], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 0xff, colour & 0xff]));
  return Buffer.concat([
    signature,
    writeChunk('IHDR', header),
    writeChunk('PLTE', colours),
    writeChunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    writeChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Reads what Chromium writes: eight bits per channel, RGB or RGBA, not interlaced. */
function readPng(png: Buffer): Picture {
  let width = 0;
  let height = 0;
  let channels = 0;
  const data: Buffer[] = [];
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const content = png.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') {
      width = content.readUInt32BE(0);
      height = content.readUInt32BE(4);
      channels = content[9] === 6 ? 4 : 3;
    }
    if (type === 'IDAT') data.push(content);
    at += length + 12;
  }
  const rows = removeFilters(inflateSync(Buffer.concat(data)), width * channels, height, channels);
  const pixels = new Uint32Array(width * height);
  for (let index = 0; index < pixels.length; index += 1) {
    const at = index * channels;
    pixels[index] = (rows[at]! << 16) | (rows[at + 1]! << 8) | rows[at + 2]!;
  }
  return { width, height, pixels };
}

/** PNG (third edition), 9.2: every row says how its bytes were predicted from those before. */
function removeFilters(data: Buffer, stride: number, height: number, channels: number): Uint8Array {
  const rows = new Uint8Array(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (stride + 1)]!;
    for (let x = 0; x < stride; x += 1) {
      const left = x < channels ? 0 : rows[y * stride + x - channels]!;
      const up = y === 0 ? 0 : rows[(y - 1) * stride + x]!;
      const corner = x < channels || y === 0 ? 0 : rows[(y - 1) * stride + x - channels]!;
      const predicted = [0, left, up, (left + up) >> 1, predict(left, up, corner)][filter]!;
      rows[y * stride + x] = data[y * (stride + 1) + 1 + x]! + predicted;
    }
  }
  return rows;
}

function predict(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [toLeft, toUp, toCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

function choosePalette(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  return [...counts]
    .toSorted((one, other) => other[1] - one[1])
    .slice(0, maxColours)
    .map(([colour]) => colour);
}

function createMatcher(palette: readonly number[]): (colour: number) => number {
  const known = new Map(palette.map((colour, index) => [colour, index]));
  return (colour) => {
    const found = known.get(colour);
    if (found !== undefined) return found;
    let best = 0;
    for (let index = 1; index < palette.length; index += 1)
      if (measure(palette[index]!, colour) < measure(palette[best]!, colour)) best = index;
    known.set(colour, best);
    return best;
  };
}

function measure(one: number, other: number): number {
  return [16, 8, 0].reduce((sum, shift) => sum + (((one >> shift) & 0xff) - ((other >> shift) & 0xff)) ** 2, 0);
}

function writeChunk(type: string, content: Buffer): Buffer {
  const chunk = Buffer.alloc(content.length + 12);
  chunk.writeUInt32BE(content.length, 0);
  chunk.write(type, 4, 'latin1');
  content.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, content.length + 8)), content.length + 8);
  return chunk;
}
