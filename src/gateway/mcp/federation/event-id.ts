// The ids of events on the stream of a call, as a client sees them. A client that lost the stream sends the last one back, to whichever replica, so an id says all that is needed
// to go on: whose call it is, where, and after which event. It is sealed for the client's session: of another one, altered or invented, it is no id.
import type { Sealer } from '../../../base/sealed.ts';
import type { ItemKind } from '../read/read-item.ts';
import type { CallPlace } from './target.ts';

const purpose = 'mcp-federated-event';

/** Headers of 8 KB are taken everywhere, and a session id may take half of that. */
const maxLength = 2_048;

/** The item of a call where rules hide some: the server knows a hidden one by another name (answer/stand-in.ts), which must not show in the rest of the stream either. */
export interface AskedName {
  readonly kind: ItemKind;
  /** As the client sent it. */
  readonly name: string;
  readonly isHidden: boolean;
  /** Of the name that the server got in place of a hidden one; any other one of an item that is not hidden, so that ids of both have the same length. */
  readonly seed: string;
}

/** Where a call goes on. */
export interface EventPlace extends CallPlace {
  readonly target: string;
  /** Of the request: its answer has names at other places than those of others. */
  readonly method: string;
  /** Undefined: there are no rules. */
  readonly asked: AskedName | undefined;
}

type Sealed = readonly [
  target: string,
  method: string,
  /** JSON of the request's. */
  id: string,
  eventId: string,
  session: string | null,
  tag: string | null,
  version: string,
  asked: readonly [kind: ItemKind, name: string, isHidden: 0 | 1, seed: string] | null,
];

/** Of the answer: nothing comes after it. */
const last: readonly [] = [];

/** The id for the client, in the session with this name; undefined: it would be too long to be sent back. */
export function sealEventId(sealer: Sealer, session: string, place: EventPlace): string | undefined {
  const { target, method, id, eventId, session: own, asked } = place;
  // Sealed text is longer than the text.
  if (id.length + (asked?.name.length ?? 0) > maxLength) return undefined;
  const item = asked && ([asked.kind, asked.name, asked.isHidden ? 1 : 0, asked.seed] as const);
  const sealed: Sealed = [target, method, id, eventId, own.id ?? null, own.tag ?? null, own.version, item ?? null];
  const text = sealer.seal(purpose, sealed, { context: session });
  return text.length > maxLength ? undefined : text;
}

/** The id of the event with the answer. Clients that come back all the same shall be told that there is no more. */
export function sealLastEventId(sealer: Sealer, session: string): string {
  return sealer.seal(purpose, last, { context: session });
}

export type OpenedEventId =
  | { readonly kind: 'rest'; readonly place: EventPlace }
  /** The client has it all. */
  | { readonly kind: 'nothing' }
  /** Nobody gave it to this session. */
  | { readonly kind: 'unknown' };

export function openEventId(sealer: Sealer, session: string, text: string): OpenedEventId {
  if (text.length > maxLength) return { kind: 'unknown' };
  const opened = sealer.open<Sealed | typeof last>(purpose, text, session);
  if (!opened.ok) return { kind: 'unknown' };
  if (opened.value.length === 0) return { kind: 'nothing' };
  const [target, method, id, eventId, own, tag, version, item] = opened.value;
  const asked = item === null ? undefined : readAsked(item);
  const at = { id: own ?? undefined, tag: tag ?? undefined, version };
  return { kind: 'rest', place: { target, method, id, eventId, session: at, asked } };
}

function readAsked([kind, name, isHidden, seed]: NonNullable<Sealed[7]>): AskedName {
  return { kind, name, isHidden: isHidden === 1, seed };
}
