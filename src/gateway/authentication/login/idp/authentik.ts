// authentik: no dynamic registration; the audience of a token is the client's id.
import type { ProviderPreset } from '../../../config/provider-preset.ts';

export const authentik: ProviderPreset = {
  name: 'Authentik',
  resourceParameter: 'none',
  hasNoRegistration: true,
  needsBroker: 'authentik has no dynamic registration',
  remarks: [
    'authentik registers no clients: use registration.mode Shared.',
    'The audience of its tokens is the client id: set audiences to the client id of the shared client.',
  ],
};
