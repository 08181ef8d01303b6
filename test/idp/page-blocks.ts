// Code blocks of a page in docs/, by language: tests run what pages show.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const docs = join(import.meta.dirname, '..', '..', 'docs');

/** The blocks of a page (`idp/dex.md`) in this language, in order. */
export function readBlocks(page: string, language: string): string[] {
  const text = readFileSync(join(docs, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , block]) => block!);
}

/** The one block that contains this text. */
export function readBlockWith(page: string, language: string, text: string): string {
  const [found, ...others] = readBlocks(page, language).filter((block) => block.includes(text));
  if (found === undefined || others.length > 0) throw new Error(`docs/${page}: not one block with ${text}`);
  return found;
}
