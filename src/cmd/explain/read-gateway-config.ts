// The configuration of a running gateway, from /config of its admin port. It keeps secrets to itself: what is missing is stood in for, and told.
import { create, fromJson, type DescMessage, type JsonValue, type MessageShape } from '@bufbuild/protobuf';
import { isJsonObject, type JsonObject } from '../../base/json-object.ts';
import type { Configuration } from '../../ir/configuration.ts';
import {
  BackendSchema,
  ListenerSchema,
  PolicySchema,
  RouteSchema,
  type Secret,
  SecretSchema,
} from '../../ir/gen/config_pb.ts';
import { type AdminPort, askAdminPort } from './ask-gateway.ts';
import { getStandInCertificate } from './stand-in-certificate.ts';
import { getStandInKeys } from './stand-in-keys.ts';
import { standInText } from './stand-in-objects.ts';

type ReadGatewayConfig =
  | { readonly ok: true; readonly configuration: Configuration; readonly notes: readonly string[] }
  | { readonly ok: false; readonly problem: string };

/** Asks the admin port. */
export async function readGatewayConfig(port: AdminPort): Promise<ReadGatewayConfig> {
  const answer = await askAdminPort(port, '/config');
  if (!answer.ok) return answer;
  const dump = answer.status === 200 ? answer.body : undefined;
  if (!isDump(dump))
    return {
      ok: false,
      problem: `${answer.origin} is not the admin port of a gateway: /config answers ${answer.status}`,
    };
  try {
    return { ok: true, ...readDump(dump, answer.origin) };
  } catch {
    return {
      ok: false,
      problem: `the configuration at ${answer.origin}/config is of another version: use the mcp-gatehouse of that gateway`,
    };
  }
}

type Dump = JsonObject &
  Readonly<Record<'listeners' | 'routes' | 'backends' | 'policies' | 'secrets', readonly unknown[]>>;

function isDump(value: JsonObject | undefined): value is Dump {
  return (
    value !== undefined &&
    ['listeners', 'routes', 'backends', 'policies', 'secrets'].every((name) => Array.isArray(value[name]))
  );
}

/** Throws when a message is not one that this version knows: an answer by half of the settings could be wrong. */
export function readDump(
  dump: Dump,
  origin: string,
): { readonly configuration: Configuration; readonly notes: readonly string[] } {
  const policies = dump.policies.map((policy) => restoreKeySets(policy));
  const configuration: Configuration = {
    listeners: readMessages(ListenerSchema, dump.listeners),
    routes: readMessages(RouteSchema, dump.routes),
    backends: readMessages(BackendSchema, dump.backends),
    policies: readMessages(
      PolicySchema,
      policies.map(({ value }) => value),
    ),
    secrets: dump.secrets.flatMap(standInForSecret),
  };
  const version = typeof dump['version'] === 'number' ? ` (version ${dump['version']})` : '';
  const notes = [`By the configuration that the gateway at ${origin} has in force${version}.`];
  if (policies.some(({ hadKeys }) => hadKeys))
    notes.push('The gateway does not show keys that stand in policies; signatures by them count as good.');
  if (configuration.secrets.length > 0)
    notes.push('The gateway does not show certificates, keys and credentials; they are taken as good.');
  const places = listRedacted({ routes: dump.routes, policies: dump.policies });
  if (places.length > 0)
    notes.push(
      `The gateway does not show these values, and a request is taken not to match them: ${places.join(', ')}. -f or --from-cluster knows them.`,
    );
  return { configuration, notes };
}

function readMessages<D extends DescMessage>(schema: D, values: readonly unknown[]): MessageShape<D>[] {
  return values.map((value) => fromJson(schema, value as JsonValue));
}

/** A JWK set is shown as a list of what tells its keys apart. It is not used to verify signatures (AssumedKeys). */
function restoreKeySets(value: unknown): { readonly value: unknown; readonly hadKeys: boolean } {
  let hadKeys = false;
  const restore = (each: unknown): unknown => {
    if (Array.isArray(each)) return (each as readonly unknown[]).map(restore);
    if (!isJsonObject(each)) return each;
    return Object.fromEntries(
      Object.entries(each).map(([key, member]) => {
        if (key !== 'inline') return [key, restore(member)];
        hadKeys = true;
        return [key, getStandInKeys().document];
      }),
    );
  };
  return { value: restore(value), hadKeys };
}

function standInForSecret(summary: unknown): Secret[] {
  if (!isJsonObject(summary) || typeof summary['key'] !== 'string') return [];
  const { key } = summary;
  const { certificate, key: privateKey } = getStandInCertificate();
  if (summary['tls'] !== undefined)
    return [
      create(SecretSchema, { key, value: { case: 'tls', value: { certificateChain: certificate, privateKey } } }),
    ];
  if (summary['caCertificates'] !== undefined)
    return [create(SecretSchema, { key, value: { case: 'caCertificates', value: certificate } })];
  if (summary['text'] !== undefined)
    return [create(SecretSchema, { key, value: { case: 'text', value: standInText } })];
  // Seal keys are made anew wherever they are needed.
  return [];
}

const maxPlaces = 8;

/** Where values were taken out that a request could be compared with. */
function listRedacted(lists: Readonly<Record<string, readonly unknown[]>>): string[] {
  const places = new Set<string>();
  const visit = (value: unknown, owner: string, name: string): void => {
    if (typeof value === 'string' && value.includes('[redacted]')) places.add(`${name} of ${owner}`);
    if (Array.isArray(value)) for (const item of value as readonly unknown[]) visit(item, owner, name);
    if (!isJsonObject(value)) return;
    const own = typeof value['name'] === 'string' ? value['name'] : undefined;
    for (const [key, member] of Object.entries(value)) visit(member, owner, own ?? key);
  };
  for (const message of Object.values(lists).flat())
    if (isJsonObject(message)) visit(message, describeOwner(message), '');
  const all = [...places];
  return all.length <= maxPlaces ? all : [...all.slice(0, maxPlaces), `and ${all.length - maxPlaces} more`];
}

function describeOwner({ httpRoute, source, key }: JsonObject): string {
  if (typeof httpRoute === 'string') return `HTTPRoute ${httpRoute}`;
  return typeof source === 'string' ? `ProxyPolicy ${source}` : String(key);
}
