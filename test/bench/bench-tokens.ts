// The tokens of the benchmarks: RS256 and of the size that identity providers make them, good ones and forged ones.
import { createPublicKey, randomBytes } from 'node:crypto';
import { forgeToken, signAs, signWithBytes, type Signer } from '../kit/forge-token.ts';
import { createSigningKey, formatSigningKey, readSigningKey } from '../../src/base/signing-key.ts';
import { createTestKey } from '../kit/test-issuer.ts';

export const issuer = 'https://idp.example.com/realms/mcp';
export const audience = 'https://mcp.example.com/mcp';
const key = createTestKey('RS256', { kid: 'bench', alg: 'RS256', use: 'sig' });

/** What verifies them, as text. */
export const jwks = JSON.stringify({ keys: [key.publicJwk] });

/** The same for programs that want a file in PEM. */
export const publicKeyPem = createPublicKey(key.privateKey).export({ format: 'pem', type: 'spki' });

/** A key of the gateway's own, and the file that it is kept in. */
const signingKey = createSigningKey();
export const signingKeyFile = JSON.stringify({
  about: 'the key of a benchmark',
  keys: [
    {
      kid: signingKey.kid,
      createdAt: new Date(0).toISOString(),
      signsFrom: new Date(0).toISOString(),
      privateKey: formatSigningKey(signingKey),
    },
  ],
});

/** A token as the gateway issues it. */
export function createIssuedToken(): string {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  return forgeToken({
    header: { alg: 'ES256', typ: 'at+jwt', kid: signingKey.kid },
    claims: {
      iss: audience,
      aud: audience,
      sub: formatIssuedSubject(),
      client_id: 'cursor',
      idp: issuer,
      jti: 'f3f0c1de-4a8e-4cf0-8df4-000000000000',
      exp: nowSeconds + 24 * 3_600,
      iat: nowSeconds,
      scope: 'tickets:read tickets:write',
      groups: ['engineering', 'support', 'berlin'],
      team: 'platform',
      email: 'alice@example.com',
    },
    signer: signAs('ES256', readSigningKey(signingKey.privateKey)!),
  });
}

function formatIssuedSubject(): string {
  return `person:${encodeURIComponent(issuer)}:2f1c6a0e-7d7b-4d3b-9a57-000000000000`;
}

/** Some claims more than anybody looks at. Every number has its own subject and token identifier. */
function createToken(number: number, signer: Signer, lifetimeSeconds = 24 * 3_600): string {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const serial = String(number).padStart(12, '0');
  return forgeToken({
    header: { alg: 'RS256', typ: 'at+jwt', kid: 'bench' },
    claims: {
      iss: issuer,
      aud: audience,
      sub: `2f1c6a0e-7d7b-4d3b-9a57-${serial}`,
      azp: 'cursor',
      jti: `f3f0c1de-4a8e-4cf0-8df4-${serial}`,
      exp: nowSeconds + lifetimeSeconds,
      iat: nowSeconds - 24 * 3_600,
      scope: 'openid profile tickets:read tickets:write',
      groups: ['engineering', 'support', 'berlin'],
      team: 'platform',
      email: 'alice@example.com',
    },
    signer,
  });
}

/** So many good tokens, no two alike. */
export function createTokens(count: number, first = 0): readonly string[] {
  const signer = signAs('RS256', key.privateKey);
  return Array.from({ length: count }, (_, index) => createToken(first + index, signer));
}

/** Tokens that look good until the signature is verified, which is the most that a stranger can ask for. */
export function createForgedTokens(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => {
    const signature = randomBytes(256);
    // Below the modulus, or it could be told from a good one at a glance.
    signature[0] = 0;
    return createToken(index, signWithBytes(signature));
  });
}

/** One good token, for everything that needs no more. */
export const oneToken = createTokens(1)[0]!;

/** One that was good until an hour ago. */
export const expiredToken = createToken(0, signAs('RS256', key.privateKey), -3_600);
