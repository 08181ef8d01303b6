// Resources -> what the gateway serves, and what to tell their owners. Pure: no I/O, no clock, no randomness; it never throws and
// does not depend on the order of its input. The same for files and for Kubernetes. This file is the order of the steps.
import { controllerName as defaultControllerName } from '../api/gateway-class.ts';
import type { Resources } from '../api/resources.ts';
import type { Configuration } from '../ir/configuration.ts';
import { prepareAttachPoints } from './attach-points.ts';
import { prepareBackends } from './backends.ts';
import type { UnattachedPolicy } from './close-unprotected.ts';
import type { Statuses } from './conditions.ts';
import { prepareGatewayClasses } from './gateway-classes.ts';
import type { GatewayPlan, HeldGateway } from './gateway-plan.ts';
import { prepareGatewayStatuses } from './gateway-status.ts';
import { prepareGateways } from './gateways.ts';
import type { PoolParent } from './inference-pool-status.ts';
import { prepareInvalidStatuses } from './invalid-resources.ts';
import { prepareStatuses } from './list-statuses.ts';
import { prepareListeners } from './listeners.ts';
import type { InferenceTranslation } from './load-inference-translation.ts';
import { keepEqual, keepList, keepShallow, Memory } from './memory.ts';
import { type Notice, type Notices, collectNotices } from './notices.ts';
import { compareText } from './order.ts';
import { prepareOverallSteps } from './overall-steps.ts';
import { nothingIsDeployed, type ParametersReference } from './parameters.ts';
import type { Placement } from './placement.ts';
import { planGateways } from './plan-gateways.ts';
import { preparePolicies, type TranslatedPolicy } from './policies.ts';
import type { PolicyConflict } from './policy-conflicts.ts';
import { prepareReach } from './policy-reach.ts';
import { ResourceIndex } from './resource-index.ts';
import { prepareRoutes } from './routes.ts';
import { prepareSecrets } from './secrets.ts';
import { describeShadowedMatches } from './shadowed-matches.ts';

/** What translation makes of a set of resources. */
export interface Translation {
  /** The messages, sorted by key; every reference among them leads to another of them. */
  readonly configuration: Configuration;
  readonly statuses: Statuses;
  /** Remarks for people that no condition carries, sorted. */
  readonly notices: readonly Notice[];
  /** Fields of policies that lost to another policy at the same target; the statuses say so too. */
  readonly conflicts: readonly PolicyConflict[];
  /** Policies that can refuse requests and miss a target, by name; the statuses say so too. closeUnprotected takes them. */
  readonly unattached: readonly UnattachedPolicy[];
  /** What is to be deployed, by name; none on a host. */
  readonly plans: readonly GatewayPlan[];
  /** Gateways that exist and cannot be deployed as requested, by name; none on a host. */
  readonly held: readonly HeldGateway[];
  /** By namespace/name of a valid policy: the keys of its messages, by the Gateway that has them. */
  readonly policyKeys: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
}

/** What a caller may say about itself. */
export interface TranslateOptions {
  /** Whose GatewayClasses are served; `gateway.proxy/controller` when absent. */
  readonly controllerName?: string;
  /** `host` when absent. */
  readonly placement?: Placement;
  /** What translates InferencePools (the Inference Extension); they are not served when absent. */
  readonly inference?: InferenceTranslation | undefined;
  /** What the controller writes as parametersRef into its own GatewayClass; it counts before that is done, and while the class is gone. */
  readonly classParameters?: ParametersReference | undefined;
}

/** Translates one set of resources after the other. */
export interface Translator {
  /**
   * Unchanged messages, statuses, lists, and an unchanged translation stay the same objects. The outcome equals that of a new translator.
   */
  readonly translate: (resources: Resources) => Translation;
}

/** Translates resources into configuration and statuses. */
export function translate(resources: Resources, options: TranslateOptions = {}): Translation {
  return createTranslator(options).translate(resources);
}

/** A translator that memoizes, for repeated translation. */
export function createTranslator(options: TranslateOptions = {}): Translator {
  const { controllerName = defaultControllerName, placement = 'host', inference } = options;
  const memory = new Memory();
  const index = new ResourceIndex(memory);

  const classes = prepareGatewayClasses(memory, index, controllerName, placement, options.classParameters);
  const gateways = prepareGateways(memory, index, classes, placement);
  const secrets = prepareSecrets(memory, index);
  const listeners = prepareListeners(memory, gateways, secrets, placement);
  const pools = inference?.prepareInferencePools(memory, index, secrets);
  const backends = prepareBackends(memory, index, secrets, pools, placement);
  const attachPoints = prepareAttachPoints(memory, gateways, listeners);
  const routes = prepareRoutes(memory, index, attachPoints, backends, controllerName);

  // Filled once the routes are known; nothing that reads them is asked before.
  const backendUsers = memory.createTable<readonly string[]>();
  const attachedRoutes = memory.createTable<number>();
  const poolParents = memory.createTable<readonly PoolParent[]>();
  const poolStatuses =
    pools && inference?.prepareInferencePoolStatuses(memory, index, pools, poolParents, controllerName);
  const gatewayStatuses = prepareGatewayStatuses(memory, gateways, listeners, attachedRoutes);
  const reach = prepareReach({ memory, index, gateways, listeners, routes, backendUsers });
  const policies = preparePolicies({ memory, index, secrets, backends, reach, controllerName, placement });
  const invalidStatuses = prepareInvalidStatuses(memory, index, classes, gateways, controllerName);

  const overall = prepareOverallSteps({ attachedRoutes, backendUsers, poolParents });
  const listStatuses = prepareStatuses();

  const run = (resources: Resources, previous: Translation | undefined): Translation => {
    index.load(resources);
    const ownGateways = gateways.list();
    const ownListeners = overall.keepListeners(ownGateways.flatMap(({ name }) => listeners.get(name)));
    const routeNames = [...index.httpRoutes.entries().keys()];
    const ownRoutes = overall.keepRoutes(routeNames.flatMap((name) => routes.get(name) ?? []));
    overall.countRoutes(ownRoutes);

    policies.collectClaims();
    const ownPolicies = overall.keepPolicies(policies.list());
    const invalidPolicies = overall.keepInvalidPolicies(policies.listInvalid());
    const backendKeys = overall.findBackends(ownRoutes, ownPolicies);
    const configuration = overall.assemble({
      listeners: ownListeners,
      routes: ownRoutes,
      policies: ownPolicies,
      invalidPolicies,
      denials: overall.listDenials(ownListeners),
      backends: overall.keepBackends(backendKeys.flatMap((key) => backends.build(key) ?? [])),
    });

    const invalid = invalidStatuses();
    const written = listStatuses({
      gatewayClasses: [classes.listStatuses()],
      gateways: [invalid.gateways, ownGateways.map(({ name }) => ({ name, status: gatewayStatuses.get(name) }))],
      // On a host `check` and the admin pages tell; nobody reads statuses there.
      httpRoutes: [
        invalid.httpRoutes,
        placement === 'pods' ? overall.describeAccess(ownRoutes, ownListeners, configuration) : ownRoutes,
      ],
      proxyBackends: [invalid.proxyBackends, backends.listStatuses()],
      proxyPolicies: [ownPolicies, invalidPolicies],
      inferencePools: [poolStatuses?.listStatuses() ?? []],
    });
    const shadowed = overall.findShadowed(configuration);
    const httpRoutes = describeShadowedMatches(written.httpRoutes, shadowed);
    const statuses =
      httpRoutes === written.httpRoutes
        ? written
        : keepShallow(previous?.statuses, {
            ...written,
            httpRoutes: keepShallow(previous?.statuses.httpRoutes, httpRoutes),
          });

    const notices = collectNotices();
    gateways.noteUnknown(notices);
    if (placement === 'host') noteParameters(index, notices);
    for (const list of [ownRoutes, ownPolicies, invalidPolicies])
      for (const outcome of list) notices.addAll(outcome.notices);
    notices.addAll(poolStatuses?.listNotices() ?? []);
    notices.addAll(overall.findNotices(ownRoutes, configuration));

    const deployment = placement === 'host' ? undefined : planGateways(ownGateways, ownListeners, invalid.gateways);
    return keepShallow(previous, {
      configuration,
      statuses,
      notices: keepEqual(previous?.notices, notices.list()),
      conflicts: keepList(previous?.conflicts, policies.listConflicts()),
      unattached: keepEqual(previous?.unattached, listUnattached([...ownPolicies, ...invalidPolicies])),
      plans: keepEqual(previous?.plans, deployment?.plans ?? []),
      held: keepEqual(previous?.held, deployment?.held ?? []),
      policyKeys: overall.mapPolicyKeys(ownPolicies),
    });
  };

  let previous: Translation | undefined;
  return {
    translate(resources) {
      memory.begin();
      previous = run(resources, previous);
      memory.end();
      return previous;
    },
  };
}

function listUnattached(policies: readonly TranslatedPolicy[]): readonly UnattachedPolicy[] {
  const missing = policies.filter(({ unattached }) => unattached.length > 0);
  return missing
    .map(({ name, unattached }) => ({ policy: name, message: unattached.join(' ') }))
    .toSorted((left, right) => compareText(left.policy, right.policy) || compareText(left.message, right.message));
}

function noteParameters(index: ResourceIndex, notices: Notices): void {
  for (const parameters of index.gatewayParameters.values())
    notices.add(
      'GatewayParameters',
      parameters,
      parameters.spec.unprotectedRoutes === 'Deny'
        ? `has no effect here: ${nothingIsDeployed}. To close routes that nothing protects, use the flag --deny-unprotected`
        : `has no effect here: ${nothingIsDeployed}`,
    );
}
