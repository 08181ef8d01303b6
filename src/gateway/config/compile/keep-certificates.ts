// A listener whose Secret is missing or unusable for a while keeps its last good certificate, until that expires. Pure: from the messages as they came, and what was
// in force before, to the messages to serve. What a listener may no longer use is not among its certificates, and is never kept.
import { X509Certificate } from 'node:crypto';
import type { Configuration } from '../../../ir/configuration.ts';
import type { Secret } from '../../../ir/gen/config_pb.ts';

/** A certificate that is served although its Secret is missing or unusable. */
export interface KeptCertificate {
  /** Key of the Listener message. */
  readonly listener: string;
  /** Key of the Secret message. */
  readonly secret: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly expiresAt: number;
}

/** What is in force. */
export interface Keeping {
  readonly configuration: Configuration;
  readonly kept: readonly KeptCertificate[];
  /** Awaited certificates of which this process has none: handshakes that need them are refused. */
  readonly lacking: readonly Pick<KeptCertificate, 'listener' | 'secret'>[];
}

/** Adds what is to be kept to a configuration. `before` is the previous result. */
export function keepCertificates(given: Configuration, before: Keeping | undefined, now: number): Keeping {
  const waiting = given.listeners.filter(({ awaitedCertificates }) => awaitedCertificates.length > 0);
  if (waiting.length === 0) return { configuration: given, kept: [], lacking: [] };
  const secrets = new Map(given.secrets.map((secret) => [secret.key, secret]));
  const kept: KeptCertificate[] = [];
  const lacking: Keeping['lacking'][number][] = [];
  for (const { key: listener, awaitedCertificates } of waiting) {
    for (const secret of awaitedCertificates) {
      const had = findPrevious(before, listener, secret);
      const expiresAt = had === undefined ? 0 : readExpiry(had);
      if (had === undefined || expiresAt <= now) {
        lacking.push({ listener, secret });
        continue;
      }
      const known = before?.kept.find((each) => each.listener === listener && each.secret === secret);
      kept.push({ listener, secret, since: known?.since ?? now, expiresAt });
      secrets.set(secret, had);
    }
  }
  const configuration = kept.length === 0 ? given : { ...given, secrets: [...secrets.values()] };
  return { configuration, kept, lacking };
}

/** What the same listener served under the same name. */
function findPrevious(before: Keeping | undefined, listener: string, secret: string): Secret | undefined {
  const known = before?.configuration.listeners.find(({ key }) => key === listener);
  if (known?.certificates.includes(secret) !== true) return undefined;
  const had = before?.configuration.secrets.find(({ key }) => key === secret);
  return had?.value.case === 'tls' ? had : undefined;
}

const expiries = new WeakMap<Secret, number>();

function readExpiry(secret: Secret): number {
  let expiry = expiries.get(secret);
  if (expiry === undefined) {
    expiry = 0;
    try {
      if (secret.value.case === 'tls')
        expiry = new X509Certificate(secret.value.value.certificateChain).validToDate.getTime();
    } catch {
      // What cannot be read is not kept.
    }
    expiries.set(secret, expiry);
  }
  return expiry;
}
