// Ways to change a token, each a little or a lot, for the mutation fuzz.
import { algorithms } from '../../src/gateway/authentication/token/algorithms.ts';
import { encodePart } from '../kit/test-issuer.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Changes a token. `others`: good tokens to take parts from. What comes out may be the same token: then it was none. */
export type Mutation = (token: string, random: SeededRandom, others: readonly string[]) => string;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const letters = alphabet.split('');
const oddCharacters = ['.', '=', '+', '/', ' ', '\n', '\t', '\u0000', '%', ',', '~', '\u00e9', '\u0441', '\u{1F600}'];

/** By name. */
export const mutations: Readonly<Record<string, Mutation>> = {
  'a bit of a decoded part': editPart((bytes, random) => {
    if (bytes.length > 0) bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
    return bytes;
  }),
  'a byte of a decoded part': editPart((bytes, random) => {
    if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
    return bytes;
  }),
  'a byte of a decoded part taken out': editPart((bytes, random) => {
    const at = random.below(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
  }),
  'a byte put into a decoded part': editPart((bytes, random) => {
    const at = random.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), Buffer.of(random.below(256)), bytes.subarray(at)]);
  }),
  'two bytes of a decoded part exchanged': editPart((bytes, random) => {
    const [one, other] = [random.below(bytes.length), random.below(bytes.length)];
    [bytes[one], bytes[other]] = [bytes[other]!, bytes[one]!];
    return bytes;
  }),
  'a stretch of a decoded part zeroed': editPart((bytes, random) =>
    bytes.fill(0, random.below(bytes.length), random.below(bytes.length) + 1),
  ),
  'a decoded part cut': editPart((bytes, random) => bytes.subarray(0, random.below(bytes.length + 1))),
  'a decoded part that goes on': editPart((bytes, random) =>
    Buffer.concat([bytes, Buffer.alloc(1 + random.below(8), random.pick([0, 0x20, 0x7d, 0xff]))]),
  ),
  'a bit of a character': (token, random) => {
    const at = random.below(token.length);
    return replaceAt(token, at, String.fromCharCode(token.charCodeAt(at) ^ (1 << random.below(7))));
  },
  'another character': (token, random) => replaceAt(token, random.below(token.length), random.pick(letters)),
  'an odd character': (token, random) => replaceAt(token, random.below(token.length), random.pick(oddCharacters)),
  'an odd character put in': (token, random) => {
    const at = random.below(token.length + 1);
    return token.slice(0, at) + random.pick(oddCharacters) + token.slice(at);
  },
  'a character taken out': (token, random) => replaceAt(token, random.below(token.length), ''),
  'two neighbours exchanged': (token, random) => {
    const at = random.below(token.length - 1);
    return token.slice(0, at) + token[at + 1]! + token[at]! + token.slice(at + 2);
  },
  'a stretch repeated': (token, random) => {
    const [from, to] = [random.below(token.length), random.below(token.length)].toSorted((a, b) => a - b) as [
      number,
      number,
    ];
    return token.slice(0, to) + token.slice(from);
  },
  'cut at the end': (token, random) => token.slice(0, random.below(token.length)),
  'cut at the beginning': (token, random) => token.slice(1 + random.below(token.length)),
  'a part of another token': (token, random, others) => {
    const parts = token.split('.');
    parts[random.below(3)] = random.pick(others).split('.')[random.below(3)]!;
    return parts.join('.');
  },
  'header of one, claims of another, signature of a third': (_token, random, others) =>
    [0, 1, 2].map((index) => random.pick(others).split('.')[index]!).join('.'),
  'the beginning of one and the end of another': (token, random, others) => {
    const other = random.pick(others);
    const at = random.below(Math.min(token.length, other.length));
    return token.slice(0, at) + other.slice(at);
  },
  'parts in another order': (token, random) => {
    const parts = token.split('.');
    return [random.pick(parts), random.pick(parts), random.pick(parts)].join('.');
  },
  'a part in base64 with padding': (token, random) =>
    editText(token, random, (part) => Buffer.from(part, 'base64url').toString('base64')),
  'a part in base64 once more': (token, random) => editText(token, random, encodePart),
  'a part in hex': (token, random) => editText(token, random, (part) => Buffer.from(part, 'base64url').toString('hex')),
  'a part with the spare bits of its end': (token, random) =>
    editText(token, random, (part) => {
      const last = alphabet.indexOf(part.at(-1)!);
      return part.slice(0, -1) + alphabet[last ^ (1 + random.below(3))]!;
    }),
  'a part in another case': (token, random) =>
    editText(token, random, (part) => (random.below(2) === 0 ? part.toUpperCase() : part.toLowerCase())),
  'a part emptied': (token, random) => editText(token, random, () => ''),
  'another alg': editHeader((header, random) => {
    header['alg'] = random.pick([...Object.keys(algorithms), 'none', 'None', 'HS256', 'HS384', 'HS512', 'ES256K']);
  }),
  'another kid': editHeader((header, random, kids) => {
    header['kid'] = random.pick(kids);
  }),
  'no kid': editHeader((header) => {
    delete header['kid'];
  }),
  'another typ': editHeader((header, random) => {
    header['typ'] = random.pick(['JWT', 'jwt', 'at+jwt', 'dpop+jwt', '', null]);
  }),
  'one header parameter more': editHeader((header, random) => {
    const name = random.pick(['crit', 'jku', 'jwk', 'x5u', 'x5c', 'b64', 'zip', 'cty', 'x']);
    header[name] = random.pick([true, [], ['x'], 'https://attacker.example.com', {}]);
  }),
  'another claim': (token, random) => {
    const parts = token.split('.');
    const claims = JSON.parse(Buffer.from(parts[1]!, 'base64url').toString()) as Record<string, unknown>;
    const name = random.pick([...Object.keys(claims), 'groups', 'admin']);
    claims[name] = random.pick([true, 'root', 99_999_999_999, ['admins'], {}, null, `${String(claims[name])}x`]);
    parts[1] = encodePart(claims);
    return parts.join('.');
  },
  'several changes at once': (token, random) => {
    let changed = token;
    for (let count = 2 + random.below(6); count > 0; count -= 1) {
      changed = replaceAt(changed, random.below(changed.length), random.pick(letters));
    }
    return changed;
  },
};

function editPart(edit: (bytes: Buffer, random: SeededRandom) => Buffer): Mutation {
  return (token, random) =>
    editText(token, random, (part) => edit(Buffer.from(part, 'base64url'), random).toString('base64url'));
}

function editText(token: string, random: SeededRandom, edit: (part: string) => string): string {
  const parts = token.split('.');
  const at = random.below(parts.length);
  parts[at] = edit(parts[at]!);
  return parts.join('.');
}

function editHeader(
  edit: (header: Record<string, unknown>, random: SeededRandom, kids: readonly unknown[]) => void,
): Mutation {
  return (token, random, others) => {
    const parts = token.split('.');
    const header = readHeader(parts[0]!);
    edit(header, random, [...others.map((other) => readHeader(other.split('.')[0]!)['kid']), '', 'nope', 0, null]);
    parts[0] = encodePart(header);
    return parts.join('.');
  };
}

function readHeader(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
}

function replaceAt(text: string, at: number, replacement: string): string {
  return text.slice(0, at) + replacement + text.slice(at + 1);
}
