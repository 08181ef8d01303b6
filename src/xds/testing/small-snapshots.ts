// Snapshots for tests: resources that consist of a name and a content, by type.
import { create } from '@bufbuild/protobuf';
import { type Configuration, emptyConfiguration } from '../../ir/configuration.ts';
import { BackendSchema, ListenerSchema, PolicySchema, RouteSchema, SecretSchema } from '../../ir/gen/config_pb.ts';
import { resourceTypes } from '../resource-types.ts';
import { buildSnapshot, type Snapshot } from '../snapshot.ts';

/** Contents by list, then by name. */
export type SmallConfiguration = { readonly [L in keyof Configuration]?: Readonly<Record<string, string>> };

const makers = {
  secrets: (key: string, text: string) => create(SecretSchema, { key, value: { case: 'text', value: text } }),
  backends: (key: string, text: string) =>
    create(BackendSchema, { key, kind: { case: 'http', value: { hostHeader: text } } }),
  policies: (key: string, text: string) => create(PolicySchema, { key, source: text }),
  listeners: (key: string, text: string) => create(ListenerSchema, { key, name: text }),
  routes: (key: string, text: string) => create(RouteSchema, { key, ruleName: text }),
};

export function makeConfiguration(small: SmallConfiguration): Configuration {
  const lists = Object.entries(small).map(([list, contents]) => [
    list,
    Object.entries(contents).map(([key, text]) => makers[list as keyof Configuration](key, text)),
  ]);
  return { ...emptyConfiguration, ...(Object.fromEntries(lists) as Partial<Configuration>) };
}

export function makeSnapshot(small: SmallConfiguration): Snapshot {
  return buildSnapshot(makeConfiguration(small));
}

/** The type URL of a list. */
export function getTypeUrl(list: keyof Configuration): string {
  return resourceTypes.find((type) => type.list === list)!.typeUrl;
}
