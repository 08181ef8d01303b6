// Objects that exist only when an overlay asks for them: the first one that does brings them, `$patch: delete` in a later one takes them away.
import type { DeployOverlays } from '../api/deploy-overlays.ts';
import type { Json } from './merge-values.ts';

/** The overlays of a kind that are in force; undefined when the object is not wanted. */
export function listWantedOverlays(
  overlays: readonly DeployOverlays[],
  name: 'podDisruptionBudget' | 'horizontalPodAutoscaler',
): readonly Json[] | undefined {
  let wanted: Json[] | undefined;
  for (const { [name]: overlay } of overlays) {
    if (overlay === undefined) continue;
    if (overlay['$patch'] === 'delete') wanted = undefined;
    else wanted = [...(wanted ?? []), overlay];
  }
  return wanted;
}
