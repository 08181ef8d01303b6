// Who chose an address of an identity provider: the operator, who named its host, or the provider's metadata. An address that only the metadata names
// must not be on this machine: it could be any service that trusts loopback clients.
import type { AddressChoice } from '../../../../base/address-guard.ts';
import { isLoopbackHost } from '../../../../base/local-names.ts';
import type { McpAuthentication } from '../../../../ir/gen/config_pb.ts';

/** Judges a URL of the metadata, or of the policy itself. */
export function findChoice(
  url: string,
  {
    issuer,
    metadataUrl,
    registration,
    endpoints,
  }: Pick<McpAuthentication, 'issuer' | 'metadataUrl'> & Partial<Pick<McpAuthentication, 'registration' | 'endpoints'>>,
): AddressChoice {
  const host = URL.parse(url)?.hostname;
  const { authorization = '', token = '', userinfo = '' } = endpoints ?? {};
  const named = [issuer, metadataUrl, registration?.endpoint ?? '', authorization, token, userinfo].map(
    (each) => URL.parse(each)?.hostname,
  );
  if (host === undefined || named.includes(host)) return 'operator';
  return named.some((each) => each !== undefined && isLoopbackHost(each)) ? 'operator' : 'provider';
}
