// The Deployment of a Gateway: its pods, hardened, spread, and replaced one by one.
import { createHash } from 'node:crypto';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { chooseOwnPorts } from './container-ports.ts';
import type { DeploySettings } from './deploy-settings.ts';
import { labelDeployed, selectPods } from './deployed-names.ts';
import { chooseGracePeriod, renderContainer, renderVolumes } from './gateway-container.ts';
import type { MergedParameters } from './merge-parameters.ts';
import { dropNulls, isJson, type Json, mergeValues } from './merge-values.ts';
import { listOverlays, nameObjects, type RenderedObject, renderObject } from './rendered-object.ts';

/** Of what the pods were started with and Kubernetes does not watch: another value, other pods. */
const checksumAnnotation = 'gateway.proxy/checksum';

/** Who the program runs as. */
const nonRootId = 65_532;

/** What the pods depend on beside their own template. */
export interface PodSurroundings {
  readonly serviceAccount: RenderedObject;
}

/** Renders the Deployment. */
export function renderDeployment(
  plan: GatewayPlan,
  parameters: MergedParameters,
  settings: DeploySettings,
  surroundings: PodSurroundings,
): RenderedObject {
  const selector = { matchLabels: selectPods(plan.gateway) };
  const rendered = renderObject(resourceTypes.Deployment, plan, {
    body: {
      spec: {
        ...(parameters.replicas !== undefined && { replicas: parameters.replicas }),
        selector,
        // A pod goes only when another is ready: nobody waits for a rollout.
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        template: {
          metadata: renderPodMetadata(plan, parameters, surroundings),
          spec: renderPod(plan, parameters, settings),
        },
      },
    },
    overlays: listOverlays(parameters.overlays, 'deployment'),
  });
  return { ...rendered, object: { ...rendered.object, spec: keepSelected(rendered.object['spec'], selector, plan) } };
}

/** The selector, and pods that it selects, whatever overlays have made of them. */
function keepSelected(spec: unknown, selector: Json, { gateway }: GatewayPlan): Json {
  const merged = isJson(spec) ? spec : {};
  const template = isJson(merged['template']) ? merged['template'] : {};
  const metadata = isJson(template['metadata']) ? template['metadata'] : {};
  const labels = isJson(metadata['labels']) ? metadata['labels'] : {};
  return {
    ...merged,
    selector,
    template: { ...template, metadata: { ...metadata, labels: { ...labels, ...labelDeployed(gateway) } } },
  };
}

function renderPodMetadata(plan: GatewayPlan, { podTemplate }: MergedParameters, surroundings: PodSurroundings): Json {
  const { infrastructure } = plan.gateway.spec;
  return {
    labels: { ...infrastructure?.labels, ...podTemplate?.labels, ...labelDeployed(plan.gateway) },
    annotations: {
      'prometheus.io/scrape': 'true',
      'prometheus.io/path': '/metrics',
      'prometheus.io/port': `${chooseOwnPorts(plan.ports).metrics}`,
      ...infrastructure?.annotations,
      ...podTemplate?.annotations,
      [checksumAnnotation]: sumSurroundings(surroundings),
    },
  };
}

/** The ServiceAccount: what webhooks and the kubelet take from it, they take when a pod starts. */
function sumSurroundings({ serviceAccount }: PodSurroundings): string {
  const { metadata, ...rest } = serviceAccount.object;
  const text = JSON.stringify([rest, metadata.annotations ?? {}]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function renderPod(plan: GatewayPlan, parameters: MergedParameters, settings: DeploySettings): Json {
  const { podTemplate } = parameters;
  const name = nameObjects(plan);
  const pullSecrets = podTemplate?.imagePullSecrets ?? settings.imagePullSecrets.map((secret) => ({ name: secret }));
  return {
    serviceAccountName: name,
    // The one token that is needed is mounted by itself, and good for nothing but the controller.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: chooseGracePeriod(parameters),
    securityContext: dropNulls(mergeValues<Json>(hardened, podTemplate?.securityContext ?? {})),
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets }),
    ...(podTemplate?.nodeSelector !== undefined && { nodeSelector: podTemplate.nodeSelector }),
    ...(podTemplate?.tolerations !== undefined && { tolerations: podTemplate.tolerations }),
    ...(podTemplate?.affinity !== undefined && { affinity: dropNulls(podTemplate.affinity) }),
    topologySpreadConstraints: ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
      topologyKey,
      maxSkew: 1,
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: selectPods(plan.gateway) },
      matchLabelKeys: ['pod-template-hash'],
    })),
    containers: [renderContainer(plan, parameters, settings)],
    volumes: renderVolumes(name, settings),
  };
}

const hardened: Json = {
  runAsNonRoot: true,
  runAsUser: nonRootId,
  runAsGroup: nonRootId,
  fsGroup: nonRootId,
  seccompProfile: { type: 'RuntimeDefault' },
  // Listeners may have any port, and the program has no capability to bind the low ones.
  sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }],
};
