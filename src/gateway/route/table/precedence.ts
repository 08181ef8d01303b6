// Which match of which route wins, as HTTPRouteRule.matches of Gateway API 1.6 words it. Hostnames come before all of this:
// there is one route table per hostname (hostname.ts has their order).

/** What the order of two matches depends on. */
export interface MatchRank {
  /**
   * The specification leaves the place of regular expressions open. Here, as in Envoy Gateway, they stand after exact paths
   * and before prefixes: a prefix such as / would otherwise shadow them or not depending on its length.
   */
  readonly pathType: 'exact' | 'regularExpression' | 'prefix';
  /** Characters of the path, of the expression, or of the prefix without its trailing slash. */
  readonly pathLength: number;
  readonly hasMethod: boolean;
  readonly headerCount: number;
  readonly queryParamCount: number;
  /** Seconds since 1970; 0 when unknown, which sorts last. */
  readonly createdAt: number;
  /** namespace/name */
  readonly httpRoute: string;
  readonly ruleIndex: number;
  readonly matchIndex: number;
}

const pathTypeOrder = { exact: 0, regularExpression: 1, prefix: 2 } as const;

/** Negative when `left` takes precedence. A total order over the matches of one route table. */
export function compareMatchRanks(left: MatchRank, right: MatchRank): number {
  return (
    pathTypeOrder[left.pathType] - pathTypeOrder[right.pathType] ||
    right.pathLength - left.pathLength ||
    Number(right.hasMethod) - Number(left.hasMethod) ||
    right.headerCount - left.headerCount ||
    right.queryParamCount - left.queryParamCount ||
    compareAges(left.createdAt, right.createdAt) ||
    compareText(left.httpRoute, right.httpRoute) ||
    left.ruleIndex - right.ruleIndex ||
    left.matchIndex - right.matchIndex
  );
}

function compareAges(left: number, right: number): number {
  if (left === right) return 0;
  if (left === 0) return 1;
  if (right === 0) return -1;
  return left - right;
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
