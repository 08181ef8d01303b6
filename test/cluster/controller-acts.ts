// What the controller does, act by act, each with the rights that it needs and how one notices that it has not got them: the table of chart-rbac.test.ts.
import type { ApiObject } from './api-client.ts';
import {
  createGateway,
  createNamespace,
  createPolicy,
  createProxyBackend,
  createRoute,
  toProxyBackend,
  toService,
} from './cluster-resources.ts';
import { type ControllerStage, otherClass, toldResources } from './controller-stage.ts';
import { listDeployed, listGatewayPods, waitForGatewayPod } from './deployed-gateway.ts';
import { formatRefusal, type Right } from './granted-rights.ts';
import { installationNamespace } from './installed-controller.ts';
import { listConditions, type ToldEvent, waitForCondition, waitForEvent } from './resource-conditions.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';

/** Something that the controller does. */
export interface Act {
  readonly what: string;
  /** The rights that it needs, as `formatRight` has them, and that no other act claims. None: it needs those of others in another way. */
  readonly needs: readonly string[];
  /** Missed one after the other, in this order, because nothing comes after what is refused. Otherwise all are missed at once. */
  readonly isChain?: boolean;
  /** Missed one after the other, each alone: of several that are missing only one would be told. */
  readonly isOneByOne?: boolean;
  /** What was refused is not tried again. */
  readonly isOnce?: boolean;
  /** Without the right it is done all the same, in another way. */
  readonly isDoneAnyway?: boolean;
  /** Before any right is taken away. */
  readonly prepare?: () => Promise<void>;
  /** Gives the controller a reason to do it. */
  readonly begin: () => Promise<void>;
  /** Whether it is done; with a right, whether that is done which this right is for. */
  readonly isDone: (right?: Right) => Promise<boolean>;
  /** Starts to look for what tells that a right is missing; the result says whether it was told. */
  readonly listen: (right: Right) => Promise<() => Promise<boolean>>;
  readonly end?: () => Promise<void>;
}

const gatewayApi = 'gateway.networking.k8s.io';
const readKinds = [
  `${gatewayApi}/gatewayclasses`,
  `${gatewayApi}/gateways`,
  `${gatewayApi}/httproutes`,
  `${gatewayApi}/referencegrants`,
  'gateway.proxy/proxypolicies',
  'gateway.proxy/proxybackends',
  'gateway.proxy/gatewayparameters',
  'core/namespaces',
  'core/services',
  'core/secrets',
  'core/configmaps',
  'discovery.k8s.io/endpointslices',
  'inference.networking.k8s.io/inferencepools',
  'core/pods',
];
/** What is read of the controller's own as well has its lists and watches above. */
const deployedKinds = [
  { kind: 'ServiceAccount', resource: 'core/serviceaccounts', isReadAbove: false },
  { kind: 'ConfigMap', resource: 'core/configmaps', isReadAbove: true },
  { kind: 'Service', resource: 'core/services', isReadAbove: true },
  { kind: 'Deployment', resource: 'apps/deployments', isReadAbove: false },
  { kind: 'HorizontalPodAutoscaler', resource: 'autoscaling/horizontalpodautoscalers', isReadAbove: false },
  { kind: 'PodDisruptionBudget', resource: 'policy/poddisruptionbudgets', isReadAbove: false },
  { kind: 'NetworkPolicy', resource: 'networking.k8s.io/networkpolicies', isReadAbove: false },
];
const toldKinds = [
  `${gatewayApi}/gatewayclasses`,
  `${gatewayApi}/gateways`,
  `${gatewayApi}/httproutes`,
  'gateway.proxy/proxybackends',
  'gateway.proxy/proxypolicies',
  'inference.networking.k8s.io/inferencepools',
];
const crds = ['gatewayclasses', 'gateways', 'httproutes', 'referencegrants'].map((plural) => `${plural}.${gatewayApi}`);
/** As many failures as the readiness names. */
const namedFailures = 5;

const gatewayClass: ResourceName = { kind: 'GatewayClass', name: 'proxy' };
const lease: ResourceName = { kind: 'Lease', name: 'proxy-controller', namespace: installationNamespace };
const leaseRight = (verb: string): string =>
  `coordination.k8s.io/leases ${verb} proxy-controller in ${installationNamespace}`;

/** Every act, in an order in which they can be played. */
export function createActs(stage: ControllerStage): readonly Act[] {
  return [
    ...createReadingActs(stage),
    ...createStatusActs(stage),
    ...createDeployActs(stage),
    ...createWatchingActs(stage),
    ...createSealKeyActs(stage),
    ...createCertificateActs(stage),
    ...createPeerActs(stage),
    ...createEventActs(stage),
    ...createLeaseActs(stage),
    createSelectionAct(stage),
  ];
}

/** Whether a right is for a resource such as `core/services`, or for a part of it. */
function isAbout({ group, resource }: Right, wanted: string): boolean {
  return `${group === '' ? 'core' : group}/${resource.split('/')[0]}` === wanted;
}

/** Told by a line of the log, with these words and those of the API server. */
const inLog =
  (stage: ControllerStage, words: string): Act['listen'] =>
  async (right) => {
    const before = await stage.countLines(words, formatRefusal(right));
    return async () => (await stage.countLines(words, formatRefusal(right))) > before;
  };

function createReadingActs(stage: ControllerStage): readonly Act[] {
  const rights = ['list', 'watch'].flatMap((verb) => readKinds.map((kind) => `${kind} ${verb}`));
  const groups = Array.from({ length: Math.ceil(rights.length / namedFailures) }, (_, index) =>
    rights.slice(index * namedFailures, (index + 1) * namedFailures),
  );
  const reading = groups.map((needs): Act => ({
    what: 'reads everything when it starts',
    needs,
    begin: () => stage.restart(),
    isDone: async () => (await stage.controller.readReadiness()).ready,
    listen: async (right) => async () =>
      JSON.stringify(await stage.controller.readReadiness())
        .replaceAll(String.raw`\"`, '"')
        .includes(formatRefusal(right)),
  }));
  const versions: Act = {
    what: 'tells the version of the Gateway API',
    needs: crds.map((name) => `apiextensions.k8s.io/customresourcedefinitions list ${name}`),
    isOneByOne: true,
    isOnce: true,
    async begin() {
      await stage.restart();
      await stage.wipeStatus(gatewayClass);
    },
    isDone: () => stage.isWell(gatewayClass),
    listen: async (right) => {
      const words = ['the version of the Gateway API cannot be read', formatRefusal(right), right.name!];
      const before = await stage.countLines(...words);
      return async () => (await stage.countLines(...words)) > before;
    },
  };
  return [...reading, versions];
}

function createStatusActs(stage: ControllerStage): readonly Act[] {
  const areWell = async (right?: Right): Promise<boolean> => {
    const resources = toldResources.filter((_, index) => right === undefined || isAbout(right, toldKinds[index]!));
    return (await Promise.all(resources.map((each) => stage.isWell(each)))).every(Boolean);
  };
  const listen = inLog(stage, 'a status could not be written');
  return [
    {
      what: 'writes statuses',
      needs: toldKinds.map((kind) => `${kind}/status update`),
      async begin() {
        for (const resource of toldResources) await stage.wipeStatus(resource);
      },
      isDone: areWell,
      listen,
    },
    {
      what: 'reads again what somebody else has written meanwhile',
      needs: toldKinds.map((kind) => `${kind} get`),
      async begin() {
        for (const resource of toldResources) await provokeConflict(stage, resource);
      },
      isDone: areWell,
      listen,
    },
    // It is applied, which is a patch, and where there is none a creation too.
    ...['patch', 'create'].map((verb): Act => ({
      what: 'makes the GatewayClass',
      needs: [`${gatewayApi}/gatewayclasses ${verb} proxy`],
      begin: async () => void (await stage.cluster.api.delete(locateResource(gatewayClass))),
      isDone: () => stage.exists(gatewayClass),
      listen: inLog(stage, 'the GatewayClass could not be written'),
      end: async () => void (await stage.cluster.waitFor(() => areWell(), { what: 'all is well again' })),
    })),
  ];
}

/** Writes a resource again and again, until the controller has written its status on what is old by then. */
async function provokeConflict(stage: ControllerStage, resource: ResourceName): Promise<void> {
  const count = (): Promise<number> =>
    stage.controller.readMetric('mcp_gateway_controller_status_conflicts_total', `kind="${resource.kind}"`);
  const before = await count();
  const over = new AbortController();
  // Three of them: one alone is as slow as the controller itself, which then is lucky a dozen times.
  const write = async (): Promise<void> => {
    for (let turn = 0; !over.signal.aborted; turn++)
      await stage.cluster.api.patch(locateResource(resource), { metadata: { annotations: { turn: String(turn) } } });
  };
  const writing = Promise.all([write(), write(), write()]);
  try {
    await stage.cluster.waitFor(
      async () => {
        await stage.wipeStatus(resource);
        return (await count()) > before;
      },
      { what: `a conflict about the status of ${resource.kind} ${resource.name}` },
    );
  } finally {
    over.abort();
    await writing;
  }
}

function createDeployActs(stage: ControllerStage): readonly Act[] {
  const { cluster } = stage;
  let built = 0;
  let turn = 0;
  const name = (): string => `built-${built}`;
  const infrastructure = (labels?: object): object => ({
    ...(labels !== undefined && { labels }),
    parametersRef: { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'built' },
  });
  const setParameters = async (overlays: object): Promise<void> => {
    turn += 1;
    await cluster.apply({
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'GatewayParameters',
      metadata: { name: 'built', namespace: 'default' },
      spec: {
        service: { annotations: { turn: String(turn) } },
        overlays: { horizontalPodAutoscaler: { spec: { maxReplicas: 2 } }, ...overlays },
      },
    });
  };
  /** Waits until the deployer has had its turn with the parameters of now. */
  const waitForTurn = async (): Promise<void> => {
    const path = locateResource({ kind: 'Service', name: `${name()}-proxy` });
    await cluster.waitForObject(path, ({ metadata }) => metadata.annotations?.['turn'] === String(turn));
  };
  const budget = { podDisruptionBudget: {} };
  const build = async (): Promise<void> => {
    await cluster.delete(createGateway(name()));
    built += 1;
    await setParameters(budget);
    await cluster.apply(createGateway(name(), { infrastructure: infrastructure() }));
  };
  /** All objects of the Gateway, or that which a right is for. */
  const findAll = (right: Right | undefined, suffix = 'proxy'): Promise<readonly (ApiObject | undefined)[]> => {
    const kinds = deployedKinds.filter(({ resource }) => right === undefined || isAbout(right, resource));
    return Promise.all(kinds.map(({ kind }) => stage.find({ kind, name: `${name()}-${suffix}` })));
  };
  const isBuilt = async (right?: Right): Promise<boolean> =>
    (await findAll(right)).every((object) => object !== undefined);
  const inCondition =
    (words: (right: Right) => string): Act['listen'] =>
    async (right) =>
    async () => {
      const gateway = await stage.find({ kind: 'Gateway', name: name() });
      return (
        gateway !== undefined &&
        listConditions(gateway).some(
          ({ type, status, message }) => type === 'Programmed' && status === 'False' && message.includes(words(right)),
        )
      );
    };
  const needs = (verb: string): readonly string[] => deployedKinds.map(({ resource }) => `${resource} ${verb}`);
  const deploying: Act = {
    what: 'deploys what a Gateway needs',
    needs: needs('create'),
    begin: build,
    isDone: isBuilt,
    listen: inCondition(formatRefusal),
  };
  return [
    deploying,
    { ...deploying, needs: needs('get') },
    {
      ...deploying,
      needs: [`${gatewayApi}/gateways/finalizers update`],
      isDone: async () => (await findAll(undefined)).some((object) => object !== undefined),
      listen: inCondition(() => 'cannot set blockOwnerDeletion'),
    },
    ...deployedKinds
      .filter(({ isReadAbove }) => !isReadAbove)
      .map(({ resource }): Act => ({
        what: 'removes what a Gateway does not need any more',
        needs: [`${resource} list`],
        async prepare() {
          await setParameters(budget);
          await cluster.waitFor(() => isBuilt(), { what: 'there is everything' });
        },
        async begin() {
          await stage.restart();
          // The second turn: what the first one removes is gone by then.
          for (const overlays of [{}, {}]) {
            await setParameters(overlays);
            await waitForTurn();
          }
        },
        isDone: async () => !(await stage.exists({ kind: 'PodDisruptionBudget', name: `${name()}-proxy` })),
        listen: inLog(stage, 'a list or watch of the API server failed'),
      })),
    {
      what: 'changes what is deployed',
      needs: needs('patch'),
      async prepare() {
        await setParameters(budget);
        await cluster.waitFor(() => isBuilt(), { what: 'there is everything' });
      },
      async begin() {
        turn += 1;
        await cluster.apply(createGateway(name(), { infrastructure: infrastructure({ turn: String(turn) }) }));
      },
      isDone: async (right) =>
        (await findAll(right)).every((object) => object?.metadata.labels?.['turn'] === String(turn)),
      listen: inCondition(formatRefusal),
    },
    {
      what: 'removes what was deployed for another class',
      needs: needs('delete'),
      begin: () =>
        cluster.apply(createGateway(name(), { gatewayClassName: otherClass, infrastructure: infrastructure() })),
      isDone: async (right) => (await findAll(right)).every((object) => object === undefined),
      listen: inCondition(formatRefusal),
      end: () => cluster.delete(createGateway(name())),
    },
  ];
}

function createWatchingActs(stage: ControllerStage): readonly Act[] {
  const watched = deployedKinds.filter(({ isReadAbove }) => !isReadAbove);
  const own = watched
    .map(({ kind }) => ({ kind, name: 'web-proxy' }))
    .filter(({ kind }) => kind === 'Deployment' || kind === 'ServiceAccount');
  const uids = new Map<string, string | undefined>();
  return [
    {
      what: 'makes again what somebody has deleted',
      needs: watched.map(({ resource }) => `${resource} watch`),
      // It lists again where it may not watch.
      isDoneAnyway: true,
      async begin() {
        await stage.restart();
        for (const resource of own) {
          uids.set(resource.kind, (await stage.find(resource))?.metadata.uid);
          await stage.cluster.api.delete(locateResource(resource));
        }
      },
      async isDone() {
        const found = await Promise.all(own.map((resource) => stage.find(resource)));
        return found.every(
          (object, index) => object !== undefined && object.metadata.uid !== uids.get(own[index]!.kind),
        );
      },
      listen: async (right) => {
        const { kind } = watched.find(({ resource }) => isAbout(right, resource))!;
        return async () =>
          (await stage.controller.readMetric(
            'mcp_gateway_controller_relists_total',
            `kind="${kind}",reason="refused"`,
          )) > 0;
      },
      end: async () => void (await waitForGatewayPod(stage.cluster, 'web')),
    },
  ];
}

function createSealKeyActs(stage: ControllerStage): readonly Act[] {
  const { cluster } = stage;
  const gateway = createGateway('sealed');
  const authentication = { issuer: 'https://idp.example.com', audiences: ['sealed'], flow: 'Direct' };
  const hasKeys = async (): Promise<boolean> =>
    (await listDeployed(cluster, 'sealed')).some((object) => object === 'Secret with seal keys');
  const listen = inLog(stage, 'seal keys could not be reconciled yet');
  return [
    {
      what: 'makes seal keys',
      needs: [`core/secrets create in ${installationNamespace}`],
      begin: () =>
        cluster.apply([
          createProxyBackend('sealed', { service: toService('echo') }),
          createPolicy('sealed', { kind: 'ProxyBackend', name: 'sealed' }, { backend: { mcp: { authentication } } }),
          createRoute('sealed', { gateway: 'sealed', to: toProxyBackend('sealed') }),
          gateway,
        ]),
      isDone: hasKeys,
      listen,
    },
    {
      what: 'removes the seal keys of a Gateway that is gone',
      needs: [`core/secrets delete in ${installationNamespace}`],
      begin: () => cluster.delete(gateway),
      isDone: async () => !(await hasKeys()),
      listen,
    },
  ];
}

function createCertificateActs(stage: ControllerStage): readonly Act[] {
  const { cluster } = stage;
  const [own, copy] = ['proxy-xds-cert', 'proxy-xds-cert-last-good'].map((name): ResourceName => ({
    kind: 'Secret',
    name,
    namespace: installationNamespace,
  })) as [ResourceName, ResourceName];
  const readEntry = async (secret: ResourceName, key: string): Promise<string | undefined> =>
    ((await stage.find(secret)) as { readonly data?: Readonly<Record<string, string>> } | undefined)?.data?.[key];
  const broken = Buffer.from('broken').toString('base64');
  let before: string | undefined;
  /** The certificate stays what the controller made; without its key it is of no use. */
  const breakKey = async (): Promise<void> => {
    before = await readEntry(own, 'tls.crt');
    await cluster.api.patch(locateResource(own), { data: { 'tls.key': broken } });
  };
  return [
    {
      what: 'replaces the certificate that it made',
      needs: [`core/secrets update in ${installationNamespace}`],
      begin: breakKey,
      isDone: async () => (await readEntry(own, 'tls.crt')) !== before,
      listen: inLog(stage, 'the xDS certificate could not be made or renewed'),
    },
    {
      what: 'keeps a copy of the certificate',
      // The same right.
      needs: [],
      begin: breakKey,
      isDone: async () => {
        const now = await readEntry(own, 'tls.crt');
        return now !== before && (await readEntry(copy, 'tls.crt')) === now;
      },
      listen: inLog(stage, 'the copy of the xDS certificate could not be written'),
    },
  ];
}

function createPeerActs(stage: ControllerStage): readonly Act[] {
  let old = '';
  return [
    {
      what: 'lets a gateway in',
      needs: ['authentication.k8s.io/tokenreviews create', 'core/pods get'],
      isChain: true,
      async begin() {
        old = (await waitForGatewayPod(stage.cluster, 'web')).metadata.name;
        await stage.cluster.api.delete(locateResource({ kind: 'Pod', name: old }));
      },
      isDone: async () =>
        (await listGatewayPods(stage.cluster, 'web')).some(
          ({ metadata, status }) =>
            metadata.name !== old &&
            status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true,
        ),
      listen: inLog(stage, 'refused a peer'),
    },
  ];
}

function createEventActs(stage: ControllerStage): readonly Act[] {
  const { cluster } = stage;
  let count = 0;
  const policy = (): ResourceName => ({ kind: 'ProxyPolicy', name: `late-${count}` });
  /** A policy for a route that has one is in conflict. */
  const target = (route: 'guarded' | 'open'): Promise<void> =>
    cluster.apply(createPolicy(policy().name, { kind: 'HTTPRoute', name: route }, { traffic: stage.protection }));
  const waitUntilAccepted = (status: 'True' | 'False'): Promise<unknown> =>
    waitForCondition(cluster, policy(), { type: 'Accepted', status });
  const findEvent = async (): Promise<ToldEvent | undefined> => {
    const events = await cluster.api.list<ToldEvent>('/apis/events.k8s.io/v1/namespaces/default/events');
    return events.find(({ reason, regarding }) => reason === 'Conflicted' && regarding.name === policy().name);
  };
  const conflict = async (): Promise<void> => {
    if (count > 0) await cluster.delete(createPolicy(policy().name, { kind: 'HTTPRoute', name: 'open' }, {}));
    count += 1;
    await target('guarded');
    await waitUntilAccepted('False');
  };
  const listen = inLog(stage, 'an event could not be written');
  return [
    {
      what: 'tells in an Event',
      needs: ['events.k8s.io/events create'],
      isOnce: true,
      begin: conflict,
      isDone: async () => (await findEvent()) !== undefined,
      listen,
    },
    {
      what: 'counts what it tells again, at the latest when it stops',
      needs: ['events.k8s.io/events patch'],
      isOnce: true,
      async begin() {
        await conflict();
        await waitForEvent(cluster, policy(), 'Conflicted');
        await target('open');
        await waitUntilAccepted('True');
        await target('guarded');
        await waitUntilAccepted('False');
        await stage.restart();
      },
      isDone: async () => ((await findEvent())?.['series'] as { count: number } | undefined)?.count === 2,
      listen,
    },
  ];
}

function createLeaseActs(stage: ControllerStage): readonly Act[] {
  const { cluster, controller } = stage;
  const listen = inLog(stage, 'the leader election lease cannot be read or written');
  const countLeaders = (): Promise<number> => controller.readMetric('mcp_gateway_controller_leader');
  return [
    {
      what: 'makes the Lease',
      needs: [leaseRight('get'), `coordination.k8s.io/leases create in ${installationNamespace}`],
      isChain: true,
      begin: async () => void (await cluster.api.delete(locateResource(lease))),
      isDone: () => stage.exists(lease),
      listen,
    },
    {
      what: 'leads',
      needs: [leaseRight('update')],
      begin: async () => {},
      isDone: async () => (await countLeaders()) === 1,
      listen,
    },
    {
      what: 'follows another leader',
      needs: [leaseRight('watch')],
      // It looks at the Lease now and then where it may not watch it.
      isDoneAnyway: true,
      begin: () => stage.scale(2),
      isDone: async () => (await controller.listPods()).length === 2 && (await countLeaders()) === 1,
      listen: inLog(stage, 'the watch of the lease ended'),
      end: async () => {
        await stage.scale(1);
        await cluster.waitFor(async () => (await controller.listPods()).length === 1 && (await countLeaders()) === 1, {
          what: 'one replica is left, and leads',
        });
      },
    },
  ];
}

/** Namespaces one by one, those that come and go: the same rights in another way. */
function createSelectionAct(stage: ControllerStage): Act {
  const { cluster } = stage;
  const namespace = 'team';
  const resources: readonly ResourceName[] = [
    { kind: 'Gateway', name: 'team', namespace },
    { kind: 'HTTPRoute', name: 'team', namespace },
    { kind: 'ProxyBackend', name: 'team', namespace },
  ];
  const suspended = { type: 'Programmed', status: 'Unknown', reason: 'Pending' } as const;
  return {
    what: 'looks after the namespaces that are selected',
    needs: [],
    async begin() {
      await cluster.apply([
        createNamespace('default', { served: 'yes' }),
        createNamespace(namespace, { served: 'yes' }),
      ]);
      await stage.install({ discoveryNamespaceSelectors: [{ matchLabels: { served: 'yes' } }] });
      await cluster.apply([
        createProxyBackend('team', { namespace, service: { name: 'nobody', port: 80 } }),
        createRoute('team', { namespace, gateway: 'team', to: toProxyBackend('team') }),
        createGateway('team', { namespace }),
      ]);
      for (const resource of resources) await waitForCondition(cluster, resource, { type: 'Accepted', status: 'True' });
      await cluster.apply(createNamespace(namespace, { served: 'no' }));
    },
    isDone: async () => {
      await waitForCondition(cluster, resources[0]!, suspended);
      return true;
    },
    listen: async () => async () => false,
    async end() {
      await cluster.api.delete(locateResource({ kind: 'Namespace', name: namespace }));
      await stage.install();
    },
  };
}
