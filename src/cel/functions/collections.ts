// size().
import { anyList, anyMap, bytesType, intType, stringType } from '../cel-type.ts';
import type { Frame } from '../frame.ts';
import type { Result } from '../values.ts';
import { method, overload, type FunctionTable } from './overload.ts';

export const collections: FunctionTable = {
  size: [overload, method].flatMap((declare) => [
    declare([stringType], intType, countCharacters),
    declare([anyList], intType, ({ size }) => BigInt(size)),
    declare([anyMap], intType, ({ size }, frame) => {
      frame.spendKeys(size);
      return BigInt(size);
    }),
    declare([bytesType], intType, ({ length }) => BigInt(length)),
  ]),
};

/** Code points: a pair of surrogates is one character. */
function countCharacters(text: string, frame: Frame): Result {
  frame.spendTextWork(1 + text.length / 8);
  let count = text.length;
  for (let at = 0; at < text.length - 1; at += 1) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
      count -= 1;
      at += 1;
    }
  }
  return BigInt(count);
}
