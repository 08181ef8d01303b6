// A login in progress, sealed: as the `state` that the IdP carries back (RFC 6749 10.12), and before that as the hidden field of the
// consent page. The two are sealed for different purposes, so that a pending consent cannot be used as a login.
import type { Sealer, SealProblem } from '../../../../base/sealed.ts';
import { digestPlace } from './client-envelope.ts';
import type { ClientPlace } from '../broker-urls.ts';
import type { IdpClient } from '../../../config/shared-logins.ts';
import { type LoginBinding, loginLifetimeMs } from './login-cookie.ts';

/** The data that the gateway needs when the browser returns from the IdP. */
export interface LoginTransaction {
  readonly clientDigest: string;
  readonly redirectUri: string;
  /** The client's own `state`; undefined when it sent none. */
  readonly clientState: string | undefined;
  /** PKCE, S256. */
  readonly challenge: string;
  /** As sent to the IdP, or with the flow Issuer what the client may get of the gateway's own; empty: none. */
  readonly scope: string;
  /** The client asked for exactly this scope: the token answer need not repeat it (RFC 6749 5.1). */
  readonly isScopeAsAsked: boolean;
  /** The `resource` that was sent to the IdP: the token request names it again, or none. */
  readonly resource: string | undefined;
  readonly binding: LoginBinding;
  /** The client took the endpoints at the root of the host. */
  readonly isRoot: boolean;
  /** The IdP announces `iss` in its authorization responses: a success without it is refused (RFC 9207 2.4). */
  readonly expectsIssuer: boolean;
  /** Only for clients whose client_id does not carry it: the client that was registered at the IdP for a metadata document. */
  readonly idpClient: IdpClient | undefined;
  /** With the flow Issuer: what the ID token has to repeat. Undefined: another flow, whose ID tokens are for the client. */
  readonly nonce?: string | undefined;
}

/** A login that waits for the user's consent, with the data that is still to be sent to the IdP. */
export interface ConsentTransaction extends LoginTransaction {
  /** Parameters of the client that go to the IdP as they are. */
  readonly passedOn: Readonly<Record<string, string>>;
  /** The client at the IdP, where only the client_id carries it; it does not become part of the login state. */
  readonly consentClient: IdpClient | undefined;
}

type OpenTransactionResult<T> =
  | { readonly ok: true; readonly transaction: T }
  | { readonly ok: false; readonly problem: SealProblem | 'elsewhere' };

/** The `state` for the IdP. */
export function sealLoginState(sealer: Sealer, place: ClientPlace, login: LoginTransaction, nowMs: number): string {
  return sealer.seal(loginPurpose, packLogin(place, login), { expiresAtMs: nowMs + loginLifetimeMs });
}

/** Opens the `state` that came back from the IdP. */
export function openLoginState(
  sealer: Sealer,
  place: ClientPlace,
  state: string,
): OpenTransactionResult<LoginTransaction> {
  const opened = sealer.open<PackedLogin>(loginPurpose, state);
  if (!opened.ok) return opened;
  if (opened.value.p !== digestPlace(place)) return { ok: false, problem: 'elsewhere' };
  return { ok: true, transaction: unpackLogin(opened.value) };
}

/** The hidden field of the consent page. */
export function sealConsent(sealer: Sealer, place: ClientPlace, consent: ConsentTransaction, nowMs: number): string {
  const packed: PackedConsent = {
    ...packLogin(place, consent),
    o: consent.passedOn,
    ...(consent.consentClient !== undefined && { i: consent.consentClient }),
  };
  return sealer.seal(consentPurpose, packed, { expiresAtMs: nowMs + loginLifetimeMs });
}

/** Opens the hidden field of the consent page. */
export function openConsent(
  sealer: Sealer,
  place: ClientPlace,
  text: string,
): OpenTransactionResult<ConsentTransaction> {
  const opened = sealer.open<PackedConsent>(consentPurpose, text);
  if (!opened.ok) return opened;
  const packed = opened.value;
  if (packed.p !== digestPlace(place)) return { ok: false, problem: 'elsewhere' };
  return { ok: true, transaction: { ...unpackLogin(packed), passedOn: packed.o, consentClient: packed.i } };
}

const loginPurpose = 'login';
const consentPurpose = 'consent';

/** Short names: it travels in a URL. */
interface PackedLogin {
  readonly p: string;
  readonly c: string;
  readonly r: string;
  readonly s?: string;
  readonly h: string;
  readonly g?: string;
  readonly u?: string;
  readonly b: readonly [id: string, digest: string];
  /** Bits: 1 scope as asked, 2 root, 4 expects iss. */
  readonly f: number;
  readonly k?: IdpClient;
  readonly n?: string;
}

interface PackedConsent extends PackedLogin {
  readonly o: Readonly<Record<string, string>>;
  readonly i?: IdpClient;
}

function packLogin(place: ClientPlace, login: LoginTransaction): PackedLogin {
  return {
    p: digestPlace(place),
    c: login.clientDigest,
    r: login.redirectUri,
    ...(login.clientState !== undefined && { s: login.clientState }),
    h: login.challenge,
    ...(login.scope !== '' && { g: login.scope }),
    ...(login.resource !== undefined && { u: login.resource }),
    b: [login.binding.id, login.binding.digest],
    f: (login.isScopeAsAsked ? 1 : 0) + (login.isRoot ? 2 : 0) + (login.expectsIssuer ? 4 : 0),
    ...(login.idpClient !== undefined && { k: login.idpClient }),
    ...(login.nonce !== undefined && { n: login.nonce }),
  };
}

function unpackLogin(packed: PackedLogin): LoginTransaction {
  const hasFlag = (bit: number): boolean => Math.floor(packed.f / bit) % 2 === 1;
  return {
    clientDigest: packed.c,
    redirectUri: packed.r,
    clientState: packed.s,
    challenge: packed.h,
    scope: packed.g ?? '',
    isScopeAsAsked: hasFlag(1),
    resource: packed.u,
    binding: { id: packed.b[0], digest: packed.b[1] },
    isRoot: hasFlag(2),
    expectsIssuer: hasFlag(4),
    idpClient: packed.k,
    ...(packed.n !== undefined && { nonce: packed.n }),
  };
}
