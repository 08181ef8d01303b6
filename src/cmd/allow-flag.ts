// --allow of `run --target`: who gets in, as KIND:VALUE.
import { findNearestName } from '../base/nearest-name.ts';

const kinds = {
  org: { list: 'organizations', example: 'org:acme' },
  domain: { list: 'domains', example: 'domain:example.com' },
  email: { list: 'emails', example: 'email:ada@example.com' },
  subject: { list: 'subjects', example: 'subject:1234' },
} as const;

type Kind = keyof typeof kinds;

/** Lists as `identity.allow` of a policy has them. */
export type AllowLists = Partial<Record<(typeof kinds)[Kind]['list'], string[]>>;

/** The kinds with an example of each, for help and errors. */
export const allowExamples = Object.values(kinds)
  .map(({ example }) => example)
  .join(', ');

/** Reads the values of all --allow, or says what is wrong with one. */
export function readAllow(
  values: readonly string[],
): { readonly ok: true; readonly lists: AllowLists } | { readonly ok: false; readonly message: string } {
  const lists: AllowLists = {};
  for (const text of values) {
    const [, name, value] = /^([^:]*):(.*)$/s.exec(text) ?? [];
    const kind = Object.keys(kinds).find((each): each is Kind => each === name);
    if (kind === undefined) return { ok: false, message: describeUnknown(text, name, value) };
    const { list, example } = kinds[kind];
    if (value === undefined || value.trim() === '')
      return { ok: false, message: `--allow ${kind}: has no value; write ${example}` };
    lists[list] = [...(lists[list] ?? []), value];
  }
  return { ok: true, lists };
}

function describeUnknown(text: string, name: string | undefined, value = ''): string {
  const guess =
    name === undefined ? `${guessKind(text)}:${text}` : `${findNearestName(name, Object.keys(kinds)) ?? ''}:${value}`;
  const advice = guess.startsWith(':') || guess.endsWith(':') ? '' : `; did you mean ${guess} ?`;
  return `--allow must be one of ${allowExamples}, not ${JSON.stringify(text)}${advice}`;
}

function guessKind(text: string): Kind {
  if (text.includes('@')) return 'email';
  return text.includes('.') ? 'domain' : 'org';
}
