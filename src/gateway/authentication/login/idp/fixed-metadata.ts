// The metadata of an identity provider that publishes none: the endpoints of the policy, else those of the preset. Nothing is fetched.
import type { IdpConnectionOptions, IdpMetadata } from '../../../config/idp-connection.ts';
import { validateMetadata } from './validate-metadata.ts';

type FixedMetadata =
  /** `source` says where it comes from. */
  | { readonly ok: true; readonly metadata: IdpMetadata; readonly source: string }
  | { readonly ok: false; readonly detail: string };

/** The metadata; undefined: it has to be discovered. */
export function findFixedMetadata({
  issuer,
  endpoints,
  preset,
  allowInsecureHttp,
}: Pick<IdpConnectionOptions, 'issuer' | 'endpoints' | 'preset' | 'allowInsecureHttp'>): FixedMetadata | undefined {
  if (endpoints === undefined && preset.fixedMetadata === undefined) return undefined;
  const document = {
    ...preset.fixedMetadata,
    ...(endpoints !== undefined && {
      authorization_endpoint: endpoints.authorization,
      token_endpoint: endpoints.token,
      userinfo_endpoint: endpoints.userinfo,
    }),
    issuer,
  };
  const verdict = validateMetadata(document, { issuer, acceptsIssuer: undefined, allowInsecureHttp });
  const source = endpoints === undefined ? `the preset ${preset.name}` : 'endpoints of the policy';
  if (!verdict.ok) return { ok: false, detail: `what is known of ${issuer} (${source}) ${verdict.problem}` };
  return { ok: true, metadata: verdict.metadata, source };
}
