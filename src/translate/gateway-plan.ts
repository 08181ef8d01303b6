// What is to be deployed for one Gateway: the outcome of translation that only a controller uses.
import type { Gateway } from '../api/gateway.ts';
import type { GatewayParameters } from '../api/gateway-parameters.ts';

/** One Gateway that is ours and valid. */
export interface GatewayPlan {
  /** namespace/name */
  readonly name: string;
  readonly gateway: Gateway;
  /** Class parameters, then the Gateway's own: later ones win field by field. */
  readonly parameters: readonly GatewayParameters[];
  /** IP addresses that the Gateway requests, in canonical form; none: any address. */
  readonly addresses: readonly string[];
  /** Ports of the listeners that are served, each once, in ascending order; the name is that of the first listener on it. */
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

/**
 * One Gateway that is ours and cannot be deployed as requested: its parameters or addresses are not usable, or it is invalid. An earlier deployment is
 * neither changed nor removed; nothing new is deployed.
 */
export interface HeldGateway {
  /** namespace/name */
  readonly name: string;
  /** For its owner; its conditions say so too. */
  readonly reason: string;
}
