// identity of an MCP authentication: what is taken from the identity provider about a person, and who gets in.
import { create } from '@bufbuild/protobuf';
import type { PersonIdentity } from '../../api/person-identity.ts';
import { type Identity, IdentitySchema } from '../../ir/gen/config_pb.ts';
import { sortEntries } from '../order.ts';

/** The message. Domains and addresses in lower case: they are compared with what identity providers write in any case. */
export function convertIdentity({ claims = {}, subject = '', allow }: PersonIdentity = {}): Identity {
  return create(IdentitySchema, {
    claims: sortEntries(claims),
    subject,
    ...(allow !== undefined && {
      allow: {
        domains: lowerCase(allow.domains),
        organizations: allow.organizations ?? [],
        emails: lowerCase(allow.emails),
        subjects: allow.subjects ?? [],
      },
    }),
  });
}

function lowerCase(texts: readonly string[] = []): string[] {
  return texts.map((text) => text.toLowerCase());
}
