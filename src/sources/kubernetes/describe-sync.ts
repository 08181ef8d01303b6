// Describes what is missing or failing between the cluster and the source, for operators.
import type { SyncState } from '../../kubernetes/list-watch.ts';
import type { WatchedKind } from './watched-kinds.ts';

/** One list-watch, as far as it matters here. */
export interface WatchState {
  readonly watched: WatchedKind;
  readonly state: SyncState;
}

const maxFailures = 5;

/** The message for kinds that are not installed, by what installs them. */
const installers: readonly (readonly [WatchedKind['installedBy'], (kinds: string) => string])[] = [
  [
    'gateway-api',
    (kinds) => `not installed: ${kinds}; install the CRDs of Gateway API (https://gateway-api.sigs.k8s.io)`,
  ],
  ['own-crds', (kinds) => `not installed: ${kinds}; install the chart proxy-crds`],
  [
    'inference-extension',
    (kinds) =>
      `not installed: ${kinds}; install the CRDs of the Inference Extension (https://gateway-api-inference-extension.sigs.k8s.io), or switch inferenceExtension.enabled off`,
  ],
  ['kubernetes', (kinds) => `the API server does not serve ${kinds}`],
];

/** Sentences without full stops, in an order that does not change by itself. */
export function describeSync(states: readonly WatchState[], awaitedNamespaces: readonly string[]): readonly string[] {
  const reasons: string[] = [];
  const missing = pickKinds(states, 'not-installed');
  for (const [installer, advice] of installers) {
    const names = missing.filter(({ installedBy }) => installedBy === installer).map(({ kind }) => kind);
    if (names.length > 0) reasons.push(advice(names.join(', ')));
  }

  const failures = [
    ...new Set(states.flatMap(({ state }) => (state.state === 'failing' ? [state.reason] : []))),
  ].toSorted();
  reasons.push(...failures.slice(0, maxFailures));
  if (failures.length > maxFailures) reasons.push(`and ${failures.length - maxFailures} more failures of this kind`);

  const reading = pickKinds(states, 'syncing').map(({ kind }) => kind);
  if (reading.length > 0) reasons.push(`still reading: ${reading.join(', ')}`);
  if (awaitedNamespaces.length > 0) {
    const names = awaitedNamespaces.toSorted();
    const listed = names.slice(0, maxFailures).join(', ');
    const more = names.length > maxFailures ? ` and ${names.length - maxFailures} more` : '';
    reasons.push(`not complete yet: namespace${names.length === 1 ? '' : 's'} ${listed}${more}`);
  }
  return reasons;
}

function pickKinds(states: readonly WatchState[], state: SyncState['state']): readonly WatchedKind[] {
  return [...new Set(states.filter((each) => each.state.state === state).map(({ watched }) => watched))];
}
