// What /config shows is enough to explain requests by it: every message of every case of the translation comes back as it was.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { create, type DescMessage, equals, type MessageShape, toJson } from '@bufbuild/protobuf';
import { parseAllDocuments } from 'yaml';
import { dumpConfig } from '../../gateway/admin/dump-config.ts';
import { compile } from '../../gateway/config/compile/compile.ts';
import { type Configuration, emptyConfiguration } from '../../ir/configuration.ts';
import {
  BackendSchema,
  ListenerSchema,
  type Policy,
  PolicySchema,
  RouteSchema,
  SecretSchema,
  ValueMatchType,
} from '../../ir/gen/config_pb.ts';
import { collectResources } from '../../translate/testdata/collect-resources.ts';
import { translate } from '../../translate/translate.ts';
import { readDump } from './read-gateway-config.ts';
import { getStandInKeys } from './stand-in-keys.ts';

type Read = ReturnType<typeof readDump>;

/** As it comes over HTTP. */
function dumpAndRead(configuration: Configuration): Read {
  const dump: unknown = JSON.parse(JSON.stringify(dumpConfig(configuration, compile(configuration).runtime)));
  return readDump(dump as Parameters<typeof readDump>[0], 'http://gateway');
}

const folder = join(import.meta.dirname, '../../translate/testdata');
const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));

/** Keys in a policy are not shown, and nobody expects them back. */
function hideKeySets(policy: Policy): Policy {
  const copy = structuredClone(policy);
  const sources =
    copy.spec.case === 'jwtAuthentication'
      ? copy.spec.value.providers.map(({ keys }) => keys)
      : copy.spec.case === 'mcpAuthentication'
        ? [copy.spec.value.keys]
        : [];
  for (const keys of sources) if (keys?.source.case === 'inline') keys.source.value = getStandInKeys().document;
  return copy;
}

function assertSame<D extends DescMessage>(
  schema: D,
  actual: readonly MessageShape<D>[],
  expected: readonly MessageShape<D>[],
  isHidden: (message: MessageShape<D>) => boolean = () => false,
): number {
  assert.equal(actual.length, expected.length);
  for (const [index, message] of expected.entries())
    if (!isHidden(message) && !equals(schema, actual[index]!, message))
      assert.deepEqual(toJson(schema, actual[index]!), toJson(schema, message));
  return expected.length;
}

describe('the configuration of a running gateway', () => {
  test('comes back from /config', () => {
    let count = 0;
    for (const file of files) {
      const [input = ''] = readFileSync(join(folder, file), 'utf8').split('\n---\n# ---- expected ----\n');
      const documents = parseAllDocuments(input).map((document): unknown => document.toJS());
      const { configuration } = translate(collectResources(documents, 'kubernetes'));
      const { configuration: read } = dumpAndRead(configuration);
      // Credentials are taken out; those messages are for the test below.
      const isRedacted = (message: object): boolean =>
        /authorization|api-key|cookie|secret|token/i.test(
          JSON.stringify(message, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
        );
      count += assertSame(ListenerSchema, read.listeners, configuration.listeners);
      count += assertSame(RouteSchema, read.routes, configuration.routes, isRedacted);
      count += assertSame(BackendSchema, read.backends, configuration.backends);
      count += assertSame(PolicySchema, read.policies, configuration.policies.map(hideKeySets), isRedacted);
      assert.deepEqual(
        read.secrets.map(({ key, value }) => [key, value.case]),
        configuration.secrets.map(({ key, value }) => [key, value.case]),
        file,
      );
    }
    assert.ok(count > 200, `${count} messages compared`);
  });

  test('says what it does not show', () => {
    const inline = { source: { case: 'inline', value: '{"keys":[{"kty":"oct","k":"aGVsbG8"}]}' } } as const;
    const { configuration, notes } = dumpAndRead({
      ...emptyConfiguration,
      routes: [
        create(RouteSchema, {
          key: 'default/tickets/0',
          httpRoute: 'default/tickets',
          matches: [{ headers: [{ name: 'x-api-key', type: ValueMatchType.EXACT, value: 'hunter2' }] }],
        }),
      ],
      policies: [
        create(PolicySchema, {
          key: 'default/who/jwt',
          source: 'default/who',
          spec: {
            case: 'jwtAuthentication',
            value: { providers: [{ name: 'corp', issuer: 'https://a', keys: inline }] },
          },
        }),
      ],
      secrets: [create(SecretSchema, { key: 'Secret/default/a/b', value: { case: 'text', value: 'hunter2' } })],
    });
    assert.doesNotMatch(JSON.stringify(configuration), /hunter2|aGVsbG8/);
    assert.deepEqual(notes, [
      'By the configuration that the gateway at http://gateway has in force (version 1).',
      'The gateway does not show keys that stand in policies; signatures by them count as good.',
      'The gateway does not show certificates, keys and credentials; they are taken as good.',
      'The gateway does not show these values, and a request is taken not to match them: x-api-key of HTTPRoute default/tickets. -f or --from-cluster knows them.',
    ]);
  });

  test('of another version is refused: half of the settings are no answer', () => {
    const dump = { listeners: [{ key: 'a', shiny: true }], routes: [], backends: [], policies: [], secrets: [] };
    assert.throws(() => readDump(dump, 'http://gateway'));
  });
});
