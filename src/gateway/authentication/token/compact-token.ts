// The parts of a token in compact serialization (RFC 7515).
import type { JsonObject } from '../../../base/json-object.ts';
import type { Algorithm } from './algorithms.ts';

/** A token whose form is right. Nothing in it has been verified. */
export interface CompactToken {
  readonly algorithm: Algorithm;
  readonly keyId: string | undefined;
  /** `typ` in lower case, without `application/`; undefined: the header has none. */
  readonly type?: string | undefined;
  readonly claims: JsonObject;
  /** What the signature is over. */
  readonly signingInput: string;
  readonly signature: Buffer;
}
