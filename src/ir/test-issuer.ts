// Issuers of test tokens (`mcp-gatehouse token new`): how they are spelled, and where their tokens are accepted. A name under `.invalid` is nobody's (RFC 6761),
// so that no identity provider has one by accident. The whole name is looked for anywhere in an issuer: no spelling of it gets around the refusal.
import type { Policy } from './gen/config_pb.ts';

const testIssuerName = 'test-token.mcp-gatehouse.invalid';

/** The issuer of one test token. */
export function formatTestIssuer(id: string): string {
  return `https://${testIssuerName}/${id}`;
}

/** Whether tokens of an issuer are test tokens. */
export function isTestIssuer(issuer: string): boolean {
  return issuer.toLowerCase().includes(testIssuerName);
}

/** Why a gateway that a controller configures does not accept such an issuer; follows the name of the field or the policy. */
export const testIssuerRefusal =
  'this issuer is of a test token (mcp-gatehouse token new), and deployed gateways do not accept those; use the issuer of an identity provider';

/** The test issuers that a policy accepts. */
export function listTestIssuers({ spec }: Policy): string[] {
  switch (spec.case) {
    case 'jwtAuthentication':
      return spec.value.providers.map(({ issuer }) => issuer).filter(isTestIssuer);
    case 'mcpAuthentication':
      return [spec.value.issuer].filter(isTestIssuer);
    default:
      return [];
  }
}
