// A second reader of JSON, written from RFC 8259 only: it shares no code with the gateway, nor with JSON.parse.

/** Objects as lists of members, in the order of the text: nothing is merged. */
export type JsonTree =
  | string
  | number
  | boolean
  | null
  | JsonTree[]
  | { readonly members: readonly (readonly [string, JsonTree])[] };

/** A plain reader of JSON, by the grammar. Throws on anything else. */
export function readJsonTree(text: string): JsonTree {
  let at = 0;
  const fail = (): never => {
    throw new SyntaxError(`no JSON at ${at}`);
  };
  const skip = (): void => {
    while (' \t\n\r'.includes(text[at] ?? 'x')) at += 1;
  };
  const take = (character: string): void => {
    if (text[at] !== character) fail();
    at += 1;
  };
  const readString = (): string => {
    take('"');
    let value = '';
    for (;;) {
      const character = text[at] ?? fail();
      at += 1;
      if (character === '"') return value;
      if (character < ' ') fail();
      if (character !== '\\') {
        value += character;
        continue;
      }
      const escape = text[at] ?? fail();
      at += 1;
      if (escape === 'u') {
        const digits = text.slice(at, at + 4);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) fail();
        value += String.fromCharCode(Number.parseInt(digits, 16));
        at += 4;
      } else {
        const index = '"\\/bfnrt'.indexOf(escape);
        if (index === -1) fail();
        value += '"\\/\b\f\n\r\t'[index]!;
      }
    }
  };
  const readList = (end: string, readEntry: () => void): void => {
    at += 1;
    skip();
    if (text[at] === end) {
      at += 1;
      return;
    }
    for (;;) {
      readEntry();
      skip();
      if (text[at] === end) break;
      take(',');
      skip();
    }
    at += 1;
  };
  const readValue = (): JsonTree => {
    skip();
    switch (text[at]) {
      case '{': {
        const members: [string, JsonTree][] = [];
        readList('}', () => {
          const key = readString();
          skip();
          take(':');
          members.push([key, readValue()]);
        });
        return { members };
      }
      case '[': {
        const entries: JsonTree[] = [];
        readList(']', () => entries.push(readValue()));
        return entries;
      }
      case '"':
        return readString();
      default: {
        const word =
          /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/.exec(text.slice(at))?.[0] ?? fail();
        at += word.length;
        return word === 'true' ? true : word === 'false' ? false : word === 'null' ? null : Number(word);
      }
    }
  };
  const tree = readValue();
  skip();
  if (at !== text.length) fail();
  return tree;
}

/** The value that JSON.parse makes of it: of keys that are there twice the last counts. */
export function plantJsonTree(tree: JsonTree): unknown {
  if (Array.isArray(tree)) return tree.map(plantJsonTree);
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(tree.members.map(([key, value]) => [key, plantJsonTree(value)]));
}
