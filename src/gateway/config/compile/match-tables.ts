// The route table of a list of matches, built once per list: unchanged lists are the same objects in the next compilation.
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
