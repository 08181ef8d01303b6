// What the deployer is told once, by the controller's flags.

/** What is the same for every Gateway of an installation. */
export interface DeploySettings {
  readonly installationNamespace: string;
  /** Where gateways find the controller: `proxy.proxy-system.svc:9978`. */
  readonly xdsAddress: string;
  /** PEM; set: gateways speak TLS and trust this CA. */
  readonly xdsCa: string | undefined;
  /** GatewayParameters may say otherwise. */
  readonly image: {
    readonly registry: string;
    readonly repository: string;
    readonly tag: string;
    readonly pullPolicy: string;
  };
  readonly imagePullSecrets: readonly string[];
}
