// resourceMetadata of a ProxyPolicy -> members of the protected resource metadata (RFC 9728, section 2): snake_case, as JSON.

const knownMembers: readonly string[] = [
  'resource',
  'authorization_servers',
  'jwks_uri',
  'scopes_supported',
  'bearer_methods_supported',
  'resource_signing_alg_values_supported',
  'resource_name',
  'resource_documentation',
  'resource_policy_uri',
  'resource_tos_uri',
  'tls_client_certificate_bound_access_tokens',
  'authorization_details_types_supported',
  'dpop_signing_alg_values_supported',
  'dpop_bound_access_tokens_required',
  'signed_metadata',
];

const memberByField = new Map(
  knownMembers.map((member) => [member.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), member]),
);

/** The members as the text of a JSON object, empty when there are none. */
interface ConvertedMetadata {
  readonly text: string;
  readonly problems: readonly string[];
}

/**
 * Converts the members that RFC 9728 defines from camelCase, with their language tags (`resourceName#de`); all others pass through
 * unchanged. The gateway adds authorization_servers itself.
 */
export function convertResourceMetadata(fields: Readonly<Record<string, unknown>>): ConvertedMetadata {
  const members = new Map<string, unknown>();
  const problems: string[] = [];
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const [name = '', ...tags] = field.split('#');
    const known = memberByField.get(name) ?? name;
    const member = [known, ...tags].join('#');
    if (known === 'authorization_servers') problems.push(`${field} is derived from \`issuer\` and \`flow\`; remove it`);
    else if (known === 'resource') problems.push(`${field} is a URL and has no language; remove it`);
    else if (members.has(member)) problems.push(`${field} is set twice, in camelCase and in snake_case; remove one`);
    else members.set(member, value);
  }
  const sorted = [...members].toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  return { text: sorted.length === 0 ? '' : JSON.stringify(Object.fromEntries(sorted)), problems };
}
