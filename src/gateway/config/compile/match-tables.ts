// The route table of a list of matches, made once per list: lists that did not change are the same objects from one compilation to the next.
import { RouteTable } from '../../route/table/route-table.ts';
import type { MatchList } from './compile-rules.ts';
import type { RouteConfig } from '../runtime-config.ts';

const tables = new WeakMap<MatchList, RouteTable<RouteConfig>>();

/** Arranges matches for lookups. The list must not change afterwards. */
export function arrangeMatches(matches: MatchList): RouteTable<RouteConfig> {
  let table = tables.get(matches);
  if (table === undefined) {
    table = new RouteTable(matches);
    tables.set(matches, table);
  }
  return table;
}
