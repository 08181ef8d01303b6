// Runs streams through the reader of src/http1 and the referee, and says where they disagree. Stream number n of a seed is always the same.
import { createSeededRandom } from '../security/seeded-random.ts';
import { mutateStream } from './http1-mutations.ts';
import { findSwitch, readByOwnReader } from './http1-own-reader.ts';
import type { WireStream } from './http1-reading.ts';
import { findAcceptedDifference, findRefusal, findSplitDifference } from './http1-judge.ts';
import { Referee } from './http1-referee.ts';
import { drawValidStream } from './http1-streams.ts';

/** A stream that breaks the property. */
export interface FuzzFailure {
  readonly seed: number;
  readonly index: number;
  readonly problem: string;
  readonly stream: WireStream;
}

/** What was seen, to be added up. */
export interface FuzzCounts {
  streams: number;
  /** Messages that both read in the same way. */
  messages: number;
  /** Streams as the grammar has them: all of them accepted. */
  valid: number;
  /** Streams that the reader refused, and the referee as well. */
  refusedByBoth: number;
  /** Streams of which the referee would have read more, by why the reader did not. */
  stricter: Record<string, number>;
}

const referee = new Referee();

/** Everything that can be said about one stream: undefined when the property holds. */
export function findProblem(
  stream: WireStream,
  isValid: boolean,
  seed: number,
  counts?: FuzzCounts,
): string | undefined {
  try {
    return examine(stream, isValid, seed, counts);
  } catch (error) {
    return `threw ${String(error)}`;
  }
}

function examine(stream: WireStream, isValid: boolean, seed: number, counts?: FuzzCounts): string | undefined {
  const random = createSeededRandom(seed);
  const whole = readByOwnReader(stream, { kind: 'whole' });
  const judged = referee.read(stream);
  const difference = findAcceptedDifference(stream.kind, whole, judged);
  if (difference !== undefined) return difference;
  const inPieces = findSplitDifference(whole, readByOwnReader(stream, { kind: 'pieces', random }));
  if (inPieces !== undefined) return inPieces;
  // Where each message ends, which takes much longer.
  if (stream.bytes.length < 200 || seed % 8 === 0) {
    const byBytes = readByOwnReader(stream, { kind: 'byte by byte' });
    const problem =
      findSplitDifference(whole, byBytes) ?? findAcceptedDifference(stream.kind, byBytes, referee.read(stream, true));
    if (problem !== undefined) return `byte by byte: ${problem}`;
  }
  // Without a word about HEAD, which does not matter as long as the first message is looked at.
  if (whole.messages[0]?.switches === true) {
    const at = findSwitch(stream, random);
    const { end } = referee.read(stream, true).messages[0]!;
    if (at !== end) return `another protocol begins at ${at}, for the referee at ${end}`;
  }
  // Limits that this stream is likely to break: wherever it is cut, they break at the same message.
  if (seed % 8 === 1) {
    const limits = { maxHeaderBytes: 20 + random.below(300), maxHeaderCount: 1 + random.below(6) };
    const limited = readByOwnReader(stream, { kind: 'whole' }, limits);
    const problem =
      findAcceptedDifference(stream.kind, limited, judged) ??
      findSplitDifference(limited, readByOwnReader(stream, { kind: 'pieces', random }, limits)) ??
      findSplitDifference(limited, readByOwnReader(stream, { kind: 'byte by byte' }, limits));
    if (problem !== undefined) return `at most ${limits.maxHeaderBytes} bytes: ${problem}`;
  }
  const refusal = isValid ? findRefusal(whole, judged) : undefined;
  if (refusal !== undefined) return refusal;
  if (counts !== undefined) {
    counts.messages += whole.messages.length;
    if (isValid) counts.valid += 1;
    if (whole.outcome === 'refused') {
      if (judged.messages.length > whole.messages.length) {
        const why = whole.error ?? '';
        counts.stricter[why] = (counts.stricter[why] ?? 0) + 1;
      } else if (judged.outcome === 'refused') {
        counts.refusedByBoth += 1;
      }
    }
  }
  return undefined;
}

/** A seed for each stream, far apart from that of its neighbours. */
export function mixSeed(seed: number, index: number): number {
  let mixed = Math.imul((seed ^ 0x9e3779b9) >>> 0, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x27d4eb2f);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

/** Draws stream number `index` of a seed: one in four is valid as it is, and the others are changed. */
export function drawStream(seed: number, index: number): { readonly stream: WireStream; readonly isValid: boolean } {
  const random = createSeededRandom(mixSeed(seed, index));
  const stream = drawValidStream(random);
  if (index % 4 === 0) return { stream, isValid: true };
  return { stream: mutateStream(random, stream, drawValidStream(random)), isValid: false };
}

/** Runs one of them. */
export function fuzzOne(seed: number, index: number, counts: FuzzCounts): FuzzFailure | undefined {
  const { stream, isValid } = drawStream(seed, index);
  counts.streams += 1;
  const problem = findProblem(stream, isValid, mixSeed(seed, index), counts);
  return problem === undefined ? undefined : { seed, index, problem, stream };
}

/** Nothing seen yet. */
export function createCounts(): FuzzCounts {
  return { streams: 0, messages: 0, valid: 0, refusedByBoth: 0, stricter: {} };
}

/** Adds what another run has seen. */
export function addCounts(to: FuzzCounts, from: FuzzCounts): void {
  to.streams += from.streams;
  to.messages += from.messages;
  to.valid += from.valid;
  to.refusedByBoth += from.refusedByBoth;
  for (const [why, count] of Object.entries(from.stricter)) to.stricter[why] = (to.stricter[why] ?? 0) + count;
}
