// Dex: no dynamic registration; every login needs `openid`; tokens carry no scopes.
import type { ProviderPreset } from '../../../config/provider-preset.ts';

export const dex: ProviderPreset = {
  name: 'Dex',
  resourceParameter: 'none',
  requiredLoginScopes: ['openid'],
  hasNoRegistration: true,
  needsBroker: 'Dex has no dynamic registration',
  remarks: [
    'Dex registers no clients: use registration.mode Shared.',
    'Its tokens carry no scopes: leave requiredScopes empty. Their audience is the client id: set audiences to it.',
    "A second login of the same user ends the first one's refresh token.",
  ],
};
