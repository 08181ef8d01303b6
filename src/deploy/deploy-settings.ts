// Settings of the deployer, from the controller's flags.
import type { NetworkPolicySettings } from './network-policy-settings.ts';

/** Settings that are the same for every Gateway of an installation. */
export interface DeploySettings {
  readonly installationNamespace: string;
  /** The address of the controller for gateways: `proxy.proxy-system.svc:9978`. */
  readonly xdsAddress: string;
  /** PEM; set: gateways speak TLS and trust this CA. */
  readonly xdsCa: string | undefined;
  /** The default; GatewayParameters may override it. */
  readonly image: {
    readonly registry: string;
    readonly repository: string;
    readonly tag: string;
    /** Set: in place of the tag. */
    readonly digest?: string | undefined;
    readonly pullPolicy: string;
  };
  readonly imagePullSecrets: readonly string[];
  /** Set: a NetworkPolicy is deployed with each gateway. */
  readonly networkPolicy?: NetworkPolicySettings | undefined;
}
