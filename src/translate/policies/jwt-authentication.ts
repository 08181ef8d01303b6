// traffic.jwtAuthentication of a ProxyPolicy: requests need a token of one of its providers.
import { create } from '@bufbuild/protobuf';
import type { JwtAuthentication as JwtAuthenticationSpec } from '../../api/jwt-authentication.ts';
import {
  type JwtProvider,
  type TokenLocation,
  JwtAuthenticationSchema,
  JwtProviderSchema,
  TokenLocationSchema,
} from '../../ir/gen/config_pb.ts';
import { convertToMilliseconds } from '../milliseconds.ts';
import { convertMode } from './authentication-mode.ts';
import { convertClaimsToHeaders, convertRequiredClaims } from './claims.ts';
import { createKeySource, listKeyBackends } from './key-source.ts';
import { PolicyReferences } from './policy-references.ts';
import { type PolicyTranslator, listSet } from './policy-translator.ts';

/** traffic.jwtAuthentication. */
export const jwtAuthenticationTranslator: PolicyTranslator<'traffic.jwtAuthentication'> = {
  translate(spec, surroundings) {
    const references = new PolicyReferences('traffic.jwtAuthentication', surroundings);
    const message = create(JwtAuthenticationSchema, {
      mode: convertMode(spec.mode),
      providers: spec.providers.map((provider, index) => createProvider(provider, `providers[${index}]`, references)),
      location: createLocation(spec.location),
      forwardToken: spec.forwardToken,
      claimsToHeaders: convertClaimsToHeaders(spec.claimsToHeaders),
    });
    const { problems, secrets, backends } = references;
    if (problems.length > 0) return { valid: false, problems };
    return { valid: true, message, secrets, backends };
  },
  listReferences: ({ providers }) => ({
    secrets: listSet(providers.map(({ ca }) => ca)),
    backends: providers.flatMap(({ keys }) => listKeyBackends(keys)),
  }),
};

function createProvider(
  spec: JwtAuthenticationSpec['providers'][number],
  field: string,
  references: PolicyReferences,
): JwtProvider {
  references.checkIssuer(`${field}.issuer`, spec.issuer);
  return create(JwtProviderSchema, {
    name: spec.name,
    issuer: spec.issuer,
    audiences: spec.audiences ?? [],
    keys: createKeySource(spec.jwks, `${field}.jwks`, references),
    ca: references.followCa(`${field}.jwks.caCertificateRef`, spec.jwks.caCertificateRef),
    requiredClaims: convertRequiredClaims(spec.requiredClaims),
    clockSkewMs: convertToMilliseconds(spec.clockSkew),
  });
}

function createLocation({ header, cookie, queryParameter }: JwtAuthenticationSpec['location']): TokenLocation {
  if (cookie !== undefined) return create(TokenLocationSchema, { location: { case: 'cookie', value: cookie.name } });
  if (queryParameter !== undefined)
    return create(TokenLocationSchema, { location: { case: 'queryParameter', value: queryParameter.name } });
  // The schema guarantees that one of the three is set.
  const name = header!.name.toLowerCase();
  const prefix = header!.prefix ?? (name === 'authorization' ? 'Bearer ' : '');
  return create(TokenLocationSchema, { location: { case: 'header', value: { name, prefix } } });
}
