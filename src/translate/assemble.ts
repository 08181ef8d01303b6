// Everything that was translated -> one configuration with only what a listener leads to: a gateway must not hold Secrets or endpoints that nothing
// uses.
import type { Configuration } from '../ir/configuration.ts';
import type { Policy, Secret } from '../ir/gen/config_pb.ts';
import type { TranslatedBackend } from './proxy-backends.ts';
import { type ResolvedListener, listMessageListeners } from './listeners.ts';
import { keepShallow } from './memory.ts';
import { compareText } from './order.ts';
import type { TranslatedPolicy } from './policies.ts';
import type { BackendUsage, TranslatedRoute } from './routes.ts';
import { createMessageStep } from './step.ts';

/** The parts of a configuration. Each list stays the same object while its members do not change. */
export interface Parts {
  readonly listeners: readonly ResolvedListener[];
  /** In the order of their names. */
  readonly routes: readonly TranslatedRoute[];
  readonly policies: readonly TranslatedPolicy[];
  readonly invalidPolicies: readonly TranslatedPolicy[];
  /** Those that close what nothing protects, one for each Gateway that wants it. */
  readonly denials: readonly Policy[];
  /** Those that routes and policies lead to. */
  readonly backends: readonly TranslatedBackend[];
}

/** Puts messages together, sorted by key; routes by name and rule. */
export function prepareAssembly(): (parts: Parts) => Configuration {
  const listListeners = createMessageStep((listeners: Parts['listeners']) =>
    sortByKey(listMessageListeners(listeners).map(({ message }) => message)),
  );
  // Rules stay in their order: the tenth comes after the second.
  const listRoutes = createMessageStep((routes: Parts['routes']) => routes.flatMap(({ messages }) => messages));
  const listBackends = createMessageStep((backends: Parts['backends']) =>
    sortByKey(backends.map(({ message }) => message)),
  );
  const listPolicies = createMessageStep(
    (valid: Parts['policies'], invalid: Parts['policies'], denials: Parts['denials']) =>
      sortByKey([...mergePolicies(valid, invalid), ...denials]),
  );
  const listSecrets = createMessageStep(
    (listeners: Parts['listeners'], policies: Parts['policies'], backends: Parts['backends']) =>
      sortByKey([...collectSecrets(listeners, policies, backends).values()]),
  );
  let last: Configuration | undefined;
  return ({ listeners, routes, policies, invalidPolicies, denials, backends }) =>
    (last = keepShallow(last, {
      listeners: listListeners(listeners),
      routes: listRoutes(routes),
      backends: listBackends(backends),
      policies: listPolicies(policies, invalidPolicies, denials),
      secrets: listSecrets(listeners, policies, backends),
    }));
}

/** The keys of the backends that routes and policies lead to, each once. */
export function listBackendKeys(
  usages: readonly BackendUsage[],
  ofPolicies: readonly TranslatedPolicy['backends'][],
): readonly string[] {
  const keys = new Set<string>();
  for (const { backends } of usages) for (const key of backends) keys.add(key);
  for (const backends of ofPolicies) for (const key of backends) keys.add(key);
  return [...keys];
}

// The first one of a key stays: an invalid policy does not take the place of a valid one of the same name.
function mergePolicies(valid: readonly TranslatedPolicy[], invalid: readonly TranslatedPolicy[]): readonly Policy[] {
  const messages = valid.flatMap((policy) => policy.messages);
  const others = invalid.flatMap((policy) => policy.messages);
  if (others.length === 0) return messages;
  const byKey = new Map<string, Policy>();
  for (const message of [...messages, ...others]) if (!byKey.has(message.key)) byKey.set(message.key, message);
  return [...byKey.values()];
}

function collectSecrets(
  listeners: readonly ResolvedListener[],
  policies: readonly TranslatedPolicy[],
  backends: readonly TranslatedBackend[],
): ReadonlyMap<string, Secret> {
  const secrets = new Map<string, Secret>();
  const add = (list: readonly Secret[]): void => {
    for (const secret of list) secrets.set(secret.key, secret);
  };
  for (const { isServed, certificates, clientValidation } of listeners) {
    if (!isServed) continue;
    add(certificates);
    add(clientValidation?.authorities ?? []);
  }
  for (const policy of policies) add(policy.secrets);
  for (const backend of backends) add(backend.secrets);
  return secrets;
}

function sortByKey<M extends { readonly key: string }>(messages: readonly M[]): readonly M[] {
  const isSorted = messages.every((message, at) => at === 0 || messages[at - 1]!.key < message.key);
  return isSorted ? messages : messages.toSorted((left, right) => compareText(left.key, right.key));
}
