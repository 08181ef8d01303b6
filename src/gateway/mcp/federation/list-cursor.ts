// Where a list of a federation goes on. Sealed, so that clients neither learn cursors of servers nor invent them; nothing is stored, and every replica can go on.
import type { Sealer } from '../../../base/sealed.ts';
import type { ListMethod } from '../read/list-methods.ts';

/** The place of the next entry. */
export interface ListPlace {
  /** Name of the target. */
  readonly target: string;
  /** The target's own cursor of its page; undefined: its first. */
  readonly cursor: string | undefined;
  /** In that page: entries before it have been sent. */
  readonly index: number;
  /** The server's name of the last entry that was sent, which may have moved meanwhile; undefined: none of this page. */
  readonly after: string | undefined;
}

const purpose = 'federated-list-cursor';

/** The text that clients send back. */
export function sealCursor(sealer: Sealer, federation: string, method: ListMethod, place: ListPlace): string {
  const { target, cursor, index, after } = place;
  return sealer.seal(purpose, [target, cursor ?? null, index, after ?? null], { context: `${federation}\0${method}` });
}

/** Undefined: it is not one of this list. */
export function openCursor(
  sealer: Sealer,
  federation: string,
  method: ListMethod,
  text: string,
): ListPlace | undefined {
  const opened = sealer.open<readonly [string, string | null, number, string | null]>(
    purpose,
    text,
    `${federation}\0${method}`,
  );
  if (!opened.ok) return undefined;
  const [target, cursor, index, after] = opened.value;
  return { target, cursor: cursor ?? undefined, index, after: after ?? undefined };
}
