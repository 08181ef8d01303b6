// The unverified claims of a token (RFC 7519): enough to refuse a token that cannot be valid, never enough to accept one.

interface TokenClaims {
  readonly subject: string | undefined;
  readonly audiences: readonly string[];
  /** Milliseconds since 1970; undefined: the token has no expiry. */
  readonly expiresAt: number | undefined;
}

/** Undefined: the token is not a JWT. */
export function readTokenClaims(token: string): TokenClaims | undefined {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token) ?? [];
  if (payload === undefined) return undefined;
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof claims !== 'object' || claims === null) return undefined;
  const { sub, aud, exp } = claims as { readonly sub?: unknown; readonly aud?: unknown; readonly exp?: unknown };
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return {
    subject: typeof sub === 'string' ? sub : undefined,
    audiences: audiences.filter((audience) => typeof audience === 'string'),
    expiresAt: typeof exp === 'number' && Number.isFinite(exp) ? exp * 1_000 : undefined,
  };
}
