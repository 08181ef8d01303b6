// Makes a test token and the policy that accepts it. The private key is made for this one signature and kept nowhere: nobody can make a second token.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { stringify } from 'yaml';
import type { JsonObject } from '../../base/json-object.ts';
import { formatTestIssuer } from '../../ir/test-issuer.ts';

/** A token, and what belongs to it. */
export interface MintedToken {
  readonly token: string;
  readonly issuer: string;
  readonly claims: JsonObject;
  /** The ProxyPolicy that accepts it. */
  readonly policy: object;
}

/** What the policy protects. */
export interface PolicyTargetReference {
  readonly kind: 'Gateway' | 'HTTPRoute';
  readonly name: string;
}

/** The name of the policy and of its provider: a new one takes the place of the one before. */
const policyName = 'test-token';

/** Makes one. `nowMs` is the present time. */
export function mintToken(
  given: JsonObject,
  options: { readonly nowMs: number; readonly lifetimeMs: number; readonly target: PolicyTargetReference },
): MintedToken {
  const issuer = formatTestIssuer(randomBytes(12).toString('hex'));
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = randomBytes(9).toString('base64url');
  const iat = Math.floor(options.nowMs / 1_000);
  const exp = iat + Math.floor(options.lifetimeMs / 1_000);
  const claims = { iss: issuer, ...given, iat, exp, jti: randomBytes(12).toString('base64url') };
  const signed = `${encode({ alg: 'ES256', typ: 'at+jwt', kid })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const keys = JSON.stringify({ keys: [{ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }] });
  return {
    token: `${signed}.${signature.toString('base64url')}`,
    issuer,
    claims,
    policy: buildPolicy(issuer, keys, listAudiences(given), options.target),
  };
}

function buildPolicy(issuer: string, inline: string, audiences: readonly string[], target: PolicyTargetReference) {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: policyName },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', ...target }],
      traffic: {
        jwtAuthentication: {
          providers: [{ name: policyName, issuer, ...(audiences.length > 0 && { audiences }), jwks: { inline } }],
        },
      },
    },
  };
}

function listAudiences({ aud }: JsonObject): readonly string[] {
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return list.filter((each) => typeof each === 'string');
}

/** The first words of a policy file, by which it is known again. */
export const policyFileMark = '# A policy for a test token';

/** The policy as YAML, comments included. */
export function formatTestPolicy({ policy, claims }: MintedToken): string {
  const until = new Date(Number(claims['exp']) * 1_000).toISOString().replace('.000Z', 'Z');
  return `${policyFileMark} (mcp-gatehouse token new), which is valid until ${until}. Nobody has its key: no second token can be made.
# For a gateway that reads files: mcp-gatehouse run. Deployed gateways refuse it. Take it away after the test.
${stringify(policy, { lineWidth: 0 })}`;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
