// The keys by which messages name each other. Written by translate, read by the gateway; the only place that spells them.
import type { PolicyKind } from './policy-kinds.ts';

export function formatListenerKey(namespace: string, gateway: string, listener: string): string {
  return `${namespace}/${gateway}/${listener}`;
}

export function formatRouteKey(namespace: string, httpRoute: string, ruleIndex: number): string {
  return `${namespace}/${httpRoute}/${ruleIndex}`;
}

export function formatServiceKey(namespace: string, name: string, port: number): string {
  return `Service/${namespace}/${name}/${port}`;
}

export function formatProxyBackendKey(namespace: string, name: string): string {
  return `ProxyBackend/${namespace}/${name}`;
}

const inferencePoolPrefix = 'InferencePool/';

export function formatInferencePoolKey(namespace: string, name: string): string {
  return `${inferencePoolPrefix}${namespace}/${name}`;
}

/** Whether a key is that of an InferencePool. */
export function isInferencePoolKey(key: string): boolean {
  return key.startsWith(inferencePoolPrefix);
}

export function formatSecretKey(kind: 'Secret' | 'ConfigMap', namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/** The target is part of the key: a policy with several targets is several messages. */
export function formatPolicyKey(namespace: string, name: string, kind: PolicyKind | 'failure', target: string): string {
  return `${namespace}/${name}/${kind}/${target}`;
}

/** One entry of a Secret. */
export function formatSecretEntryKey(namespace: string, name: string, entry: string): string {
  return `${formatSecretKey('Secret', namespace, name)}/${entry}`;
}

/** The message with the keys that values are sealed with. */
export const sealKeysKey = 'SealKeys';

/** The message with the keys that tokens of the gateway's own are signed with. */
export const signingKeysKey = 'SigningKeys';
