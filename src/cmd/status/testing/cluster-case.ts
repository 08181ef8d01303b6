// A cluster for tests of `status`: resources as YAML, with the statuses that a controller would have written.
import { parseAllDocuments } from 'yaml';
import { isJsonObject } from '../../../base/json-object.ts';
import type { KubernetesObject } from '../../../kubernetes/client.ts';
import type { Condition } from '../../../translate/conditions.ts';
import type { GatewayFacts } from '../../../translate/gateway-facts.ts';
import type { GatewayPlan } from '../../../translate/gateway-plan.ts';
import { formatName } from '../../../translate/order.ts';
import { describeProgrammed } from '../../../translate/programmed-status.ts';
import { translate, type Translation } from '../../../translate/translate.ts';
import { parseObjects } from '../../explain/read-cluster.ts';
import { type ClusterView, controllerKinds, type KindView, statusKinds } from '../cluster-view.ts';
import { inferenceTranslation } from '../../../translate/inference-translation.ts';

/** Objects of a YAML text, with namespace, generation and uid as an API server gives them. */
export function readObjects(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const value: unknown = document.toJS();
    return isJsonObject(value) ? [completeObject(value)] : [];
  });
}

function completeObject(value: Readonly<Record<string, unknown>>): KubernetesObject {
  const given = value as unknown as KubernetesObject;
  const isNamespaced = given.kind !== 'GatewayClass' && given.kind !== 'Namespace';
  return {
    ...given,
    metadata: { ...(isNamespaced && { namespace: 'default' }), generation: 1, ...given.metadata },
  };
}

const gatewayClass: KubernetesObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'proxy' },
  spec: { controllerName: 'gateway.proxy/controller' },
};

/** What is known of a Gateway that was deployed, and whose process took everything in. */
function makeFacts({ addresses }: GatewayPlan): GatewayFacts {
  const values = addresses.length === 0 ? ['192.0.2.10'] : addresses;
  return {
    addresses: values.map((value) => ({ type: 'IPAddress', value })),
    deployProblem: undefined,
    addressProblem: undefined,
    processes: 1,
    isSettled: () => true,
    behind: [],
    listBehind: () => [],
    rejections: [],
    keyProblems: new Map(),
    bindProblems: new Map(),
  };
}

/**
 * The objects as a running controller leaves them. A status that is there already stays: the case is about it. `change` is what it knows of the
 * gateways that is not as it should be.
 */
export function writeStatuses(
  objects: readonly KubernetesObject[],
  change: (translation: Translation) => Partial<GatewayFacts> = () => ({}),
): readonly KubernetesObject[] {
  const known = objects.filter(({ kind }) => kind !== 'Deployment' && kind !== 'Lease');
  // The controller makes its class; a case may be about somebody who cannot see it.
  if (!known.some(({ kind }) => kind === 'GatewayClass')) known.push(gatewayClass);
  const resources = parseObjects(known.map((object) => ({ ...object, status: undefined })));
  const translation = translate(resources, { placement: 'pods', inference: inferenceTranslation });
  const facts = new Map(translation.plans.map((plan) => [plan.name, { ...makeFacts(plan), ...change(translation) }]));
  const statuses = describeProgrammed(translation, facts);
  const byKind: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    GatewayClass: statuses.gatewayClasses,
    Gateway: statuses.gateways,
    HTTPRoute: statuses.httpRoutes,
    ProxyBackend: statuses.proxyBackends,
    ProxyPolicy: statuses.proxyPolicies,
    InferencePool: statuses.inferencePools,
  };
  return objects.map((object) => {
    const status = byKind[object.kind ?? '']?.[formatName(object)];
    return object['status'] !== undefined || status === undefined ? object : { ...object, status: stamp(status) };
  });
}

/** Conditions with a time, as everything that was written has. */
function stamp(status: unknown): unknown {
  return JSON.parse(
    JSON.stringify(status, (key, value: unknown) =>
      key === 'conditions' && Array.isArray(value)
        ? (value as readonly Condition[]).map((condition) => ({
            ...condition,
            lastTransitionTime: '2026-01-31T12:00:00Z',
          }))
        : value,
    ),
  );
}

/** The objects as if all kinds had been read. `unread` says otherwise of some. */
export function viewObjects(
  objects: readonly KubernetesObject[],
  options: {
    readonly namespace?: string | undefined;
    readonly unread?: Readonly<Partial<Record<string, KindView>>> | undefined;
  } = {},
): ClusterView {
  const { namespace, unread = {} } = options;
  const views = [...statusKinds, ...controllerKinds].map((kind): [string, KindView] => [
    kind,
    unread[kind] ?? {
      state: 'read',
      objects: objects.filter(
        ({ kind: own, metadata }) =>
          own === kind &&
          (namespace === undefined ||
            metadata.namespace === undefined ||
            metadata.namespace === namespace ||
            kind === 'Deployment' ||
            kind === 'Lease'),
      ),
    },
  ]);
  return {
    server: 'https://127.0.0.1:6443',
    namespace,
    controllerNamespace: 'proxy-system',
    kinds: Object.fromEntries(views) as unknown as ClusterView['kinds'],
  };
}
