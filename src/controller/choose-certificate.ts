// Which certificate the xDS server shows: the one of the Secret while it can be used, otherwise the last good one, of this process or of the copy. Good is
// what gateways accept: a certificate that has expired is not good any more.
import type { CertificateCheck, UsableCertificate } from './check-certificate.ts';

/** What there is to choose from. */
interface Candidates {
  /** The one of the Secret at the moment. */
  readonly present: CertificateCheck;
  /** Being made: what is missing now is no mistake of anybody. */
  readonly isPending?: boolean;
  /** The last one of the Secret that could be used, in this process. */
  readonly last: UsableCertificate | undefined;
  /** The copy of a leader; undefined: there is none. */
  readonly copy: CertificateCheck | undefined;
}

/** What is shown, and why. */
export type CertificateState =
  | { readonly state: 'good'; readonly certificate: UsableCertificate }
  /** The Secret cannot be used, and the last good certificate is shown. */
  | {
      readonly state: 'degraded';
      readonly certificate: UsableCertificate;
      readonly problem: string;
      readonly isCopy: boolean;
    }
  /** Handshakes fail. */
  | { readonly state: 'none'; readonly problem: string; readonly isPending: boolean };

/** Chooses; `now` in milliseconds since 1970. */
export function chooseCertificate(
  { present, isPending = false, last, copy }: Candidates,
  now: number,
): CertificateState {
  if (present.ok) return { state: 'good', certificate: present.certificate };
  const { problem } = present;
  const fromCopy = copy?.ok === true && copy.certificate.expiresAt > now ? copy.certificate : undefined;
  const fromMemory = last !== undefined && last.expiresAt > now ? last : undefined;
  // Another replica may have had a newer one. Then gateways may trust only the authority of that one.
  const isCopy = fromCopy !== undefined && (fromMemory === undefined || fromCopy.validFrom > fromMemory.validFrom);
  const certificate = isCopy ? fromCopy : fromMemory;
  if (certificate !== undefined) return { state: 'degraded', certificate, problem, isCopy };
  return { state: 'none', problem: problem + explainNone(last, copy), isPending };
}

function explainNone(last: UsableCertificate | undefined, copy: CertificateCheck | undefined): string {
  if (last !== undefined)
    return `; the last good certificate expired at ${formatTime(last.expiresAt)}, and gateways refuse it`;
  if (copy === undefined || copy.ok) return '';
  return `; nor can the copy of the last good certificate be used: ${copy.problem}`;
}

/** For the operator: what is wrong at `place`, and what is served meanwhile. Undefined: nothing is wrong. */
export function describeCertificateState(state: CertificateState, place: string): string | undefined {
  if (state.state === 'good') return undefined;
  if (state.state === 'none') return `${state.problem} (${place})`;
  const origin = state.isCopy ? ', from its copy' : '';
  return `degraded: ${state.problem} (${place}); the last good certificate is served${origin} until ${formatTime(state.certificate.expiresAt)}`;
}

function formatTime(time: number): string {
  return new Date(time).toISOString();
}
