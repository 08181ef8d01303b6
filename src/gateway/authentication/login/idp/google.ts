// Google: no dynamic registration; access tokens are opaque.
import type { ProviderPreset } from '../../../config/provider-preset.ts';

export const google: ProviderPreset = {
  name: 'Google',
  resourceParameter: 'none',
  hasNoRegistration: true,
  needsBroker: 'Google has no dynamic registration',
  remarks: [
    'Google registers no clients: use registration.mode Shared.',
    'The access tokens of Google are opaque, so no gateway can validate them. Put an identity provider that issues JWTs in between and let it log in with Google.',
  ],
};
