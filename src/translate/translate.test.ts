// Goldens: testdata/*.yaml holds resources, then `expected:`. UPDATE_GOLDENS=1 rewrites what is expected; read the difference.
// Of messages they have what differs from the defaults (testing/message-defaults.ts); testdata/defaults.yaml has all.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { DescMessage, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { BackendSchema, ListenerSchema, PolicySchema, RouteSchema, SecretSchema } from '../ir/gen/config_pb.ts';
import { allPolicyKinds, findPolicyKind } from '../ir/policy-kinds.ts';
import { conditionReasons, createCondition, type Condition } from './conditions.ts';
import type { GatewayFacts, KeptCertificates, KeysProblem, TargetFacts } from './gateway-facts.ts';
import { describeProgrammed } from './programmed-status.ts';
import { supportedFeatures } from './supported-features.ts';
import { collectResources } from './testdata/collect-resources.ts';
import { messageDefaults, type MessageDefaults } from './testing/message-defaults.ts';
import { printMessage } from './testing/print-message.ts';
import { type Translation, translate } from './translate.ts';
import { inferenceTranslation } from './inference-translation.ts';

const folder = new URL('testdata/', import.meta.url);
const separator = '\n---\n# ---- expected ----\n';

interface Golden {
  readonly file: string;
  readonly input: string;
  readonly expected: unknown;
}

const goldens = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .toSorted()
  .map(readGolden);

function readGolden(file: string): Golden {
  const text = readFileSync(new URL(file, folder), 'utf8');
  const [input = '', expected = ''] = text.split(separator);
  return { file, input: input.trimEnd(), expected: (parse(expected) as { expected?: unknown } | null)?.expected };
}

/** What a golden says about itself in comments at its top: `# origin: kubernetes`, `# placement: pods`, `# inference: on`, `# defaults: shown`. */
function readDirective(input: string, name: string): string | undefined {
  const [head = ''] = input.split(/^[^#]/m);
  return new RegExp(`^# ${name}: (\\w+)$`, 'm').exec(head)?.[1];
}

/** A document of a golden that is no resource: what is known of running gateways. */
interface FactsDocument {
  readonly facts: Readonly<Record<string, WrittenFacts>>;
  readonly gatewayApiVersions?: readonly string[];
  readonly isXdsEncrypted?: boolean;
}

type WrittenFacts = Partial<
  Omit<GatewayFacts, 'keyProblems' | 'bindProblems' | 'keptCertificates' | 'targets' | 'isSettled' | 'listBehind'>
> & {
  readonly keyProblems?: Readonly<Record<string, KeysProblem>>;
  readonly bindProblems?: Readonly<Record<string, string>>;
  readonly keptCertificates?: Readonly<Record<string, KeptCertificates>>;
  /** By backend and name. */
  readonly targets?: Readonly<Record<string, Readonly<Record<string, TargetFacts>>>>;
  /** List and key of messages that not every process has answered for. */
  readonly unsettled?: readonly string[];
};

function readFacts(written: WrittenFacts): GatewayFacts {
  const { unsettled = [], keyProblems = {}, bindProblems = {}, keptCertificates = {}, targets = {}, ...rest } = written;
  return {
    addresses: [],
    deployProblem: undefined,
    addressProblem: undefined,
    processes: 0,
    rejections: [],
    behind: [],
    ...rest,
    isSettled: (list, key) => !unsettled.includes(`${list} ${key}`),
    listBehind: () => rest.behind ?? [],
    keyProblems: new Map(Object.entries(keyProblems)),
    keptCertificates: new Map(Object.entries(keptCertificates)),
    targets: new Map(Object.entries(targets).map(([backend, own]) => [backend, new Map(Object.entries(own))])),
    bindProblems: new Map(Object.entries(bindProblems).map(([port, reason]) => [Number(port), reason])),
  };
}

function isFacts(document: unknown): document is FactsDocument {
  return typeof document === 'object' && document !== null && 'facts' in document;
}

function translateGolden(input: string): Translation {
  const documents = parseAllDocuments(input).map((document): unknown => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS();
  });
  const origin = readDirective(input, 'origin') === 'kubernetes' ? 'kubernetes' : 'file';
  const placement = readDirective(input, 'placement') === 'pods' ? 'pods' : 'host';
  const resources = collectResources(
    documents.filter((document) => !isFacts(document)),
    origin,
  );
  const inferenceExtension = readDirective(input, 'inference') === 'on';
  const translation = translate(resources, {
    placement,
    inference: inferenceExtension ? inferenceTranslation : undefined,
  });
  const known = documents.find(isFacts);
  if (known === undefined) return translation;
  const facts = new Map(Object.entries(known.facts).map(([name, written]) => [name, readFacts(written)]));
  const { gatewayApiVersions, isXdsEncrypted } = known;
  return { ...translation, statuses: describeProgrammed(translation, facts, gatewayApiVersions, { isXdsEncrypted }) };
}

function printTranslation(
  { configuration, statuses, notices, conflicts, plans, held }: Translation,
  defaults: MessageDefaults,
): unknown {
  const print = <D extends DescMessage>(schema: D, messages: readonly MessageShape<D>[]): readonly JsonValue[] =>
    messages.map((message) => printMessage(schema, message, defaults));
  return dropEmpty({
    configuration: {
      listeners: print(ListenerSchema, configuration.listeners),
      routes: print(RouteSchema, configuration.routes),
      backends: print(BackendSchema, configuration.backends),
      policies: print(PolicySchema, configuration.policies),
      secrets: print(SecretSchema, configuration.secrets),
    },
    statuses: { ...statuses, gatewayClasses: shortenFeatures(statuses.gatewayClasses) },
    notices,
    conflicts,
    plans: plans.map(({ name, addresses, ports, parameters }) => ({
      name,
      addresses,
      ports,
      parameters: parameters.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    })),
    held,
  });
}

// The list stands in supported-features.ts; here it would hide the rest.
function shortenFeatures(classes: Translation['statuses']['gatewayClasses']): object {
  return Object.fromEntries(
    Object.entries(classes).map(([name, status]) => [
      name,
      status.supportedFeatures === supportedFeatures ? { ...status, supportedFeatures: 'all' } : status,
    ]),
  );
}

function isFilled([, each]: [string, unknown]): boolean {
  return Object.keys(each as object).length > 0;
}

// The empty collections of the outermost two levels; within a status an empty list says something.
function dropEmpty(value: Readonly<Record<string, object>>): unknown {
  const inner = Object.entries(value).map(
    ([key, each]) =>
      [key, Array.isArray(each) ? each : Object.fromEntries(Object.entries(each).filter(isFilled))] as [
        string,
        unknown,
      ],
  );
  return Object.fromEntries(inner.filter(isFilled));
}

describe('goldens', () => {
  for (const { file, input, expected } of goldens) {
    test(file, () => {
      const isWhole = readDirective(input, 'defaults') === 'shown';
      const actual = printTranslation(translateGolden(input), isWhole ? {} : messageDefaults);
      if (process.env['UPDATE_GOLDENS'] === '1') {
        const yaml = stringify({ expected: actual }, { aliasDuplicateObjects: false, lineWidth: 0 });
        writeFileSync(new URL(file, folder), input + separator + yaml);
        return;
      }
      assert.deepEqual(actual, expected);
    });
  }

  test('every default that goldens leave out is what translation makes of resources that say nothing', () => {
    const { input } = goldens.find(({ file }) => file === 'defaults.yaml')!;
    const translation = translateGolden(input);
    const measure = (defaults: MessageDefaults): number =>
      JSON.stringify(printTranslation(translation, defaults)).length;
    const shortest = measure(messageDefaults);
    for (const [type, fields] of Object.entries(messageDefaults)) {
      for (const field of Object.keys(fields)) {
        const { [field]: _, ...others } = fields;
        const length = measure({ ...messageDefaults, [type]: others });
        assert.ok(length > shortest, `${type}.${field} is never its default in defaults.yaml`);
      }
    }
  });

  test('defaults.yaml has a policy of every kind', () => {
    const { input } = goldens.find(({ file }) => file === 'defaults.yaml')!;
    const kinds = new Set(translateGolden(input).configuration.policies.map(findPolicyKind));
    assert.deepEqual(kinds, new Set(allPolicyKinds));
  });

  test('there are at least 60 cases', () => {
    assert.ok(goldens.length >= 60, `only ${goldens.length}`);
  });
});

test('every condition, status and reason of conditions.ts stands in a golden', () => {
  const seen = new Set<string>();
  const note = (subject: string, conditions: readonly Condition[]): void => {
    for (const { type, reason } of conditions) seen.add(`${subject} ${type} ${reason}`);
  };
  for (const { expected } of goldens) {
    const { statuses = {} } = (expected ?? {}) as { statuses?: Partial<Translation['statuses']> };
    for (const { conditions } of Object.values(statuses.gatewayClasses ?? {})) note('gatewayClass', conditions);
    for (const { conditions, listeners } of Object.values(statuses.gateways ?? {})) {
      note('gateway', conditions);
      for (const listener of listeners) note('listener', listener.conditions);
    }
    for (const { parents } of Object.values(statuses.httpRoutes ?? {}))
      for (const { conditions } of parents) note('routeParent', conditions);
    for (const { conditions } of Object.values(statuses.proxyBackends ?? {})) note('proxyBackend', conditions);
    for (const { ancestors } of Object.values(statuses.proxyPolicies ?? {}))
      for (const { conditions } of ancestors) note('policyAncestor', conditions);
    for (const { parents } of Object.values(statuses.inferencePools ?? {}))
      for (const { conditions } of parents) note('inferencePoolParent', conditions);
  }
  const wanted = Object.entries(conditionReasons).flatMap(([subject, types]) =>
    Object.entries(types).flatMap(([type, reasons]) => reasons.map((reason: string) => `${subject} ${type} ${reason}`)),
  );
  assert.deepEqual(
    wanted.filter((each) => !seen.has(each)),
    [],
  );
});

test('a status lists 16 ancestors, and the policy is in force for all', () => {
  const names = Array.from({ length: 17 }, (_, index) => `gateway-${index + 10}`);
  const gateways = names.map((name, index) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name },
    spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 9000 + index, protocol: 'HTTP' }] },
  }));
  const route = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'everywhere' },
    spec: { parentRefs: names.map((name) => ({ name })) },
  };
  const policy = {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'browser' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'everywhere' }],
      traffic: { cors: { allowOrigins: ['*'] } },
    },
  };
  const { configuration, statuses, notices } = translate(collectResources([...gateways, route, policy], 'file'));
  assert.equal(configuration.routes[0]?.parents.length, 17);
  assert.equal(configuration.policies.length, 1);
  assert.equal(statuses.proxyPolicies['default/browser']?.ancestors.length, 16);
  assert.match(notices.find(({ kind }) => kind === 'ProxyPolicy')?.message ?? '', /17 ancestors/);
});

test('a pool lists 32 parents, and is served at all Gateways', () => {
  const names = Array.from({ length: 33 }, (_, index) => `gateway-${index + 10}`);
  const gateways = names.map((name, index) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name },
    spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 9000 + index, protocol: 'HTTP' }] },
  }));
  // A route has 32 parents at most.
  const routes = [names.slice(0, 20), names.slice(20)].map((parents, index) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: `models-${index}` },
    spec: {
      parentRefs: parents.map((name) => ({ name })),
      rules: [{ backendRefs: [{ group: 'inference.networking.k8s.io', kind: 'InferencePool', name: 'models' }] }],
    },
  }));
  const pool = {
    apiVersion: 'inference.networking.k8s.io/v1',
    kind: 'InferencePool',
    metadata: { name: 'models' },
    spec: {
      selector: { matchLabels: { app: 'models' } },
      targetPorts: [{ number: 8000 }],
      endpointPickerRef: { name: 'picker', port: { number: 9002 } },
    },
  };
  const picker = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'picker' }, spec: { ports: [{ port: 9002 }] } };
  const resources = collectResources([...gateways, ...routes, pool, picker], 'file');
  const { configuration, statuses, notices } = translate(resources, { inference: inferenceTranslation });
  assert.equal(configuration.routes.flatMap(({ parents }) => parents).length, 33);
  const parents = statuses.inferencePools['default/models']?.parents ?? [];
  assert.deepEqual(
    parents.map(({ parentRef }) => parentRef.name),
    names.slice(0, 32),
  );
  assert.ok(notices.some(({ kind, message }) => kind === 'InferencePool' && message.includes('33 parents')));
});

test('Kubernetes takes every message', () => {
  const condition = createCondition('gateway', 'Accepted', 'False', 'Invalid', 'x'.repeat(40_000), 1);
  assert.equal(condition.message.length, 32_768);
});

test('another controller name serves other classes', () => {
  const gatewayClass = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'mine' },
    spec: { controllerName: 'example.com/mine' },
  };
  const gateway = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'edge' },
    spec: { gatewayClassName: 'mine', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
  };
  const resources = collectResources([gatewayClass, gateway], 'file');
  assert.equal(translate(resources).configuration.listeners.length, 0);
  assert.equal(translate(resources, { controllerName: 'example.com/mine' }).configuration.listeners.length, 1);
});
