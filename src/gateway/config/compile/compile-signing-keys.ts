// The keys of issued tokens, from their message to the form that signs and verifies. Key objects are made once per change of the message.
import { createPublicKey } from 'node:crypto';
import { readSigningKey } from '../../../base/signing-key.ts';
import type { Secret, SigningKeys as SigningKeysMessage } from '../../../ir/gen/config_pb.ts';
import { signingKeysKey } from '../../../ir/resource-keys.ts';
import type { SigningKey, SigningKeys } from '../token-issuer.ts';
import { PolicyError } from './policy-error.ts';
import type { Lookup } from './recorded-reads.ts';

/** By message: an unchanged one is the same object. */
const compiled = new WeakMap<Secret, SigningKeys>();

/**
 * The signing keys; undefined when none are configured: then nothing is issued, and nothing is accepted. A message that cannot be read throws, and the target of
 * the policy is closed: with one key less than there should be, good tokens would be refused without a word.
 */
export function readSigningKeys(secrets: Lookup<Secret>): SigningKeys | undefined {
  const message = secrets.get(signingKeysKey);
  if (message === undefined) return undefined;
  let keys = compiled.get(message);
  if (keys === undefined) {
    if (message.value.case !== 'signingKeys') throw new PolicyError('the message with the signing keys has none in it');
    keys = compileKeys(message.value.value);
    compiled.set(message, keys);
  }
  return keys;
}

function compileKeys({ keys: messages, active: activeKid }: SigningKeysMessage): SigningKeys {
  if (messages.length === 0) throw new PolicyError('the message with the signing keys has none in it');
  const keys = new Map<string, SigningKey>();
  for (const { kid, privateKey: pkcs8 } of messages) {
    if (kid === '') throw new PolicyError('a signing key has no kid');
    if (keys.has(kid)) throw new PolicyError(`two signing keys have the kid ${kid}`);
    const privateKey = readSigningKey(pkcs8);
    if (privateKey === undefined) throw new PolicyError(`the signing key ${kid} is no private key for ES256`);
    keys.set(kid, { kid, privateKey, publicKey: createPublicKey(privateKey) });
  }
  const active = keys.get(activeKid);
  if (activeKid !== '' && active === undefined)
    throw new PolicyError(`the signing key ${activeKid} is to sign, and is not there`);
  return { keys: [...keys.values()], active };
}
