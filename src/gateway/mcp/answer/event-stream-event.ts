// One event of an event stream: its lines, the data in them, and the same event with other data.

/** The lines of an event with their line ends, byte for byte as latin1. */
export type EventLines = readonly string[];

const noBytes = new Uint8Array(0);
const byteOrderMark = '\u00ef\u00bb\u00bf';
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Takes an event apart. A line without an end can only be the last one of a stream that broke off. */
export function splitEventLines(event: string): EventLines {
  const lines: string[] = [];
  const lineEnd = /\r\n|\r|\n/g;
  let start = 0;
  for (let found = lineEnd.exec(event); found !== null; found = lineEnd.exec(event)) {
    lines.push(event.slice(start, lineEnd.lastIndex));
    start = lineEnd.lastIndex;
  }
  if (start < event.length) lines.push(event.slice(start));
  return lines;
}

/** The data of an event as bytes; undefined when it has none. `isFirst`: the stream begins with it, perhaps with a byte order mark. */
export function readEventData(lines: EventLines, isFirst: boolean): string | undefined {
  let data: string | undefined;
  for (const [index, line] of lines.entries()) {
    const value = readDataLine(line, isFirst && index === 0);
    if (value !== undefined) data = data === undefined ? value : `${data}\n${value}`;
  }
  return data;
}

/** Bytes as text; undefined when they are not UTF-8. */
export function decodeData(data: string): string | undefined {
  try {
    return utf8.decode(Buffer.from(data, 'latin1'));
  } catch {
    return undefined;
  }
}

/**
 * The event with this text as its data and all other fields unchanged. Without data, an event carries only its id and its retry time, which
 * clients use to resume. If it has neither, the whole event is removed: some clients take even a lone blank line for an event with data
 * that is not JSON.
 */
export function replaceEventData(lines: EventLines, isFirst: boolean, text: string | undefined): Uint8Array {
  if (text === undefined && !lines.some((line) => /^(?:\xef\xbb\xbf)?(?:id|retry)[:\r\n]/.test(line))) return noBytes;
  let replaced = '';
  let isWritten = false;
  for (const [index, line] of lines.entries()) {
    const isBeginning = isFirst && index === 0;
    if (readDataLine(line, isBeginning) === undefined) {
      replaced += line;
      continue;
    }
    if (isBeginning && line.startsWith(byteOrderMark)) replaced += byteOrderMark;
    if (isWritten || text === undefined) continue;
    isWritten = true;
    const end = /[\r\n]*$/.exec(line.slice(-2))![0];
    const bytes = Buffer.from(text).toString('latin1');
    replaced += `data: ${bytes.replaceAll('\n', `${end || '\n'}data: `)}${end}`;
  }
  return Buffer.from(replaced, 'latin1');
}

function readDataLine(line: string, isBeginning: boolean): string | undefined {
  const start = isBeginning && line.startsWith(byteOrderMark) ? byteOrderMark.length : 0;
  if (!line.startsWith('data', start)) return undefined;
  const text = line.slice(start + 'data'.length, line.length - countLineEnd(line));
  if (text === '') return '';
  if (!text.startsWith(':')) return undefined;
  return text.startsWith(': ') ? text.slice(2) : text.slice(1);
}

function countLineEnd(line: string): number {
  if (line.endsWith('\r\n')) return 2;
  return line.endsWith('\n') || line.endsWith('\r') ? 1 : 0;
}
