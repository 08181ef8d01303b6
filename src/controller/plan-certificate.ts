// What to do about the certificate that the controller makes itself: pure, by its Secret and the time. A new certificate has a new authority. Gateways hear of
// it a day before it is used: `ca.crt` has both authorities from then on, and `next.crt` and `next.key` wait in the Secret.
import { X509Certificate } from 'node:crypto';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { isMadeByController, readCertificateFiles, readNextFiles } from './certificate-secret.ts';
import { checkCertificate, splitCertificates, type UsableCertificate } from './check-certificate.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** How long a certificate is valid. */
export const validityMs = 90 * dayMs;
/** It begins to be valid this much earlier than it was made: clocks differ. */
export const backdateMs = hourMs;
/** The part of its validity after which the next one is prepared. */
const renewalShare = 2 / 3;
/** How long gateways have both authorities before the next certificate is used. Volumes of pods are updated within minutes. */
export const overlapMs = dayMs;

/** The next step. `wait`: until the time, or until the Secret changes. */
export type CertificatePlan =
  | { readonly step: 'wait'; readonly until: number | undefined }
  /** There is no Secret. */
  | { readonly step: 'make' }
  /** Ours, and gateways would refuse it: a new one takes its place at once. */
  | { readonly step: 'replace'; readonly problem: string }
  /** Announce the authority of the next one. */
  | { readonly step: 'prepare'; readonly current: UsableCertificate }
  /** Use the next one. */
  | { readonly step: 'switch'; readonly next: UsableCertificate };

/** Decides. A Secret that somebody else made or changed is left alone. `now` in milliseconds since 1970. */
export function planCertificate(
  secret: KubernetesObject | undefined,
  serverName: string,
  now: number,
): CertificatePlan {
  if (secret === undefined) return { step: 'make' };
  if (!isMadeByController(secret)) return { step: 'wait', until: undefined };
  const current = checkCertificate(readCertificateFiles(secret), serverName, now);
  const next = checkCertificate(readNextFiles(secret), serverName, now);
  if (!current.ok)
    return next.ok ? { step: 'switch', next: next.certificate } : { step: 'replace', problem: current.problem };
  if (next.ok) {
    const until = next.certificate.validFrom + backdateMs + overlapMs;
    return now >= until ? { step: 'switch', next: next.certificate } : { step: 'wait', until };
  }
  const { validFrom, expiresAt } = current.certificate;
  const renewAt = validFrom + (expiresAt - validFrom) * renewalShare;
  return now >= renewAt ? { step: 'prepare', current: current.certificate } : { step: 'wait', until: renewAt };
}

/** `ca.crt` with a new authority in front of earlier ones, without those that have expired or cannot be read. */
export function joinAuthorities(ca: string, earlier: string, now: number): string {
  const kept = splitCertificates(earlier).filter((pem) => isValid(pem, now));
  return [...new Set([...splitCertificates(ca), ...kept])].map((pem) => `${pem}\n`).join('');
}

function isValid(pem: string, now: number): boolean {
  try {
    return new X509Certificate(pem).validToDate.getTime() > now;
  } catch {
    return false;
  }
}
