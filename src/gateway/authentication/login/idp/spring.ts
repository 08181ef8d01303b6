// Spring Authorization Server: as shipped, registration refuses any `scope`, and initial access tokens work once.
import type { ProviderPreset } from '../../../config/provider-preset.ts';

export const spring: ProviderPreset = {
  name: 'Spring',
  omitRegistrationMembers: ['scope'],
  remarks: [
    'Registration needs an initial access token, which works once: use registration.initialAccessTokenFrom.clientCredentials with the scope client.create.',
    'Public clients get no refresh token; through the broker, with a confidential client, they do.',
    'The scope of its tokens is a list; the gateway reads both forms.',
  ],
};
