// Names and labels of what is deployed for a Gateway (GEP-1762). Everybody who looks for it computes them the same way.
import { createHash } from 'node:crypto';
import type { Gateway } from '../api/gateway.ts';

/** The label with the Gateway's name. */
export const gatewayNameLabel = 'gateway.networking.k8s.io/gateway-name';
/** The label with the name of its class. */
const gatewayClassLabel = 'gateway.networking.k8s.io/gateway-class-name';
/** The label that says who looks after an object. */
export const managedByLabel = 'app.kubernetes.io/managed-by';
/** Its value on what we look after. */
export const managedBy = 'gateway.proxy-controller';

/** The longest name of a Service, and the longest value of a label. */
const longest = 63;
const hashLength = 10;

/**
 * `<gateway>-<class>`: the name of the Deployment, the Service, the ServiceAccount and the others. A name that no Service can have (RFC 1035: over 63
 * characters, with dots, or with a digit in front) is made fit, and gets a hash, so that no two Gateways share one by that.
 */
export function nameDeployed(gatewayName: string, className: string): string {
  const name = `${gatewayName}-${className}`;
  if (name.length <= longest && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) return name;
  const fit = name.replaceAll('.', '-').replace(/^(?![a-z])/, 'g');
  return shorten(fit, `${gatewayName}/${className}`);
}

/** A value of a label that stands for a name. */
export function formatLabelValue(name: string): string {
  return name.length <= longest ? name : shorten(name, name);
}

function shorten(text: string, whole: string): string {
  return `${text.slice(0, longest - hashLength - 1).replace(/[^a-z0-9]+$/, '')}-${hash(whole)}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, hashLength);
}

/** The Secret with the seal keys of a Gateway, in the installation namespace. */
export function nameSealKeySecret(namespace: string, name: string): string {
  return `proxy-seal-${createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 32)}`;
}

/** The labels by which the pods of a Gateway are selected. They never change: selectors of Deployments cannot. */
export function selectPods({ metadata, spec }: Gateway): Readonly<Record<string, string>> {
  return {
    [gatewayNameLabel]: formatLabelValue(metadata.name),
    [gatewayClassLabel]: formatLabelValue(spec.gatewayClassName),
  };
}

/** The labels that everything deployed has, whatever people write elsewhere. */
export function labelDeployed(gateway: Gateway): Readonly<Record<string, string>> {
  return { ...selectPods(gateway), [managedByLabel]: managedBy };
}
