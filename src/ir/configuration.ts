// Everything one gateway serves, as messages. Standalone hands it over in memory, xDS resource by resource.
import type { Backend, Listener, Policy, Route, Secret } from './gen/config_pb.ts';

export interface Configuration {
  readonly listeners: readonly Listener[];
  readonly routes: readonly Route[];
  readonly backends: readonly Backend[];
  readonly policies: readonly Policy[];
  readonly secrets: readonly Secret[];
}

export const emptyConfiguration: Configuration = { listeners: [], routes: [], backends: [], policies: [], secrets: [] };
