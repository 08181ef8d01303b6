// Replaces strings at known places of a JSON text; everything else stays byte for byte.
import {
  readString,
  replaceParts,
  type TextSpan,
  walkElements,
  walkMembers,
  walkValue,
} from '../../../base/json-text.ts';

/** Where strings stand: the members of an object, the elements of an array, or the value itself. Values of another form are passed over. */
export interface Places<K extends string> {
  readonly members?: Readonly<Record<string, Places<K>>>;
  readonly elements?: Places<K>;
  /** The value is a string of this kind. */
  readonly kind?: K;
  /** Every member of an object, whatever it is called. */
  readonly values?: Places<K>;
  /** Of an object, what one of its members says which. */
  readonly choice?: PlacesByMember<K>;
}

/** Objects of several forms, which a string in one of their members tells apart. */
export interface PlacesByMember<K extends string> {
  readonly member: string;
  readonly forms: ReadonlyMap<string, Places<K>>;
  readonly otherwise: Places<K>;
}

/** A string in the place of another one; undefined: it stays. */
export type ReplaceString<K extends string> = (kind: K, value: string) => string | undefined;

/** The text with the strings at these places replaced, in every member of a name that is there twice. */
export function replaceStrings<K extends string>(
  text: string,
  start: number,
  places: Places<K>,
  replace: ReplaceString<K>,
): string {
  const parts: (TextSpan & { readonly text: string })[] = [];
  visit(text, start, places, (kind, span) => {
    const value = readString(text, span.start, span.end);
    const replaced = replace(kind, value);
    if (replaced !== undefined && replaced !== value) parts.push({ ...span, text: JSON.stringify(replaced) });
  });
  return parts.length === 0 ? text : replaceParts(text, parts);
}

/** Says where the value ends. */
function visit<K extends string>(
  text: string,
  at: number,
  places: Places<K>,
  found: (kind: K, span: TextSpan) => void,
): number {
  switch (text[at]) {
    case '"': {
      const end = walkValue(text, at);
      if (places.kind !== undefined) found(places.kind, { start: at, end });
      return end;
    }
    case '{': {
      const { members, values, choice } = places;
      if (choice !== undefined) return visit(text, at, choose(text, at, choice), found);
      if (values !== undefined) return walkMembers(text, at, (_key, value) => visit(text, value, values, found));
      if (members === undefined) return walkValue(text, at);
      return walkMembers(text, at, (key, value) =>
        Object.hasOwn(members, key) ? visit(text, value, members[key]!, found) : undefined,
      );
    }
    case '[': {
      const { elements } = places;
      if (elements === undefined) return walkValue(text, at);
      return walkElements(text, at, (element) => visit(text, element, elements, found));
    }
    default:
      return walkValue(text, at);
  }
}

/** Of members that are there twice the last one counts, as for JSON.parse. */
function choose<K extends string>(
  text: string,
  at: number,
  { member, forms, otherwise }: PlacesByMember<K>,
): Places<K> {
  let chosen = otherwise;
  walkMembers(text, at, (key, value) => {
    if (key !== member) return undefined;
    const end = walkValue(text, value);
    chosen = (text[value] === '"' ? forms.get(readString(text, value, end)) : undefined) ?? otherwise;
    return end;
  });
  return chosen;
}
