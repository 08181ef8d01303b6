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
  /** IP addresses that the Gateway asks for, in one spelling; none: any will do. */
  readonly addresses: readonly string[];
  /** Ports of the listeners that are served, each once, in ascending order; the name is that of the first listener on it. */
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

/**
 * One Gateway that is ours and cannot be deployed as it asks: its parameters or addresses are not usable, or it is invalid. What was deployed for it
 * before is left exactly as it is, neither changed nor removed; nothing is deployed anew.
 */
export interface HeldGateway {
  /** namespace/name */
  readonly name: string;
  /** For its owner; its conditions say so too. */
  readonly reason: string;
}
