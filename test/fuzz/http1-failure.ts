// Tells a failure of the fuzzer so that somebody can work with it: as few bytes as it takes, and what both readers made of them.
import { drawStream, findProblem, type FuzzFailure, mixSeed } from './http1-fuzz.ts';
import { readByOwnReader } from './http1-own-reader.ts';
import { escapeBytes, type WireStream } from './http1-reading.ts';
import { Referee } from './http1-referee.ts';

/** A failure as it is told: the shortest stream that still breaks the property, how both read it, and how to see it again. */
export function describeFailure(failure: FuzzFailure): string {
  const { stream, isValid } = drawStream(failure.seed, failure.index);
  const seed = mixSeed(failure.seed, failure.index);
  const bytes = isValid ? stream.bytes : minimise(stream, (shorter) => findProblem(shorter, false, seed));
  const small = { ...stream, bytes };
  return [
    `stream ${failure.index} of seed ${failure.seed} (again: npm run fuzz -- --seed ${failure.seed} --from ${failure.index} --streams 1)`,
    `${stream.kind}${stream.methods.length > 0 ? ` to ${stream.methods.join(', ')}` : ''}: ${failure.problem}`,
    `  as it was: ${escapeBytes(stream.bytes)}`,
    `  minimised: ${escapeBytes(bytes)}`,
    `  then: ${findProblem(small, isValid, seed) ?? 'nothing'}`,
    `  reader:  ${JSON.stringify(readOrThrow(small))}`,
    `  referee: ${JSON.stringify(new Referee().read(small))}`,
  ].join('\n');
}

function readOrThrow(stream: WireStream): unknown {
  try {
    return readByOwnReader(stream, { kind: 'whole' });
  } catch (error) {
    return String(error);
  }
}

/** Takes out pieces, large ones first, as long as there is still the same kind of problem. */
export function minimise(stream: WireStream, find: (stream: WireStream) => string | undefined): string {
  // The words without what was read and where.
  const findKind = (bytes: string): string | undefined => find({ ...stream, bytes })?.replaceAll(/".*"|\d+/g, '');
  let { bytes } = stream;
  const kind = findKind(bytes);
  for (let size = Math.ceil(bytes.length / 2); size >= 1;) {
    let hasShrunk = false;
    for (let at = 0; at < bytes.length;) {
      const shorter = bytes.slice(0, at) + bytes.slice(at + size);
      if (findKind(shorter) === kind) {
        bytes = shorter;
        hasShrunk = true;
      } else {
        at += size;
      }
    }
    if (size > 1) size = Math.floor(size / 2);
    else if (!hasShrunk) break;
  }
  return bytes;
}
