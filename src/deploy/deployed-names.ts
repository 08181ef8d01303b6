// Names and labels of the objects that are deployed for a Gateway (GEP-1762). They are always computed here, never stored.
import { createHash } from 'node:crypto';
import { type Gateway, gatewayNameLabel } from '../api/gateway.ts';

/** The label with the name of its class. */
const gatewayClassLabel = 'gateway.networking.k8s.io/gateway-class-name';
/** The label that names the manager of an object. */
export const managedByLabel = 'app.kubernetes.io/managed-by';
/** Its value on the objects that we manage. */
export const managedBy = 'gateway.proxy-controller';

/** The maximum length of a Service's name and of a label's value. */
const maxLength = 63;
const hashLength = 10;

/**
 * `<gateway>-<class>`: the name of the Deployment, the Service, the ServiceAccount and the others. A name that no Service can have (RFC 1035: over 63
 * characters, with dots, or with a leading digit) is adapted and gets a hash, so that two Gateways never share a name.
 */
export function nameDeployed(gatewayName: string, className: string): string {
  const name = `${gatewayName}-${className}`;
  if (name.length <= maxLength && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) return name;
  const fit = name.replaceAll('.', '-').replace(/^(?![a-z])/, 'g');
  return shorten(fit, `${gatewayName}/${className}`);
}

/** A name as the value of a label. */
export function formatLabelValue(name: string): string {
  return name.length <= maxLength ? name : shorten(name, name);
}

function shorten(text: string, whole: string): string {
  return `${text.slice(0, maxLength - hashLength - 1).replace(/[^a-z0-9]+$/, '')}-${hash(whole)}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, hashLength);
}

/** The Secret with the seal keys of a Gateway, in the installation namespace. */
export function nameSealKeySecret(namespace: string, name: string): string {
  return `proxy-seal-${digestName(namespace, name)}`;
}

/** The Secret with the signing keys of a Gateway, in the installation namespace. */
export function nameSigningKeySecret(namespace: string, name: string): string {
  return `proxy-sign-${digestName(namespace, name)}`;
}

function digestName(namespace: string, name: string): string {
  return createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 32);
}

/** The labels that select the pods of a Gateway. They never change: the selector of a Deployment is immutable. */
export function selectPods({ metadata, spec }: Gateway): Readonly<Record<string, string>> {
  return {
    [gatewayNameLabel]: formatLabelValue(metadata.name),
    [gatewayClassLabel]: formatLabelValue(spec.gatewayClassName),
  };
}

/** The labels of every deployed object; nothing overrides them. */
export function labelDeployed(gateway: Gateway): Readonly<Record<string, string>> {
  return { ...selectPods(gateway), [managedByLabel]: managedBy };
}
