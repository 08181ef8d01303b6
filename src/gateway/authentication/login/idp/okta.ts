// Okta: names the resource in `audience`; registration needs an API token in a scheme of its own.
import type { ProviderPreset } from '../../../config/provider-preset.ts';

export const okta: ProviderPreset = {
  name: 'Okta',
  resourceParameter: 'audience',
  initialAccessTokenScheme: 'SSWS',
  needsBroker: 'Okta expects `audience` in place of `resource`, which MCP clients do not send',
  remarks: [
    'Registration needs an Okta API token: set registration.initialAccessTokenRef.',
    'Use a custom authorization server: tokens of the org authorization server cannot be validated by anybody else.',
  ],
};
