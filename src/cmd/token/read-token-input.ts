// A token as people have it at hand: piped in, with "Bearer " in front of it or the whole header line, and with line ends around it.
import type { ReadTextResult } from '../../sources/files/read-text.ts';

/** Where tokens can come in. */
export interface TokenInput {
  /** Somebody would have to type it. */
  readonly isTerminal: boolean;
  /** All of standard input, up to a size; undefined when it is larger. */
  readonly read: (maxBytes: number) => Promise<Buffer | undefined>;
}

type CleanedToken =
  | { readonly ok: true; readonly token: string }
  /** Completes "the input ..."; never quotes it. */
  | { readonly ok: false; readonly problem: string };

const maxInputBytes = 1024 * 1024;

/** Reads standard input; a terminal is refused, because tokens are not typed by hand. */
export async function readTokenInput(input: TokenInput): Promise<ReadTextResult> {
  if (input.isTerminal)
    return {
      ok: false,
      message: 'the token is read from standard input, and that is a terminal: add "< token.txt", or pipe it in',
    };
  const bytes = await input.read(maxInputBytes);
  if (bytes === undefined) return { ok: false, message: 'standard input is larger than 1 MiB; that is no token' };
  return { ok: true, value: bytes.toString('utf8') };
}

/** The token alone. */
export function cleanToken(text: string): CleanedToken {
  const token = text
    .trim()
    .replace(/^authorization:\s*/i, '')
    .replace(/^bearer\s+/i, '')
    .replaceAll(/^["']|["']$/g, '')
    .trim();
  if (token === '') return { ok: false, problem: 'is empty' };
  if (/\s/.test(token)) return { ok: false, problem: 'has more than one word in it; a token has no spaces' };
  return { ok: true, token };
}

/** The standard input of this process. */
export const processTokenInput: TokenInput = {
  get isTerminal() {
    return process.stdin.isTTY;
  },
  async read(maxBytes) {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  },
};
