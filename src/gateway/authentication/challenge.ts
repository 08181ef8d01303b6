// WWW-Authenticate (RFC 9110 11.6.1, RFC 6750 3, RFC 9728 5.1): the writer of the challenge that starts and repairs a login, and a reader for any.
import { rememberTexts } from '../../base/text-memory.ts';

/** The content of a challenge. Without an error it only names the metadata to start from (RFC 6750 3.1: no credentials, no error). */
export interface BearerChallenge {
  readonly error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope';
  /** A sentence for people. */
  readonly errorDescription?: string;
  /** URL of the protected resource metadata. */
  readonly resourceMetadata?: string;
  readonly scopes?: readonly string[];
}

/**
 * Writes the challenge. Clients in use read it with loose regular expressions, so the parameters come in a fixed order with the free text
 * last, and nothing in the free text looks like a parameter.
 */
export function formatChallenge(challenge: BearerChallenge): string {
  const parameters: string[] = [];
  if (challenge.error !== undefined) parameters.push(`error="${challenge.error}"`);
  if (challenge.resourceMetadata !== undefined)
    parameters.push(`resource_metadata="${encodeUrl(challenge.resourceMetadata)}"`);
  const scopes = (challenge.scopes ?? []).filter((scope) => scopeToken.test(scope));
  if (scopes.length > 0) parameters.push(`scope="${scopes.join(' ')}"`);
  const description = cleanDescription(challenge.errorDescription ?? '');
  if (description !== '') parameters.push(`error_description="${description}"`);
  return parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`;
}

const scopeToken = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/** Encodes a URL for a quoted string: characters that would end it and non-ASCII characters are percent-encoded. */
function encodeUrl(url: string): string {
  return url.replace(/[^\x21\x23-\x5B\x5D-\x7E]/gu, (character) => encodeURIComponent(character.toWellFormed()));
}

/** RFC 6750 3: printable ASCII without quote and backslash. `=` is removed too: clients could take `scope=x` in a sentence for a parameter. */
const cleanDescription = rememberTexts((text) =>
  text
    .replaceAll('"', "'")
    .replaceAll('=', ':')
    .replace(/[^\x20-\x7E]|\\/g, '?')
    .slice(0, 300)
    .trim(),
);

/** One challenge of a WWW-Authenticate field: a scheme with parameters, or with one opaque value. */
interface Challenge {
  /** As written; schemes are compared without regard to case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly token68: string | undefined;
}

const token = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const opaque = /[A-Za-z0-9\-._~+/]+=*/y;

/**
 * Reads all challenges of one or several joined fields. Undefined when the text is not a valid list of challenges; a repeated parameter
 * makes it invalid too.
 */
export function parseChallenges(text: string): readonly Challenge[] | undefined {
  const reader = new FieldReader(text);
  const challenges: { scheme: string; parameters: Map<string, string>; token68: string | undefined }[] = [];
  reader.skipListGaps();
  while (!reader.isAtEnd) {
    const name = reader.take(token);
    if (name === undefined) return undefined;
    const current = challenges.at(-1);
    const value = current?.token68 === undefined ? reader.takeParameterValue() : undefined;
    if (value === null) return undefined;
    if (value !== undefined) {
      // name=value belongs to the challenge before it.
      if (current === undefined || current.parameters.has(name.toLowerCase())) return undefined;
      current.parameters.set(name.toLowerCase(), value);
    } else {
      const started = { scheme: name, parameters: new Map<string, string>(), token68: undefined as string | undefined };
      challenges.push(started);
      if (reader.skipSpaces() > 0 && !reader.isAtGap) {
        const first = reader.takeFirstParameter();
        if (first === undefined) {
          started.token68 = reader.take(opaque);
          if (started.token68 === undefined) return undefined;
        } else {
          started.parameters.set(first.name.toLowerCase(), first.value);
        }
      }
    }
    if (!reader.isAtEnd && !reader.isAtGap) return undefined;
    reader.skipListGaps();
  }
  return challenges;
}

/** The first Bearer challenge, without regard to case; undefined when there is none. */
export function findBearerChallenge(text: string): Challenge | undefined {
  return parseChallenges(text)?.find(({ scheme }) => scheme.toLowerCase() === 'bearer');
}

class FieldReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text.trim();
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** At a comma, or at spaces before one. */
  get isAtGap(): boolean {
    return /^[ \t]*(?:,|$)/.test(this.#text.slice(this.#at, this.#at + 64));
  }

  take(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.#text);
    if (match === null) return undefined;
    this.#at += match[0].length;
    return match[0];
  }

  skipSpaces(): number {
    return this.take(/[ \t]*/y)!.length;
  }

  skipListGaps(): void {
    this.take(/[ \t,]*/y);
  }

  /** After a name: `= value`. Undefined when no `=` follows, null when what follows is no value. */
  takeParameterValue(): string | undefined | null {
    if (this.take(/[ \t]*=[ \t]*/y) === undefined) return undefined;
    const quoted = this.take(/"(?:[^"\\]|\\.)*"/sy);
    if (quoted !== undefined) return quoted.slice(1, -1).replace(/\\(.)/gs, '$1');
    return this.take(token) ?? null;
  }

  /** `name = value` behind a scheme; undefined (and nothing is taken) when it is a token68. */
  takeFirstParameter(): { readonly name: string; readonly value: string } | undefined {
    const start = this.#at;
    const name = this.take(token);
    const value = name === undefined ? undefined : this.takeParameterValue();
    if (name !== undefined && typeof value === 'string') return { name, value };
    this.#at = start;
    return undefined;
  }
}
