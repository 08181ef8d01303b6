// Tools that pages of MCP Apps call by the server's own name: those whose server says in their description that a page may. The names are looked for in what the
// targets listed last, like those of a federation without prefixes (owned-names.ts).
import { isJsonObject } from '../../../base/json-object.ts';
import type { ListMethod } from '../read/list-methods.ts';
import type { ListNotes } from './fetch-kept-list.ts';
import { OwnedNames, type OwnedNamesParts } from './owned-names.ts';

/** The names of one federation. */
export function createAppTools(parts: Omit<OwnedNamesParts, 'use'>): OwnedNames {
  return new OwnedNames({
    ...parts,
    use: {
      counts: ({ text }) => isAppTool(text),
      // Where names have prefixes, no server can take over a tool of another one. So a name is nobody's as long as one that could have it as well has said nothing.
      isNeeded: () => true,
      logContested: (log, fields) =>
        log.info(
          fields,
          'several servers of a federation have app tools of the same names; pages have to call these with the prefix',
        ),
    },
  });
}

/** What lists of tools tell; others tell nothing. */
export function chooseListNotes(method: ListMethod, apps: OwnedNames): ListNotes | undefined {
  return method === 'tools/list' ? apps : undefined;
}

/** Whether pages may call a tool (MCP Apps, "Visibility"): it belongs to an app, and says nothing else. The text is that of its entry in the list. */
export function isAppTool(text: string): boolean {
  if (!text.includes('"ui"') && !text.includes('"ui/resourceUri"')) return false;
  const { _meta: meta } = JSON.parse(text) as { readonly _meta?: unknown };
  if (!isJsonObject(meta)) return false;
  const { ui } = meta;
  // The older form of a link to a page; it says nothing about visibility.
  if (ui === undefined) return typeof meta['ui/resourceUri'] === 'string';
  if (!isJsonObject(ui)) return false;
  const { visibility = everybody } = ui;
  return Array.isArray(visibility) && visibility.includes('app');
}

const everybody: readonly string[] = ['model', 'app'];
