// What the tools that a target listed last tell about it: how many there are, and which arguments are to be repeated in header fields.
import { isJsonObject } from '../../../base/json-object.ts';
import { readRepeatedArguments } from './parameter-headers.ts';

type Repeated = ReturnType<typeof readRepeatedArguments>;

/** Cursors whose page was not asked for yet. */
const maxOpenLists = 32;
/** Tools whose arguments are known. */
const maxTools = 1_000;

export class ListedTools {
  /** The number of tools before the page with this cursor. */
  readonly #open = new Map<string, number>();
  readonly #repeated = new Map<string, Repeated>();
  #count: number | undefined;

  get count(): number | undefined {
    return this.#count;
  }

  /** What a call of this tool repeats; undefined: the tool is not known. */
  find(tool: string): Repeated | undefined {
    return this.#repeated.get(tool);
  }

  /** An answer to `tools/list` with this cursor. */
  note(cursor: unknown, text: string): void {
    const { result } = JSON.parse(text) as { readonly result?: unknown };
    if (!isJsonObject(result) || !Array.isArray(result['tools'])) return;
    const before = typeof cursor === 'string' ? this.#open.get(cursor) : 0;
    if (typeof cursor === 'string') this.#open.delete(cursor);
    for (const tool of result['tools'] as readonly unknown[]) this.#noteTool(tool);
    if (before === undefined) return;
    const count = before + result['tools'].length;
    const { nextCursor } = result;
    if (typeof nextCursor !== 'string') this.#count = count;
    else if (this.#open.size < maxOpenLists) this.#open.set(nextCursor, count);
    else this.#open.clear();
  }

  /** The server may have changed. */
  forget(): void {
    this.#open.clear();
    this.#repeated.clear();
  }

  #noteTool(tool: unknown): void {
    if (!isJsonObject(tool) || typeof tool['name'] !== 'string') return;
    if (this.#repeated.size >= maxTools && !this.#repeated.has(tool['name'])) return;
    this.#repeated.set(tool['name'], readRepeatedArguments(tool['inputSchema']));
  }
}
