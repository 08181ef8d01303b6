// Auth0: names the resource in `audience`, and gives opaque tokens when it is missing.
import type { ProviderPreset } from '../../../config/provider-preset.ts';

export const auth0: ProviderPreset = {
  name: 'Auth0',
  resourceParameter: 'audience',
  needsBroker: 'Auth0 expects `audience` in place of `resource`, which MCP clients do not send',
  remarks: [
    "The audience of the API in Auth0 has to be the resource's URL, or be listed in audiences. Without an API of that name tokens are opaque.",
    'Dynamic registration has to be enabled in the tenant, and connections promoted to domain level.',
  ],
};
