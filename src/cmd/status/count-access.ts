// How many HTTPRoutes are open, by their conditions.
import type { AccessCount } from '../../base/access-count.ts';
import { findCondition } from './judge-conditions.ts';
import type { StatusRoute } from './status-report.ts';

/** Counts routes. One that is open at one of its parents is open. */
export function countAccess(routes: readonly StatusRoute[]): AccessCount {
  const isTrue = ({ parents }: StatusRoute, type: string, status: string, reason?: string): boolean =>
    parents.some(({ conditions }) => {
      const condition = findCondition(conditions, type);
      return condition?.status === status && (reason === undefined || condition.reason === reason);
    });
  const open = routes.filter((route) => isTrue(route, 'Open', 'True'));
  return {
    routes: routes.length,
    open: open.length,
    publicAccess: open.filter((route) => !isTrue(route, 'Open', 'True', 'Unprotected')).length,
    closed: routes.filter((route) => isTrue(route, 'Protected', 'False')).length,
  };
}
