// Reads what a 64-bit little-endian ELF file says about itself: its loader, the libraries that it needs, and how much of it is ever loaded.

/** What is in the file. */
export interface ElfFile {
  /** The loader, for a program: `/lib64/ld-linux-x86-64.so.2`. */
  readonly interpreter: string | undefined;
  /** The libraries that it names, by their names without a folder. */
  readonly needed: readonly string[];
  /** The end of the last part that is loaded into memory. The rest is for debuggers. */
  readonly loadedEnd: number;
}

const segmentTypes = { load: 1, dynamic: 2, interpreter: 3 } as const;
const tags = { end: 0, needed: 1, stringTable: 5 } as const;
const programHeaderSize = 56;
const dynamicEntrySize = 16;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Reads the file; throws when it is something else. */
export function readElf(bytes: Buffer): ElfFile {
  const isElf64 = bytes.length >= 64 && bytes.readUInt32BE(0) === 0x7f_45_4c_46 && bytes[4] === 2 && bytes[5] === 1;
  if (!isElf64) throw new Error('not a 64-bit little-endian ELF file');
  const segments = readSegments(bytes);
  const interpreter = segments.find(({ type }) => type === segmentTypes.interpreter);
  return {
    interpreter: interpreter === undefined ? undefined : readString(bytes, interpreter.offset),
    needed: readNeeded(bytes, segments),
    loadedEnd: Math.max(
      ...segments.filter(({ type }) => type === segmentTypes.load).map(({ offset, size }) => offset + size),
    ),
  };
}

/**
 * The same program without what is never loaded: symbols and debug information, a fifth of Node. The table of sections is gone with
 * them, which programs do not need to run.
 */
export function withoutDebugSections(bytes: Buffer): Buffer {
  const kept = Buffer.from(bytes.subarray(0, readElf(bytes).loadedEnd));
  kept.writeBigUInt64LE(0n, 0x28); // Where the table of sections begins.
  kept.writeUInt16LE(0, 0x3c); // How many there are.
  kept.writeUInt16LE(0, 0x3e); // Which of them has their names.
  return kept;
}

function readSegments(bytes: Buffer): readonly Segment[] {
  const [start, count] = [readNumber(bytes, 0x20), bytes.readUInt16LE(0x38)];
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * programHeaderSize;
    return {
      type: bytes.readUInt32LE(at),
      offset: readNumber(bytes, at + 8),
      address: readNumber(bytes, at + 16),
      size: readNumber(bytes, at + 32),
    };
  });
}

function readNeeded(bytes: Buffer, segments: readonly Segment[]): readonly string[] {
  const dynamic = segments.find(({ type }) => type === segmentTypes.dynamic);
  if (dynamic === undefined) return [];
  const names: number[] = [];
  let strings = 0;
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += dynamicEntrySize) {
    const [tag, value] = [readNumber(bytes, at), bytes.readBigUInt64LE(at + 8)];
    if (tag === tags.end) break;
    if (tag === tags.needed) names.push(Number(value));
    if (tag === tags.stringTable) strings = locate(segments, Number(value));
  }
  return names.map((name) => readString(bytes, strings + name));
}

/** Where in the file an address of the loaded program is. */
function locate(segments: readonly Segment[], address: number): number {
  const segment = segments.find(
    (each) => each.type === segmentTypes.load && address >= each.address && address < each.address + each.size,
  );
  if (segment === undefined) throw new Error(`no part of the file is loaded at ${address.toString(16)}`);
  return address - segment.address + segment.offset;
}

function readNumber(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}

function readString(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', at, bytes.indexOf(0, at));
}
