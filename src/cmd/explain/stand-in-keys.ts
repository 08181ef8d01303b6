// Keys in place of those of an issuer that is not contacted: tokens are signed again with them, so that the gateway's own code judges everything
// else about a token exactly as it would. They are made anew in every process, and leave it in no form.
import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isJsonObject, readJsonObject } from '../../base/json-object.ts';
import { type Algorithm, algorithms, isAlgorithm } from '../../gateway/authentication/token/algorithms.ts';
import { maxTokenLength } from '../../gateway/authentication/token/read-compact-token.ts';

/** One key per kind of algorithm, without ids: whatever key a token names, this one is meant. */
export interface StandInKeys {
  /** The public keys as a JWK set, for `inline`. */
  readonly document: string;
  /** The same header and payload with a signature of ours. What is no signed token comes back as it is. */
  signAgain(token: string): string;
  /** For ES256: what a gateway signs its own tokens with. */
  readonly own: KeyPair;
  /** A token with these claims. */
  signClaims(claims: Readonly<Record<string, unknown>>): string;
}

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

let made: StandInKeys | undefined;

/** The keys of this process. Making them takes a moment. */
export function getStandInKeys(): StandInKeys {
  made ??= makeStandInKeys();
  return made;
}

/** Whether a key set is the one of this process: in a configuration it replaces one that is not shown. */
export function isStandInKeySet(document: string): boolean {
  return made?.document === document;
}

function makeStandInKeys(): StandInKeys {
  const pairs = {
    rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    'P-521': generateKeyPairSync('ec', { namedCurve: 'P-521' }),
    Edwards: generateKeyPairSync('ed25519'),
    Ed448: generateKeyPairSync('ed448'),
  } satisfies Record<string, KeyPair>;
  const findPair = (algorithm: Algorithm): KeyPair => {
    const { keyType } = algorithms[algorithm];
    return pairs[keyType === 'Ed25519' ? 'Edwards' : keyType];
  };
  const keys = Object.entries(pairs).map(([name, { publicKey }]) => ({
    ...publicKey.export({ format: 'jwk' }),
    // EdDSA without a curve could mean both Edwards keys, and then would mean neither.
    ...(name === 'Ed448' && { alg: 'Ed448' }),
  }));
  const signParts = (signingInput: string, algorithm: Algorithm): string =>
    `${signingInput}.${signText(signingInput, algorithm, findPair(algorithm).privateKey)}`;
  return {
    document: JSON.stringify({ keys }),
    own: pairs['P-256'],
    signAgain(token) {
      const [header = '', payload, signature, ...more] = token.split('.', 4);
      // Too long stays too long: the new signature may be shorter.
      if (payload === undefined || signature === undefined || more.length > 0 || token.length > maxTokenLength)
        return token;
      const algorithm = readAlgorithm(header);
      return algorithm === undefined ? token : signParts(`${header}.${payload}`, algorithm);
    },
    signClaims: (claims) => signParts(`${encode({ alg: 'ES256', typ: 'at+jwt' })}.${encode(claims)}`, 'ES256'),
  };
}

function readAlgorithm(header: string): Algorithm | undefined {
  const read = readJsonObject(Buffer.from(header, 'base64url').toString('utf8'));
  return read.ok && isJsonObject(read.value) && isAlgorithm(read.value['alg']) ? read.value['alg'] : undefined;
}

function signText(text: string, algorithm: Algorithm, key: KeyObject): string {
  const definition = algorithms[algorithm];
  const padding =
    'padding' in definition
      ? { padding: definition.padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : definition.keyType === 'rsa'
        ? { padding: constants.RSA_PKCS1_PADDING }
        : {};
  const options = { key, dsaEncoding: 'ieee-p1363' as const, ...padding };
  return sign(definition.hash, Buffer.from(text, 'latin1'), options).toString('base64url');
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
