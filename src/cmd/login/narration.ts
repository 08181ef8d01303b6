// What `login` tells while it goes: numbered steps with the standard that asks for them, requests, answers, and what was found.
// One interface, two tellers: lines for a person, data for --json. Neither ever gets a token, a code or a secret.
import { createPalette, escapeControls } from '../../base/terminal.ts';

/** How a finding is meant. A step with a `bad` one has failed. */
type Mark = 'good' | 'remark' | 'bad';

/** A request as it is told. */
interface ToldRequest {
  readonly method: string;
  readonly url: string;
  /** What is in it: "initialize, no token". */
  readonly note?: string | undefined;
}

/** An answer as it is told, or why there is none. */
type ToldAnswer =
  | { readonly status: number; readonly contentType: string; readonly milliseconds: number }
  | { readonly problem: string; readonly milliseconds: number };

/** Hears what happens. */
export interface Narrator {
  /** A step begins. `standard` is what asks for it: "RFC 9728 5.1". */
  begin(title: string, standard: string): void;
  tell(request: ToldRequest, answer: ToldAnswer): void;
  /** Something that was found. `advice` says what to change; a bad finding always has one. */
  find(mark: Mark, text: string, advice?: string): void;
  /** A value worth knowing. Shown with --verbose only when it is `minor`. */
  show(name: string, value: string, options?: { readonly minor?: boolean }): void;
}

/** What was told, as data. */
interface ToldStep {
  readonly title: string;
  readonly standard: string;
  readonly ok: boolean;
  readonly exchanges: readonly (ToldRequest & { readonly answer: ToldAnswer })[];
  readonly findings: readonly { readonly mark: Mark; readonly text: string; readonly advice: string | null }[];
  readonly values: Readonly<Record<string, string>>;
}

/** Collects what is told. */
export class StepCollector implements Narrator {
  readonly #steps: {
    title: string;
    standard: string;
    exchanges: (ToldRequest & { answer: ToldAnswer })[];
    findings: { mark: Mark; text: string; advice: string | null }[];
    values: Record<string, string>;
  }[] = [];

  begin(title: string, standard: string): void {
    this.#steps.push({ title, standard, exchanges: [], findings: [], values: {} });
  }

  tell(request: ToldRequest, answer: ToldAnswer): void {
    this.#steps.at(-1)?.exchanges.push({ ...request, answer });
  }

  find(mark: Mark, text: string, advice?: string): void {
    this.#steps.at(-1)?.findings.push({ mark, text, advice: advice ?? null });
  }

  show(name: string, value: string): void {
    const step = this.#steps.at(-1);
    if (step !== undefined) step.values[name] = value;
  }

  /** Everything so far. */
  get steps(): ToldStep[] {
    return this.#steps.map((step) => ({ ...step, ok: step.findings.every(({ mark }) => mark !== 'bad') }));
  }
}

/** Writes what is told as it happens. */
export class LineNarrator implements Narrator {
  readonly #write: (text: string) => void;
  readonly #verbose: boolean;
  readonly #palette: ReturnType<typeof createPalette>;
  #count = 0;

  constructor(options: { readonly write: (text: string) => void; readonly color: boolean; readonly verbose: boolean }) {
    this.#write = options.write;
    this.#verbose = options.verbose;
    this.#palette = createPalette(options.color);
  }

  begin(title: string, standard: string): void {
    this.#count += 1;
    const number = String(this.#count).padStart(2);
    const gap = ' '.repeat(Math.max(2, standardColumn - title.length));
    this.#write(`\n${this.#palette.bold(`${number}  ${title}`)}${gap}${this.#palette.dim(standard)}\n`);
  }

  tell(request: ToldRequest, answer: ToldAnswer): void {
    const palette = this.#palette;
    const note = request.note === undefined ? '' : palette.dim(`  ${escapeControls(request.note)}`);
    this.#write(`    ${palette.dim('>')} ${palette.cyan(`${request.method} ${escapeControls(request.url)}`)}${note}\n`);
    const time = palette.dim(`in ${answer.milliseconds} ms`);
    if ('problem' in answer) {
      this.#write(`    ${palette.dim('<')} ${palette.yellow(escapeControls(answer.problem))} ${time}\n`);
      return;
    }
    const status = answer.status < 400 ? palette.green(String(answer.status)) : palette.yellow(String(answer.status));
    const type = answer.contentType === '' ? '' : ` ${escapeControls(answer.contentType)}`;
    this.#write(`    ${palette.dim('<')} ${status}${type} ${time}\n`);
  }

  find(mark: Mark, text: string, advice?: string): void {
    const palette = this.#palette;
    const sign = { good: palette.green('✓'), remark: palette.yellow('!'), bad: palette.red('✗') }[mark];
    this.#write(`    ${sign} ${escapeControls(text)}\n`);
    if (advice !== undefined) this.#write(`      ${this.#palette.bold('→')} ${escapeControls(advice)}\n`);
  }

  show(name: string, value: string, options: { readonly minor?: boolean } = {}): void {
    if (options.minor === true && !this.#verbose) return;
    this.#write(`      ${this.#palette.dim(name.padEnd(nameColumn))} ${escapeControls(value)}\n`);
  }
}

const standardColumn = 34;
const nameColumn = 22;

/** Tells several at once. */
export function tellAll(narrators: readonly Narrator[]): Narrator {
  return {
    begin: (...args) => narrators.forEach((narrator) => narrator.begin(...args)),
    tell: (...args) => narrators.forEach((narrator) => narrator.tell(...args)),
    find: (...args) => narrators.forEach((narrator) => narrator.find(...args)),
    show: (...args) => narrators.forEach((narrator) => narrator.show(...args)),
  };
}
