// Changes single members of an object in a JSON text; everything else stays byte for byte.
import { replaceParts, skipSpace, type TextSpan, walkMembers, walkValue } from '../../../base/json-text.ts';

/** What to do with an object: members that go, and members (JSON) that come. */
export interface MemberChange {
  readonly remove?: ReadonlySet<string>;
  readonly add?: Readonly<Record<string, string>>;
}

/** The value at a path; undefined: there is none. */
export function findValue(text: string, path: readonly string[], from = skipSpace(text, 0)): TextSpan | undefined {
  let start = from;
  for (const wanted of path) {
    if (text[start] !== '{') return undefined;
    let found: number | undefined;
    walkMembers(text, start, (key, at) => {
      if (key === wanted) found = at;
      return undefined;
    });
    if (found === undefined) return undefined;
    start = found;
  }
  return { start, end: walkValue(text, start) };
}

/** The text with the object at this path changed; objects that are missing on the way are made where members are to be added. */
export function changeMembers(text: string, path: readonly string[], change: MemberChange): string {
  const place = findValue(text, path);
  if (place !== undefined) {
    if (text[place.start] !== '{') return text;
    return replaceParts(text, [{ ...place, text: changeObject(text, place.start, change) }]);
  }
  const last = path.at(-1);
  if (last === undefined || change.add === undefined) return text;
  return changeMembers(text, path.slice(0, -1), { add: { [last]: changeObject('{}', 0, change) } });
}

function changeObject(text: string, start: number, { remove, add = {} }: MemberChange): string {
  const members: string[] = [];
  for (const [key, json] of Object.entries(add)) members.push(`${JSON.stringify(key)}:${json}`);
  walkMembers(text, start, (key, at) => {
    const end = walkValue(text, at);
    if (remove?.has(key) !== true && !Object.hasOwn(add, key))
      members.push(`${JSON.stringify(key)}:${text.slice(at, end)}`);
    return end;
  });
  return `{${members.join(',')}}`;
}
