// RSA keys for tests. To make one takes a tenth of a second, and hundreds of tests want some: a process makes a few and hands them out in turn, so that those
// that a test gets one after the other are different.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';

interface RsaKeys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const most = 8;
const pairs: RsaKeys[] = [];
let next = 0;

/** A key pair of 2048 bits that is not the one before. */
export function takeRsaKeys(): RsaKeys {
  const index = next++ % most;
  return (pairs[index] ??= generateKeyPairSync('rsa', { modulusLength: 2048 }));
}
