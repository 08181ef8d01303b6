// A consistent set of parsed resources: what translate reads, whether it came from files or from Kubernetes.
import type { ConfigMap } from './config-map.ts';
import type { EndpointSlice } from './endpoint-slice.ts';
import type { Gateway } from './gateway.ts';
import type { GatewayClass } from './gateway-class.ts';
import type { GatewayParameters } from './gateway-parameters.ts';
import type { HttpRoute } from './http-route.ts';
import type { InferencePool } from './inference-pool.ts';
import type { Namespace } from './namespace.ts';
import type { Pod } from './pod.ts';
import type { Problem } from './problem.ts';
import type { ProxyBackend } from './proxy-backend.ts';
import type { ProxyPolicy } from './proxy-policy.ts';
import type { ReferenceGrant } from './reference-grant.ts';
import type { Secret } from './secret.ts';
import type { Service } from './service.ts';

export interface Resources {
  readonly gatewayClasses: readonly GatewayClass[];
  readonly gateways: readonly Gateway[];
  readonly httpRoutes: readonly HttpRoute[];
  readonly referenceGrants: readonly ReferenceGrant[];
  readonly services: readonly Service[];
  readonly endpointSlices: readonly EndpointSlice[];
  readonly secrets: readonly Secret[];
  readonly configMaps: readonly ConfigMap[];
  readonly namespaces: readonly Namespace[];
  readonly gatewayParameters: readonly GatewayParameters[];
  readonly proxyBackends: readonly ProxyBackend[];
  readonly proxyPolicies: readonly ProxyPolicy[];
  /** Empty without the Inference Extension, like `pods`. */
  readonly inferencePools: readonly InferencePool[];
  readonly pods: readonly Pod[];
  /** Namespaces whose Secrets may not be read: that one is not in `secrets` does not mean that it does not exist. */
  readonly unreadableSecretNamespaces: readonly string[];
  /** Resources that did not validate and have no earlier good form: translate fails closed what they would have protected. */
  readonly invalid: readonly InvalidResource[];
}

export interface InvalidResource {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** As read, for what can still be learned from it (a policy's targets). */
  readonly raw: unknown;
  readonly problems: readonly Problem[];
}

export const emptyResources: Resources = {
  gatewayClasses: [],
  gateways: [],
  httpRoutes: [],
  referenceGrants: [],
  services: [],
  endpointSlices: [],
  secrets: [],
  configMaps: [],
  namespaces: [],
  gatewayParameters: [],
  proxyBackends: [],
  proxyPolicies: [],
  inferencePools: [],
  pods: [],
  unreadableSecretNamespaces: [],
  invalid: [],
};
