// A stand-in name for a hidden item. Where the rules let unknown names pass (Deny rules), the server itself answers for unknown items. So a
// hidden item is also sent to the server, under a name that does not exist there, and the answer gets back the name that the client sent
// (restore-names.ts). Otherwise the wording of the answer would tell hidden and unknown items apart.
import { createHash, randomBytes } from 'node:crypto';
import { namesItem } from '../names/rename-request.ts';
import type { Item } from '../read/read-item.ts';

/** A part of the asked name, and its replacement. */
export interface ReplacedPart {
  readonly asked: string;
  readonly sent: string;
}

/** An item that the server does not have. */
export interface StandIn {
  readonly item: Item;
  readonly parts: readonly ReplacedPart[];
  /** Makes the same one again. Of every item it has the same length. */
  readonly seed: string;
}

/** No server has longer names, and a client that sends them must not choose how much work each answer is. */
const maxNameLength = 1_000;
/** A name of more pieces is replaced as a whole. */
const maxPieces = 16;

/** Whether the item of such a message can be replaced. */
export function canStandIn(method: string, { name }: Item): boolean {
  return namesItem(method) && name.length <= maxNameLength;
}

/** Stand-ins for an item, the most similar first: `tickets_close` becomes another name with `tickets_`, then any name. */
export function* listStandIns(item: Item): Generator<StandIn> {
  const last = splitName(item).filter(({ isName }) => isName).length - 1;
  // The last piece; all but the first (a scheme, a prefix); all.
  for (const from of new Set([last, Math.min(1, last), 0])) yield repeatStandIn(item, createSeed(from));
}

/** The stand-in that was made for this item. */
export function repeatStandIn(item: Item, seed: string): StandIn {
  const pieces = splitName(item);
  const named = pieces.flatMap(({ isName }, index) => (isName ? [index] : []));
  const replaced = new Set(named.slice(Number(seed.slice(0, 2))));
  const parts: ReplacedPart[] = [];
  const name = pieces.map(({ text }, index) => {
    if (!replaced.has(index)) return text;
    const sent = inventText(text, `${seed} ${index}`);
    parts.push({ asked: text, sent });
    return sent;
  });
  return { item: { ...item, name: name.join('') }, parts, seed };
}

/** `from`: the first piece of the name that is replaced. Whoever does not know the seed can tell nothing of the texts. */
export function createSeed(from: number): string {
  return `${String(from).padStart(2, '0')}${randomBytes(12).toString('base64url')}`;
}

interface NamePiece {
  readonly text: string;
  /** False for separators and file suffixes. */
  readonly isName: boolean;
}

function splitName({ kind, name }: Item): readonly NamePiece[] {
  const suffix = kind === 'resource' ? (/\.[A-Za-z0-9]{1,8}$/.exec(name)?.[0] ?? '') : '';
  const separators = kind === 'resource' ? /([:/?#]+)/ : /([^\p{L}\p{N}]+)/u;
  const pieces = name
    .slice(0, name.length - suffix.length)
    .split(separators)
    .map((text, index) => ({ text, isName: index % 2 === 0 && text !== '' }));
  // Nothing to replace: a name of signs only, or none at all.
  if (pieces.length > 2 * maxPieces || !pieces.some(({ isName }) => isName)) return [{ text: name, isName: true }];
  return suffix === '' ? pieces : [...pieces, { text: suffix, isName: false }];
}

/** Long enough that no server or answer has it by chance. Numbers are replaced by numbers that every parser keeps exactly. */
function inventText(asked: string, seed: string): string {
  const isNumber = /^[0-9]+$/.test(asked);
  const alphabet = isNumber ? '123456789' : 'abcdefghijklmnopqrstuvwxyz';
  const length = isNumber ? 15 : Math.min(Math.max(asked.length, 16), 64);
  const bytes = createHash('shake256', { outputLength: length }).update(seed).digest();
  return Array.from(bytes, (byte) => alphabet[byte % alphabet.length]).join('');
}
