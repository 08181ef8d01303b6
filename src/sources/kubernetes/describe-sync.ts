// What is missing or failing between the cluster and the source, in sentences for people.
import type { SyncState } from '../../kubernetes/list-watch.ts';
import type { WatchedKind } from './watched-kinds.ts';

/** One list-watch, as far as it matters here. */
export interface WatchState {
  readonly watched: WatchedKind;
  readonly state: SyncState;
}

const maxFailures = 5;

/** Sentences without full stops, in an order that does not change by itself. */
export function describeSync(states: readonly WatchState[], awaitedNamespaces: readonly string[]): readonly string[] {
  const reasons: string[] = [];
  const missing = pickKinds(states, 'not-installed');
  const [gatewayApi, ownCrds, others] = (['gateway-api', 'own-crds', 'kubernetes'] as const).map((installer) =>
    missing.filter(({ installedBy }) => installedBy === installer).map(({ kind }) => kind),
  );
  if (gatewayApi!.length > 0)
    reasons.push(
      `not installed: ${gatewayApi!.join(', ')}; install the CRDs of Gateway API (https://gateway-api.sigs.k8s.io)`,
    );
  if (ownCrds!.length > 0) reasons.push(`not installed: ${ownCrds!.join(', ')}; install the chart proxy-crds`);
  if (others!.length > 0) reasons.push(`the API server does not serve ${others!.join(', ')}`);

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
