// The endpoints that a picker named. It watches Pods itself and may know of one before the configuration with it is here.
import type { Endpoint, UpstreamBackend } from '../forward/upstream/upstreams.ts';
import { listCandidates } from './destination.ts';

/** How long an endpoint that is not known is waited for. */
const patienceMs = 1_000;
const lookAgainMs = 20;

/** Finds those that are endpoints of the pool, at once if there is one. Returns how to stop waiting. */
export function findCandidates(
  destination: string,
  findPool: () => UpstreamBackend | undefined,
  clock: () => number,
  onFound: (candidates: Endpoint[]) => void,
): () => void {
  const names = listCandidates(destination);
  const giveUpAt = clock() + patienceMs;
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const pool = findPool();
    const candidates = names.flatMap((name) => pool?.findByName(name) ?? []);
    if (candidates.length > 0 || names.length === 0 || clock() >= giveUpAt) onFound(candidates);
    else timer = setTimeout(look, lookAgainMs);
  };
  look();
  return () => clearTimeout(timer);
}
