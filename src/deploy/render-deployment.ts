// The Deployment of a Gateway: hardened pods, spread over zones and nodes, replaced one by one.
import { createHash } from 'node:crypto';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { chooseOwnPorts } from './container-ports.ts';
import type { DeploySettings } from './deploy-settings.ts';
import { labelDeployed, selectPods } from './deployed-names.ts';
import { chooseGracePeriod, renderContainer, renderVolumes } from './gateway-container.ts';
import type { MergedParameters } from './merge-parameters.ts';
import { dropNulls, isJson, type Json, mergeValues } from './merge-values.ts';
import {
  choosePodInfrastructure,
  listOverlays,
  nameObjects,
  type RenderedObject,
  renderObject,
} from './rendered-object.ts';

/** A checksum of what pods read only at their start: a change of it restarts the pods. */
const checksumAnnotation = 'gateway.proxy/checksum';

/** The user and group that the program runs as. */
const nonRootId = 65_532;

/** What the pods depend on in addition to their template. */
interface PodDependencies {
  readonly serviceAccount: RenderedObject;
}

/** Renders the Deployment. */
export function renderDeployment(
  plan: GatewayPlan,
  parameters: MergedParameters,
  settings: DeploySettings,
  dependencies: PodDependencies,
): RenderedObject {
  const selector = { matchLabels: selectPods(plan.gateway) };
  const rendered = renderObject(resourceTypes.Deployment, plan, {
    body: {
      spec: {
        ...(parameters.replicas !== undefined && { replicas: parameters.replicas }),
        selector,
        // Images are small and start within seconds: a rollout that takes longer is stuck.
        progressDeadlineSeconds: 180,
        // A pod is removed only when its replacement is ready: a rollout interrupts no requests.
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        template: {
          metadata: renderPodMetadata(plan, parameters, dependencies),
          spec: renderPod(plan, parameters, settings),
        },
      },
    },
    overlays: listOverlays(parameters.overlays, 'deployment'),
  });
  return { ...rendered, object: { ...rendered.object, spec: keepSelected(rendered.object['spec'], selector, plan) } };
}

/** Restores the selector and the labels that it selects, in case overlays changed them. */
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

function renderPodMetadata(plan: GatewayPlan, parameters: MergedParameters, dependencies: PodDependencies): Json {
  const { podTemplate } = parameters;
  const infrastructure = choosePodInfrastructure(plan, parameters);
  return {
    labels: { ...infrastructure.labels, ...podTemplate?.labels, ...labelDeployed(plan.gateway) },
    annotations: {
      'prometheus.io/scrape': 'true',
      'prometheus.io/path': '/metrics',
      'prometheus.io/port': `${chooseOwnPorts(plan.ports).metrics}`,
      ...infrastructure.annotations,
      ...podTemplate?.annotations,
      [checksumAnnotation]: hashDependencies(dependencies),
    },
  };
}

/** A checksum of the ServiceAccount: webhooks and the kubelet read it when a pod starts. */
function hashDependencies({ serviceAccount }: PodDependencies): string {
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
    // The only token that the pod needs is mounted as a volume, and is valid for the controller only.
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
    volumes: renderVolumes(name, parameters, settings),
  };
}

const hardened: Json = {
  runAsNonRoot: true,
  runAsUser: nonRootId,
  runAsGroup: nonRootId,
  fsGroup: nonRootId,
  seccompProfile: { type: 'RuntimeDefault' },
  // Listeners may use any port, and the program has no capability to bind privileged ports.
  sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }],
};
