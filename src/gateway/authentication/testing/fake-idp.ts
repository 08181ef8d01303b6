// An identity provider that is a function: codes that work once, PKCE, refresh tokens that it replaces, ID tokens and userinfo. For tests without sockets.
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { FetchOutcome, GuardedRequest } from '../../../base/fetch-json.ts';
import { createInlineKeySource, type KeySource } from '../token/key-source.ts';
import { answerJson, idpIssuer } from './broker-fixture.ts';

interface PendingLogin {
  readonly challenge: string | null;
  readonly nonce: string | null;
  readonly redirectUri: string | null;
}

/** What the identity provider was asked. */
interface AskedOfIdp {
  readonly path: string;
  readonly form: URLSearchParams;
}

const unreachable: FetchOutcome = { ok: false, code: 'unreachable', message: 'nothing is there' };

/** An identity provider with one account. */
export class FakeIdp {
  /** Who logs in. */
  account: Record<string, unknown> = {
    sub: 'alice',
    email: 'alice@example.com',
    email_verified: true,
    groups: ['staff'],
  };
  isDown = false;
  isUserinfoDown = false;
  /** The account is closed: it refuses refresh tokens. */
  isClosed = false;
  /** In place of its answer, at the token endpoint. */
  answer: FetchOutcome | undefined;
  /** Claims that an ID token gets in place of its own. */
  idTokenClaims: Record<string, unknown> = {};
  givesRefreshTokens = true;
  rotates = true;
  readonly asked: AskedOfIdp[] = [];
  readonly keys: KeySource;
  /** Waits before it answers. */
  delay: () => Promise<void> = () => Promise.resolve();
  readonly #logins = new Map<string, PendingLogin>();
  readonly #refreshTokens = new Set<string>();
  readonly #pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    const jwk = this.#pair.publicKey.export({ format: 'jwk' });
    this.keys = createInlineKeySource(JSON.stringify({ keys: [{ ...jwk, kid: 'idp', alg: 'ES256', use: 'sig' }] }));
  }

  /** How often its token endpoint was asked with this grant. */
  count(grantType: string): number {
    return this.asked.filter(({ form }) => form.get('grant_type') === grantType).length;
  }

  /** The user logs in: what the callback gets for this authorization request. */
  logIn(url: URL): { readonly code: string; readonly state: string } {
    const code = randomUUID();
    this.#logins.set(code, {
      challenge: url.searchParams.get('code_challenge'),
      nonce: url.searchParams.get('nonce'),
      redirectUri: url.searchParams.get('redirect_uri'),
    });
    return { code, state: url.searchParams.get('state') ?? '' };
  }

  /** A signed token of its own. */
  sign(claims: Record<string, unknown>, header: Record<string, unknown> = {}): string {
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${encode({ alg: 'ES256', typ: 'JWT', kid: 'idp', ...header })}.${encode(claims)}`;
    const options = { key: this.#pair.privateKey, dsaEncoding: 'ieee-p1363' } as const;
    return `${signed}.${sign('sha256', Buffer.from(signed), options).toString('base64url')}`;
  }

  readonly fetch = async ({ url, body = '' }: GuardedRequest): Promise<FetchOutcome> => {
    const { pathname: path } = new URL(url);
    const form = new URLSearchParams(body);
    this.asked.push({ path, form });
    await this.delay();
    if (this.isDown) return unreachable;
    if (path === '/userinfo') return this.isUserinfoDown ? unreachable : answerJson(this.account);
    if (path !== '/token') return answerJson({}, 404);
    if (this.answer !== undefined) return this.answer;
    return form.get('grant_type') === 'authorization_code' ? this.#redeem(form) : this.#refresh(form);
  };

  #redeem(form: URLSearchParams): FetchOutcome {
    const code = form.get('code') ?? '';
    const login = this.#logins.get(code);
    this.#logins.delete(code);
    const verifier = form.get('code_verifier') ?? '';
    const isProved = login?.challenge === createHash('sha256').update(verifier).digest('base64url');
    if (login === undefined || !isProved || login.redirectUri !== form.get('redirect_uri'))
      return answerJson({ error: 'invalid_grant', error_description: 'code is unknown' }, 400);
    return this.#give(form, { nonce: login.nonce ?? undefined });
  }

  #refresh(form: URLSearchParams): FetchOutcome {
    const token = form.get('refresh_token') ?? '';
    if (this.isClosed || !this.#refreshTokens.has(token)) return answerJson({ error: 'invalid_grant' }, 400);
    if (this.rotates) this.#refreshTokens.delete(token);
    return this.#give(form, {});
  }

  #give(form: URLSearchParams, claims: Record<string, unknown>): FetchOutcome {
    const issuedAt = Math.floor(this.#now() / 1_000);
    const audience = { iss: idpIssuer, aud: 'gateway-client', iat: issuedAt, exp: issuedAt + 300 };
    const idToken = this.sign({ ...audience, ...this.account, ...claims, ...this.idTokenClaims });
    const isRefresh = form.get('grant_type') === 'refresh_token';
    const refreshToken = this.givesRefreshTokens && (!isRefresh || this.rotates) ? randomUUID() : undefined;
    if (refreshToken !== undefined) this.#refreshTokens.add(refreshToken);
    return answerJson({
      access_token: `opaque-${randomUUID()}`,
      token_type: 'Bearer',
      expires_in: 300,
      id_token: idToken,
      ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    });
  }
}
