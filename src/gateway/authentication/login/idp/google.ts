// Google: OpenID Connect with opaque access tokens; refresh tokens by parameters of its own; not every verified address belongs to its domain.
import type { JsonObject } from '../../../../base/json-object.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';

const issuer = 'https://accounts.google.com';

export const google: ProviderPreset = {
  name: 'Google',
  resourceParameter: 'none',
  hasNoRegistration: true,
  needsBroker: 'Google has no dynamic registration',
  forwardRemarks: ['Google registers no clients: use registration.mode Shared.'],
  remarks: [
    'The access tokens of Google are opaque, so no gateway can validate them: use flow Issuer, with which the gateway issues tokens of its own.',
  ],
  identity: {
    // There is no scope for refresh tokens; without consent only the first login of a user gets one.
    authorizationParameters: { access_type: 'offline', prompt: 'consent' },
    acceptsIdTokenIssuer: (configured, { iss }) => configured === issuer && iss === 'accounts.google.com',
    vouchesForEmail,
    // The Workspace of the account, by its primary domain.
    organizations: () => 'hd',
  },
};

/** Google is authoritative for its own addresses and those of a Workspace; others were verified once, and may have changed hands since. */
function vouchesForEmail({ email, email_verified: verified, hd }: JsonObject): boolean {
  if (typeof email !== 'string' || (verified !== true && verified !== 'true')) return false;
  return (typeof hd === 'string' && hd !== '') || /@(?:gmail|googlemail)\.com$/i.test(email);
}
