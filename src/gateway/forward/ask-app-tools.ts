// Asks a federation for tools that are called by the servers' own names. Targets are asked with the headers that the request would bring them.
import { findUnsendableHeader } from '../http/headers.ts';
import type { Federations } from '../mcp/federation/federations.ts';
import type { AppTools, FindAppToolsOf } from '../request/app-tools.ts';
import type { BackendRequest } from '../request/run-steps.ts';
import type { LoopGuard } from './loop-guard.ts';
import { planForward, type PlanInput } from './plan-forward.ts';

const nothing: AppTools = { prefixed: new Map(), refused: new Map() };
/** Lists are not mirrored. */
const noBackends: PlanInput['backends'] = new Map();

export function createAppToolFinder(
  federations: Federations,
  loopGuard: Pick<LoopGuard, 'markNext'>,
  random: () => number,
): FindAppToolsOf<BackendRequest> {
  return async (request, names, message, isListed) => {
    const { context, backend } = request;
    const { federation: config, key } = backend;
    const round = loopGuard.markNext(context.exchange.headers);
    // A request that loops will be refused, and so will one whose headers cannot be sent.
    if (config === undefined || round === undefined) return nothing;
    const { headers, host } = planForward({ ...request, backends: noBackends, responseHeaders: [], round, random });
    if (findUnsendableHeader(['host', host, ...headers]) !== undefined) return nothing;
    const { findAppTools } = await import('../mcp/federation/methods/find-app-tools.ts');
    return findAppTools({ federations, backend: key, config, context, headers, host, names, message, isListed });
  };
}
