// Properties of translate on arbitrary resources: it never throws, is deterministic, does not look at the order of its input,
// leaves no reference dangling, and closes what an invalid policy was meant to protect.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { toBinary, toJsonString } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import type { ProxyPolicy } from '../api/proxy-policy.ts';
import type { Resources } from '../api/resources.ts';
import type { Configuration } from '../ir/configuration.ts';
import {
  type Backend,
  type Filter,
  type Policy,
  type Upstream,
  BackendSchema,
  ListenerSchema,
  PolicySchema,
  PolicyTargetKind,
  RouteSchema,
  SecretSchema,
} from '../ir/gen/config_pb.ts';
import { conditionReasons, type Condition } from './conditions.ts';
import { formatConflict } from './policy-conflicts.ts';
import { arbitraryResources } from './testdata/arbitrary-resources.ts';
import { translate as translateWith, type Translation } from './translate.ts';
import { inferenceTranslation } from './inference-translation.ts';
import { drawOnce } from '../../test/kit/draw-once.ts';
import { effort } from '../../test/kit/effort.ts';

const resources = drawOnce(arbitraryResources);

/** With everything that there is. */
function translateAnew(input: Resources): Translation {
  return translateWith(input, { inference: inferenceTranslation });
}

const translations = new WeakMap<Resources, Translation>();

/** It is deterministic, which has a test. */
function translate(input: Resources): Translation {
  let translation = translations.get(input);
  if (translation === undefined) translations.set(input, (translation = translateAnew(input)));
  return translation;
}

function print<D extends DescMessage>(schema: D, messages: readonly MessageShape<D>[]): readonly string[] {
  return messages.map((message) => toJsonString(schema, message));
}

function printAll(input: Resources): unknown {
  const { configuration, statuses, notices, conflicts } = translateAnew(input);
  return {
    listeners: print(ListenerSchema, configuration.listeners),
    routes: print(RouteSchema, configuration.routes),
    backends: print(BackendSchema, configuration.backends),
    policies: print(PolicySchema, configuration.policies),
    secrets: print(SecretSchema, configuration.secrets),
    statuses: JSON.stringify(statuses),
    notices,
    conflicts,
  };
}

function listKeys({ listeners, backends, policies, secrets, routes }: Configuration): readonly string[] {
  return [...listeners, ...backends, ...policies, ...secrets, ...routes].map(
    (message) => `${message.$typeName} ${message.key}`,
  );
}

function listMirrors(filterMessages: readonly Filter[]): readonly string[] {
  return filterMessages.flatMap(({ filter: each }) => (each.case === 'requestMirror' ? [each.value.backend] : []));
}

function listUpstreams(kind: Backend['kind']): readonly (Upstream | undefined)[] {
  if (kind.case === 'mcp') return kind.value.targets.map(({ upstream }) => upstream);
  if (kind.case === 'federation') return kind.value.targets.map(({ server }) => server?.upstream);
  if (kind.case === 'inference') return [kind.value.upstream, kind.value.picker?.upstream];
  return [kind.value];
}

const targetKinds = {
  Gateway: PolicyTargetKind.GATEWAY,
  HTTPRoute: PolicyTargetKind.HTTP_ROUTE,
  ProxyBackend: PolicyTargetKind.PROXY_BACKEND,
};

interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly sectionName: string;
}

function formatPlace({ namespace, name, sectionName }: Place): string {
  return `${namespace}/${name}/${sectionName}`;
}

/** The top-level fields of a policy, as messages name them. */
function listFields({ traffic, backend }: ProxyPolicy['spec']): readonly string[] {
  const fields = {
    cors: traffic?.cors,
    jwtAuthentication: traffic?.jwtAuthentication,
    authorization: traffic?.authorization,
    mcpAuthentication: backend?.mcp.authentication,
    mcpAuthorization: backend?.mcp.authorization,
  };
  return Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

function isServed({ listeners, routes }: Configuration, kind: keyof typeof targetKinds, place: Place): boolean {
  const name = `${place.namespace}/${place.name}`;
  const isSection = (section: string): boolean => ['', section].includes(place.sectionName);
  if (kind === 'Gateway') {
    // A listener may be there only to keep its hostname from others; nothing leads through it then.
    const leading = new Set(routes.flatMap(({ parents }) => parents.map(({ listener }) => listener)));
    return listeners.some((each) => each.gateway === name && isSection(each.name) && leading.has(each.key));
  }
  if (kind === 'HTTPRoute') return routes.some((each) => each.httpRoute === name && isSection(each.ruleName));
  return routes.some(({ backends }) => backends.some(({ backend }) => backend === `ProxyBackend/${name}`));
}

function checkConditions(subject: keyof typeof conditionReasons, conditions: readonly Condition[]): void {
  const types: Readonly<Record<string, readonly string[]>> = conditionReasons[subject];
  assert.equal(new Set(conditions.map(({ type }) => type)).size, conditions.length);
  for (const { type, reason, message } of conditions)
    assert.ok(types[type]?.includes(reason) && message !== '', `${subject} ${type} ${reason}`);
}

describe('translate', () => {
  test('never throws, and every message fits the wire', () => {
    fc.assert(
      fc.property(resources, (input) => {
        const { configuration } = translate(input);
        for (const each of configuration.listeners) toBinary(ListenerSchema, each);
        for (const each of configuration.routes) toBinary(RouteSchema, each);
        for (const each of configuration.backends) toBinary(BackendSchema, each);
        for (const each of configuration.policies) toBinary(PolicySchema, each);
        for (const each of configuration.secrets) toBinary(SecretSchema, each);
      }),
      { numRuns: effort(500, 10) },
    );
  });

  test('is deterministic, and the order of the input does not matter', () => {
    const shuffled = resources.chain((input) =>
      fc
        .record(
          Object.fromEntries(
            Object.entries(input).map(([key, list]: [string, readonly unknown[]]) => [
              key,
              fc.shuffledSubarray([...list], { minLength: list.length, maxLength: list.length }),
            ]),
          ),
        )
        .map((other) => [input, other as unknown as Resources] as const),
    );
    fc.assert(
      fc.property(shuffled, ([input, other]) => {
        const printed = printAll(input);
        assert.deepEqual(printAll(input), printed);
        assert.deepEqual(printAll(other), printed);
      }),
      { numRuns: effort(500, 10) },
    );
  });

  test('every reference names a message, and every key is there once', () => {
    fc.assert(
      fc.property(resources, (input) => {
        const { configuration } = translate(input);
        const { listeners, routes, backends, policies, secrets } = configuration;
        const keys = listKeys(configuration);
        assert.equal(new Set(keys).size, keys.length);
        const listenerKeys = new Set(listeners.map(({ key }) => key));
        const backendKeys = new Set(backends.map(({ key }) => key));
        const secretKeys = new Set(secrets.map(({ key }) => key));
        for (const { certificates, awaitedCertificates, clientValidation } of listeners) {
          for (const key of awaitedCertificates) assert.ok(certificates.includes(key), key);
          for (const key of certificates) assert.equal(secretKeys.has(key), !awaitedCertificates.includes(key), key);
          for (const key of clientValidation?.ca ?? []) assert.ok(secretKeys.has(key), key);
        }
        for (const route of routes) {
          assert.ok(route.parents.length > 0 && route.matches.length > 0);
          for (const parent of route.parents) assert.ok(listenerKeys.has(parent.listener), parent.listener);
          for (const key of listMirrors(route.filters)) assert.ok(backendKeys.has(key), key);
          for (const target of route.backends) {
            assert.ok(
              target.failure === undefined ? backendKeys.has(target.backend) : target.backend === '',
              route.key,
            );
            for (const key of listMirrors(target.filters)) assert.ok(backendKeys.has(key), key);
          }
          const redirects = route.filters.some(({ filter: each }) => each.case === 'requestRedirect');
          const weight = route.backends.reduce((sum, target) => sum + target.weight, 0);
          assert.ok(route.failure !== undefined || redirects || weight > 0, `${route.key} has nowhere to go`);
        }
        for (const { kind } of backends) {
          for (const upstream of listUpstreams(kind))
            if (upstream?.tls?.ca) assert.ok(secretKeys.has(upstream.tls.ca), upstream.tls.ca);
        }
        for (const { key, target, spec } of policies) {
          assert.ok(target !== undefined && spec.case !== undefined, key);
          if (spec.case === 'jwtAuthentication') {
            for (const { ca, keys: source } of spec.value.providers) {
              assert.ok(ca === '' || secretKeys.has(ca), key);
              assert.ok(source?.source.case !== undefined, key);
              if (source.source.case === 'backend') assert.ok(backendKeys.has(source.source.value.backend), key);
            }
          }
          if (spec.case === 'mcpAuthentication') {
            const { ca, registration, keys: source } = spec.value;
            const named = [ca, registration?.initialAccessToken, registration?.clientSecret];
            for (const each of [...named, registration?.initialAccessTokenFrom?.clientSecret])
              assert.ok(each === undefined || each === '' || secretKeys.has(each), key);
            if (source?.source.case === 'backend') assert.ok(backendKeys.has(source.source.value.backend), key);
          }
          const full = `${target.namespace}/${target.name}`;
          const there: Readonly<Record<number, boolean>> = {
            [PolicyTargetKind.UNSPECIFIED]: false,
            [PolicyTargetKind.NAMESPACE]: true,
            [PolicyTargetKind.GATEWAY]: listeners.some(
              (each) => each.gateway === full && (target.sectionName === '' || each.name === target.sectionName),
            ),
            [PolicyTargetKind.HTTP_ROUTE]: routes.some(
              (each) => each.httpRoute === full && (target.sectionName === '' || each.ruleName === target.sectionName),
            ),
            [PolicyTargetKind.PROXY_BACKEND]: backendKeys.has(`ProxyBackend/${full}`),
          };
          assert.ok(there[target.kind], key);
        }
      }),
      { numRuns: effort(500, 10) },
    );
  });

  test('every condition is known, and each type stands once', () => {
    fc.assert(
      fc.property(resources, (input) => {
        const { statuses } = translate(input);
        for (const { conditions } of Object.values(statuses.gatewayClasses))
          checkConditions('gatewayClass', conditions);
        for (const { conditions, listeners } of Object.values(statuses.gateways)) {
          checkConditions('gateway', conditions);
          for (const each of listeners) checkConditions('listener', each.conditions);
        }
        for (const { parents } of Object.values(statuses.httpRoutes))
          for (const { conditions } of parents) checkConditions('routeParent', conditions);
        for (const { conditions } of Object.values(statuses.proxyBackends)) checkConditions('proxyBackend', conditions);
        for (const { ancestors } of Object.values(statuses.proxyPolicies)) {
          assert.ok(ancestors.length <= 16);
          for (const { conditions } of ancestors) checkConditions('policyAncestor', conditions);
        }
        for (const { parents } of Object.values(statuses.inferencePools)) {
          assert.ok(parents.length <= 32);
          for (const { conditions } of parents) checkConditions('inferencePoolParent', conditions);
        }
      }),
      { numRuns: effort(500, 10) },
    );
  });

  test('an invalid policy closes every target that is served', () => {
    fc.assert(
      fc.property(resources, (input) => {
        const { configuration } = translate(input);
        for (const { kind, namespace: own, raw } of input.invalid) {
          const references = (raw as { spec?: { targetRefs?: unknown } } | null | undefined)?.spec?.targetRefs;
          if (kind !== 'ProxyPolicy' || !Array.isArray(references)) continue;
          const closed = configuration.policies.filter(
            ({ spec, target }) => spec.case === 'failure' && target?.namespace === own,
          );
          const whole = closed.some(({ target }) => target?.kind === PolicyTargetKind.NAMESPACE);
          for (const reference of references as { kind?: unknown; name?: unknown; sectionName?: unknown }[]) {
            if (whole || reference?.kind !== 'HTTPRoute') continue;
            const served = configuration.routes.filter(
              (route) =>
                route.httpRoute === `${own}/${String(reference.name)}` &&
                (reference.sectionName === undefined || route.ruleName === reference.sectionName),
            );
            for (const route of served)
              assert.ok(
                closed.some(
                  ({ target }) =>
                    target?.kind === PolicyTargetKind.HTTP_ROUTE &&
                    `${own}/${target.name}` === route.httpRoute &&
                    ['', route.ruleName].includes(target.sectionName),
                ),
                route.key,
              );
          }
        }
      }),
      { numRuns: effort(500, 10) },
    );
  });

  test('what a policy is meant to protect has the field, of this policy or of another, or is closed, wherever it is served', () => {
    fc.assert(
      fc.property(resources, (input) => {
        const { configuration } = translate(input);
        const set = new Set(
          configuration.policies.flatMap(({ target, spec }) =>
            target === undefined ? [] : [`${spec.case} ${target.kind} ${formatPlace(target)}`],
          ),
        );
        const names = input.proxyPolicies.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
        for (const { metadata, spec } of input.proxyPolicies) {
          const { namespace } = metadata;
          // A source gives each name once.
          const isAlone = names.filter((each) => each === `${namespace}/${metadata.name}`).length === 1;
          if (!isAlone || set.has(`failure ${PolicyTargetKind.NAMESPACE} ${namespace}//`)) continue;
          for (const { kind, name, sectionName = '' } of spec.targetRefs ?? []) {
            const place = { namespace, name, sectionName };
            if (!isServed(configuration, kind, place)) continue;
            for (const field of listFields(spec))
              assert.ok(
                [field, 'failure'].some((each) => set.has(`${each} ${targetKinds[kind]} ${formatPlace(place)}`)),
                `${metadata.name}: ${field} on ${kind} ${formatPlace(place)}`,
              );
          }
        }
        // And no secret is there that no policy, listener or backend has a use for.
        const text = configuration.secrets.filter(({ value }) => value.case === 'text').map(({ key }) => key);
        const used = JSON.stringify(configuration.policies.map((policy) => toJsonString(PolicySchema, policy)));
        for (const key of text) assert.ok(used.includes(key), key);
      }),
      { numRuns: effort(500, 10) },
    );
  });

  test('a policy that has no say somewhere is told so, and the one that has is there', () => {
    fc.assert(
      fc.property(resources, (input) => {
        const { configuration, statuses, conflicts } = translate(input);
        for (const conflict of conflicts) {
          const { policy, field, target, owner } = conflict;
          assert.notEqual(policy, owner);
          const ancestors = statuses.proxyPolicies[policy]?.ancestors ?? [];
          // Another controller's Gateway: its status is not ours to write.
          const isForeign = target.kind === 'Gateway' && !(`${target.namespace}/${target.name}` in statuses.gateways);
          const refused = ancestors.flatMap(({ conditions }) =>
            conditions.filter(({ type, status }) => type === 'Accepted' && status === 'False'),
          );
          const isSaid = refused.some(({ message }) => message.includes(formatConflict(conflict)));
          // An invalid policy of the same name has the status then.
          const isShadowed = input.invalid.some(({ namespace, name }) => `${namespace}/${name}` === policy);
          assert.ok(isSaid || isForeign || isShadowed, `${policy}: ${field}`);
          // One that opens a route is no rival of one that asks for a token there: they have different fields.
          if (target.kind === 'Namespace' || field === 'traffic.publicAccess') continue;
          const key = JSON.stringify([targetKinds[target.kind], formatPlace(target)]);
          const owned = configuration.policies.filter(
            (each) =>
              each.source === owner &&
              each.target !== undefined &&
              JSON.stringify([each.target.kind, formatPlace(each.target)]) === key,
          );
          const isKnown = owned.some(({ rivals }) => rivals.some(({ source }) => source === policy));
          assert.ok(isKnown || owned.length === 0, `${owner} does not know of ${policy}`);
        }
        for (const { source } of configuration.policies) assert.ok(source in statuses.proxyPolicies, source);
      }),
      { numRuns: effort(500, 10) },
    );
  });

  test('a pool in use is one that its status accepts for the Gateway, and its endpoints are those of ready Pods', () => {
    fc.assert(
      fc.property(resources, (input) => {
        const { configuration, statuses } = translate(input);
        const gatewayOf = new Map(configuration.listeners.map(({ key, gateway }) => [key, gateway]));
        const addresses = new Set(input.pods.map(({ metadata, status }) => `${metadata.namespace} ${status.podIP}`));
        for (const { backends, parents } of configuration.routes) {
          for (const { backend } of backends) {
            if (!backend.startsWith('InferencePool/')) continue;
            const status = statuses.inferencePools[backend.slice('InferencePool/'.length)];
            for (const { listener } of parents) {
              const own = status?.parents.find(
                ({ parentRef }) => `${parentRef.namespace}/${parentRef.name}` === gatewayOf.get(listener),
              );
              const resolved = own?.conditions.find(({ type }) => type === 'ResolvedRefs');
              assert.equal(resolved?.status, 'True', `${backend} ${listener}`);
            }
          }
        }
        for (const { key, kind } of configuration.backends) {
          if (kind.case !== 'inference') continue;
          assert.ok(kind.value.picker?.upstream !== undefined, key);
          for (const { host } of kind.value.upstream?.endpoints ?? [])
            assert.ok(addresses.has(`${key.split('/')[1]} ${host}`), `${key} ${host}`);
        }
      }),
      { numRuns: effort(500, 10) },
    );
  });

  test('without the Inference Extension there are no pools', () => {
    fc.assert(
      fc.property(resources, (input) => {
        const { configuration, statuses } = translateWith(input);
        assert.deepEqual(statuses.inferencePools, {});
        assert.ok(configuration.backends.every(({ kind }) => kind.case !== 'inference'));
        // What is there or not of them changes nothing.
        const rest = input.invalid.filter(({ kind }) => kind !== 'InferencePool');
        const without = translateWith({ ...input, inferencePools: [], pods: [], invalid: rest });
        assert.deepEqual(without, translateWith({ ...input, invalid: rest }));
      }),
      { numRuns: effort(200, 10) },
    );
  });

  test('the generator reaches what it is for', () => {
    const seen = {
      listeners: 0,
      routes: 0,
      backends: 0,
      cors: 0,
      failures: 0,
      accepted: 0,
      ruleFailures: 0,
      authentications: 0,
      jwtAuthentications: 0,
      authorizations: 0,
      messageRules: 0,
      conflicts: 0,
      listenerPolicies: 0,
      rulePolicies: 0,
      withoutJwtReferent: 0,
      withSecrets: 0,
      withoutReferent: 0,
      pools: 0,
      poolEndpoints: 0,
      poolsRefused: 0,
      poolsNotAccepted: 0,
      poolAuthorities: 0,
    };
    for (const input of fc.sample(resources, { numRuns: 200, seed: 7 })) {
      const { configuration, statuses, conflicts } = translate(input);
      seen.conflicts += conflicts.length;
      seen.listeners += configuration.listeners.length;
      seen.routes += configuration.routes.length;
      seen.backends += configuration.backends.length;
      seen.cors += configuration.policies.filter(({ spec }) => spec.case === 'cors').length;
      seen.authentications += configuration.policies.filter(({ spec }) => spec.case === 'mcpAuthentication').length;
      const count = (isCounted: (policy: Policy) => boolean): number => configuration.policies.filter(isCounted).length;
      seen.jwtAuthentications += count(({ spec }) => spec.case === 'jwtAuthentication');
      seen.authorizations += count(({ spec }) => spec.case === 'authorization');
      seen.messageRules += count(({ spec }) => spec.case === 'mcpAuthorization');
      const isIn = ({ target }: Policy, kind: PolicyTargetKind): boolean =>
        target?.kind === kind && target.sectionName !== '';
      seen.listenerPolicies += count((policy) => isIn(policy, PolicyTargetKind.GATEWAY));
      seen.rulePolicies += count((policy) => isIn(policy, PolicyTargetKind.HTTP_ROUTE));
      seen.withoutJwtReferent += count(
        ({ key, spec }) => spec.case === 'failure' && key.includes('/traffic.jwtAuthentication/'),
      );
      seen.withSecrets += configuration.secrets.filter(({ value }) => value.case === 'text').length;
      seen.withoutReferent += configuration.policies.filter(
        ({ key, spec }) => spec.case === 'failure' && key.includes('/backend.mcp.authentication/'),
      ).length;
      seen.failures += configuration.policies.filter(({ spec }) => spec.case === 'failure').length;
      seen.ruleFailures += configuration.routes.filter(({ failure }) => failure !== undefined).length;
      for (const { kind } of configuration.backends) {
        if (kind.case !== 'inference') continue;
        seen.pools += 1;
        seen.poolEndpoints += kind.value.upstream?.endpoints.length ?? 0;
        if ((kind.value.picker?.upstream?.tls?.ca ?? '') !== '') seen.poolAuthorities += 1;
      }
      for (const { conditions } of Object.values(statuses.inferencePools).flatMap(({ parents }) => parents)) {
        const reasons = new Set(conditions.map(({ reason }) => reason));
        if (reasons.has('InvalidExtensionRef')) seen.poolsRefused += 1;
        if (reasons.has('HTTPRouteNotAccepted')) seen.poolsNotAccepted += 1;
      }
      seen.accepted += Object.values(statuses.httpRoutes).length;
    }
    for (const [what, count] of Object.entries(seen)) assert.ok(count > 10, `${what}: ${count}`);
  });
});
