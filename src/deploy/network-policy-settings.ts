// What the NetworkPolicies of gateways let through, from the controller's flags: the same for every Gateway of an installation.
import type { Json } from './merge-values.ts';

/** The settings of NetworkPolicies. Peers are those of Kubernetes (NetworkPolicyPeer). */
export interface NetworkPolicySettings {
  /** The labels of the controller's pods. */
  readonly controller: Readonly<Record<string, string>>;
  /** Who may connect to listeners; none: everybody. */
  readonly clients: readonly Json[];
  /** Who may scrape metrics; none: every pod of the cluster. */
  readonly metrics: readonly Json[];
  /** Where gateways may connect to, besides the controller and DNS; none: every pod, and every address that is not link-local. */
  readonly upstreams: readonly Json[];
}
