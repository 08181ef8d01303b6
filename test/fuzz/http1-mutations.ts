// Changes to a valid stream, each of the kind by which somebody once got a request past somebody else's parser.
import type { SeededRandom } from '../security/seeded-random.ts';
import { wholeStreams } from './http1-attacks.ts';
import { drawCase } from './http1-grammar.ts';
import type { WireStream } from './http1-reading.ts';
import { lengthFields, chunkLines, codingFields, headTricks } from './http1-tricks.ts';

type Mutation = (random: SeededRandom, bytes: string) => string;

const oddBytes = [
  '\r',
  '\n',
  '\r\n',
  '\n\r',
  '\0',
  '\t',
  ' ',
  ':',
  ',',
  ';',
  '=',
  '"',
  '\\',
  '\v',
  '\f',
  '\x1f',
  '\x7f',
];
const highBytes = ['\x80', '\x85', '\xa0', '\xad', '\xe9', '\xff'];

function cut(bytes: string, from: number, to: number, instead: string): string {
  return bytes.slice(0, from) + instead + bytes.slice(to);
}

/** Where something may be put; half of the time beside a delimiter, where it hurts most. */
function drawPlace(random: SeededRandom, bytes: string): number {
  const any = random.below(bytes.length + 1);
  if (random.below(2) === 0) return any;
  const delimiter = random.pick(['\r\n', '\r\n', '\r\n\r\n', ':', ' ', ';', ',', 'HTTP/', 'chunked', '0']);
  const found = bytes.indexOf(delimiter, any);
  const at = found === -1 ? bytes.indexOf(delimiter) : found;
  return at === -1 ? any : at + random.below(delimiter.length + 1);
}

/** Start and end of a line, with its CRLF. */
function drawLine(random: SeededRandom, bytes: string): readonly [number, number] {
  const at = random.below(bytes.length + 1);
  const start = at === 0 ? 0 : bytes.lastIndexOf('\n', at - 1) + 1;
  const end = bytes.indexOf('\n', at);
  return [start, end === -1 ? bytes.length : end + 1];
}

/** The place behind the start line of a message, where a field can stand. */
function drawFieldPlace(random: SeededRandom, bytes: string): number {
  const heads = [...bytes.matchAll(/HTTP\/\d\.\d\r\n|HTTP\/\d\.\d \d{3}[^\r\n]*\r\n/g)];
  if (heads.length === 0) return drawPlace(random, bytes);
  const head = random.pick(heads);
  let at = head.index + head[0].length;
  // Behind one of the fields that follow.
  for (let left = random.below(4); left > 0; left -= 1) {
    const end = bytes.indexOf('\r\n', at);
    if (end <= at) break;
    at = end + 2;
  }
  return at;
}

function insertField(random: SeededRandom, bytes: string, fields: readonly string[]): string {
  const at = drawFieldPlace(random, bytes);
  return cut(bytes, at, at, `${random.pick(fields)}\r\n`);
}

/** Takes the place of what a pattern finds. */
function replaceOne(
  random: SeededRandom,
  bytes: string,
  pattern: RegExp,
  instead: readonly string[],
): string | undefined {
  const matches = [...bytes.matchAll(pattern)];
  if (matches.length === 0) return undefined;
  const { 0: found, index } = random.pick(matches);
  return cut(bytes, index, index + found.length, random.pick(instead));
}

const mutations: readonly Mutation[] = [
  function flipBit(random, bytes) {
    const at = random.below(bytes.length);
    return cut(bytes, at, at + 1, String.fromCharCode(bytes.charCodeAt(at) ^ (1 << random.below(8))));
  },
  function insertOddByte(random, bytes) {
    const at = drawPlace(random, bytes);
    return cut(bytes, at, at, random.pick(random.below(6) === 0 ? highBytes : oddBytes));
  },
  function replaceByOddByte(random, bytes) {
    const at = drawPlace(random, bytes);
    return cut(bytes, at, at + 1, random.pick(random.below(6) === 0 ? highBytes : oddBytes));
  },
  function removeBytes(random, bytes) {
    const at = drawPlace(random, bytes);
    return cut(bytes, at, at + 1 + random.below(3), '');
  },
  function repeatBytes(random, bytes) {
    const at = drawPlace(random, bytes);
    return cut(bytes, at, at, bytes.slice(at, at + 1 + random.below(6)));
  },
  function swapBytes(_random, bytes) {
    const at = drawPlace(_random, bytes);
    return cut(bytes, at, at + 2, bytes.slice(at + 1, at + 2) + bytes.slice(at, at + 1));
  },
  function repeatLine(random, bytes) {
    const [start, end] = drawLine(random, bytes);
    return cut(bytes, end, end, bytes.slice(start, end));
  },
  function removeLine(random, bytes) {
    const [start, end] = drawLine(random, bytes);
    return cut(bytes, start, end, '');
  },
  function moveLine(random, bytes) {
    const [start, end] = drawLine(random, bytes);
    const without = cut(bytes, start, end, '');
    const [at] = drawLine(random, without);
    return cut(without, at, at, bytes.slice(start, end));
  },
  function changeCaseOfLine(random, bytes) {
    const [start, end] = drawLine(random, bytes);
    return cut(bytes, start, end, drawCase(random, bytes.slice(start, end)));
  },
  function changeLineEnd(random, bytes) {
    return (
      replaceOne(random, bytes, /\r\n/g, ['\n', '\r', '\r\r\n', '\n\r', '\r\n ', '\r\n\t', '', '\r\n\r\n']) ?? bytes
    );
  },
  function insertLength(random, bytes) {
    return insertField(random, bytes, lengthFields);
  },
  function insertCoding(random, bytes) {
    return insertField(random, bytes, codingFields);
  },
  function insertHeadTrick(random, bytes) {
    return insertField(random, bytes, headTricks);
  },
  function replaceLength(random, bytes) {
    return (
      replaceOne(random, bytes, /content-length:[^\r\n]*/gi, lengthFields) ?? insertField(random, bytes, lengthFields)
    );
  },
  function replaceCoding(random, bytes) {
    return (
      replaceOne(random, bytes, /transfer-encoding:[^\r\n]*/gi, codingFields) ??
      insertField(random, bytes, codingFields)
    );
  },
  function replaceChunkLine(random, bytes) {
    return replaceOne(random, bytes, /(?<=\r\n)[0-9a-f]+(?:;[^\r\n]*)?\r\n/gi, chunkLines) ?? bytes;
  },
  function replaceVersion(random, bytes) {
    const versions = [
      'HTTP/1.0',
      'HTTP/1.1',
      'HTTP/0.9',
      'HTTP/1.2',
      'HTTP/2.0',
      'HTTP/1.10',
      'HTTP/1',
      'http/1.1',
      'RTSP/1.0',
      'ICE/1.0',
      'HTTP/01.1',
    ];
    return replaceOne(random, bytes, /HTTP\/1\.[01]/g, versions) ?? bytes;
  },
  function replaceStatus(random, bytes) {
    const statuses = [
      '100',
      '101',
      '102',
      '103',
      '104',
      '199',
      '200',
      '204',
      '205',
      '304',
      '99',
      '000',
      '1000',
      '20',
      '2 0',
      '+20',
      '600',
      '999',
      ' 200',
      '200x',
    ];
    return replaceOne(random, bytes, /(?<=HTTP\/1\.[01] )\d{3}/g, statuses) ?? bytes;
  },
  function replaceMethod(random, bytes) {
    const methods = [
      'CONNECT',
      'PRI',
      'get',
      'Get',
      'GET ',
      'HTTP/1.1',
      'GE',
      'GETX',
      'M-SEARCH',
      'SOURCE',
      'DESCRIBE',
      'FLUSH',
      '',
      'X:Y',
    ];
    return replaceOne(random, bytes, /(?<=^|\r\n)[A-Z-]+(?= [^\r\n]* HTTP\/)/g, methods) ?? bytes;
  },
  function truncate(random, bytes) {
    return bytes.slice(0, drawPlace(random, bytes));
  },
  function dropFront(random, bytes) {
    return bytes.slice(drawPlace(random, bytes));
  },
  function insertTrick(random, bytes) {
    const at = drawPlace(random, bytes);
    return cut(bytes, at, at, random.pick(wholeStreams));
  },
];

/** A valid stream with one to four changes, or two that were put together, or a known trick with something around it. */
export function mutateStream(random: SeededRandom, stream: WireStream, other: WireStream): WireStream {
  let bytes = stream.bytes;
  const kind = random.below(20);
  if (kind === 0) bytes = bytes.slice(0, drawPlace(random, bytes)) + other.bytes.slice(drawPlace(random, other.bytes));
  else if (kind === 1) bytes = random.pick(wholeStreams) + (random.below(2) === 0 ? bytes : '');
  if (kind !== 1 || random.below(2) === 0) {
    for (let left = random.pick([1, 1, 1, 2, 2, 3, 4]); left > 0 && bytes !== ''; left -= 1)
      bytes = random.pick(mutations)(random, bytes);
  }
  const methods = random.below(20) === 0 ? stream.methods.map(() => random.pick(['GET', 'HEAD'])) : stream.methods;
  return { kind: stream.kind, bytes, methods };
}
