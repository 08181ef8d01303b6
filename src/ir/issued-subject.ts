// `sub` of tokens that a gateway issues: who it is about, in a form in which no two can collide. Read here for people; made where tokens are issued.

/** The parts of such a `sub`. */
export interface IssuedSubject {
  readonly kind: 'person' | 'client' | 'assertion';
  /** The issuer of the identity provider. */
  readonly idp: string;
  /** What the identity provider calls them; it never changes. */
  readonly subject: string;
}

/** Takes a `sub` apart; undefined: no gateway has issued it. */
export function readIssuedSubject(sub: string): IssuedSubject | undefined {
  const [kind, idp, subject, ...more] = sub.split(':');
  if ((kind !== 'person' && kind !== 'client' && kind !== 'assertion') || more.length > 0) return undefined;
  const [readIdp, readSubject] = [decode(idp), decode(subject)];
  return readIdp === undefined || readSubject === undefined ? undefined : { kind, idp: readIdp, subject: readSubject };
}

/** Undefined: empty, or not encoded as a gateway does. */
function decode(part: string | undefined): string | undefined {
  if (part === undefined || part === '') return undefined;
  try {
    const text = decodeURIComponent(part);
    return encodeURIComponent(text) === part ? text : undefined;
  } catch {
    return undefined;
  }
}
