// Objects that exist only when an overlay requests them: any overlay creates the object, `$patch: delete` in a later one removes it.
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
