// A question for a person who wrote a name that is not there.
import { findNearestName } from '../base/nearest-name.ts';

/** "Did you mean X?" when one of the valid names is near enough to be what was meant. */
export function suggestName(name: string, valid: Iterable<string>): string | undefined {
  const nearest = findNearestName(name, valid);
  return nearest === undefined ? undefined : `Did you mean ${nearest}?`;
}
