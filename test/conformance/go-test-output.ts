// Reads what a Go test binary prints with `-test.v=test2json`, line by line, as it comes: which test ended how, and what it said meanwhile.

/** A test directly below the one that was started. */
export interface GoTestResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Names of its own tests that failed, however deep. */
  readonly failures: readonly string[];
  /** What it and its own tests printed. */
  readonly lines: readonly string[];
}

// The mark that a line is the test runner's own and no output of a test.
const mark = '\u0016';
const outcomes: Readonly<Record<string, GoTestResult['outcome']>> = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' };

interface RunningTest {
  readonly lines: string[];
  readonly failures: string[];
}

/** Follows the tests below one test. */
export class GoTestReader {
  readonly #root: string;
  readonly #running = new Map<string, RunningTest>();
  readonly #ownLines: string[] = [];
  #current = '';

  constructor(root: string) {
    this.#root = root;
  }

  /** What belongs to no test below the root: its own output, and what comes before and after it. */
  get ownLines(): readonly string[] {
    return this.#ownLines;
  }

  /** Takes a line in; returns the test that has ended with it. */
  read(line: string): GoTestResult | undefined {
    const place = line.indexOf(mark);
    if (place < 0) {
      this.#keep(line);
      return undefined;
    }
    // A test may have left its last line without an end.
    if (place > 0) this.#keep(line.slice(0, place));
    const event = line.slice(place + mark.length);
    const ended = /^--- (PASS|FAIL|SKIP): (\S+) \(/.exec(event);
    if (ended !== null) return this.#end(ended[2]!, outcomes[ended[1]!]!);
    this.#current = /^=== \w+\s*(\S*)$/.exec(event)?.[1] ?? '';
    return undefined;
  }

  #keep(line: string): void {
    const name = this.#findChild(this.#current);
    if (name === undefined) this.#ownLines.push(line);
    else this.#find(name).lines.push(line);
  }

  #end(path: string, outcome: GoTestResult['outcome']): GoTestResult | undefined {
    this.#current = path;
    const name = this.#findChild(path);
    if (name === undefined) return undefined;
    const test = this.#find(name);
    const below = path.slice(`${this.#root}/${name}`.length);
    if (below !== '') {
      if (outcome === 'failed') test.failures.push(below.slice(1));
      return undefined;
    }
    this.#running.delete(name);
    return { name, outcome, ...test };
  }

  #findChild(path: string): string | undefined {
    return path.startsWith(`${this.#root}/`) ? path.slice(this.#root.length + 1).split('/')[0] : undefined;
  }

  #find(name: string): RunningTest {
    const known = this.#running.get(name);
    if (known !== undefined) return known;
    const created: RunningTest = { lines: [], failures: [] };
    this.#running.set(name, created);
    return created;
  }
}

const longestSummary = 60;

/** The last of what a test said, for the message of a test that fails: a suite that waits says the same again and again. */
export function summarizeLines(lines: readonly string[]): readonly string[] {
  const summary: { readonly text: string; line: string; count: number }[] = [];
  for (const line of lines) {
    const text = removeTimes(line);
    const known = summary.findIndex((each) => each.text === text);
    const count = known < 0 ? 1 : summary.splice(known, 1)[0]!.count + 1;
    summary.push({ text, line, count });
  }
  return summary.slice(-longestSummary).map(({ line, count }) => (count === 1 ? line : `${line} (${count} times)`));
}

function removeTimes(line: string): string {
  return line
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\dZ]*/g, '')
    .replaceAll(/\bafter [\d.]+[^\s\d]+/g, '')
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '');
}
