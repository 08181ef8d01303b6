// The presets by the name that a policy gives (`provider`). A standard identity provider needs none.
import { auth0 } from './auth0.ts';
import { authentik } from './authentik.ts';
import { descope } from './descope.ts';
import { dex } from './dex.ts';
import { entra } from './entra.ts';
import { google } from './google.ts';
import { keycloak } from './keycloak.ts';
import { okta } from './okta.ts';
import { type ProviderPreset, standardPreset } from '../../../config/provider-preset.ts';
import { spring } from './spring.ts';

const presets: ReadonlyMap<string, ProviderPreset> = new Map(
  [keycloak, auth0, okta, entra, descope, authentik, google, dex, spring].map((preset) => [preset.name, preset]),
);

/** The preset of this name; the standard one for an empty name; undefined for a name that nobody knows. */
export function findPreset(provider: string): ProviderPreset | undefined {
  return provider === '' ? standardPreset : presets.get(provider);
}

/** All names, as policies spell them. */
export function listPresetNames(): readonly string[] {
  return [...presets.keys()];
}
