// Text of a YAML 1.2 or JSON file -> the raw resources in it, each with the positions of its fields.
// Reads strictly: what a person could misread (duplicate keys, tags, YAML 1.1) is refused. Messages never quote the text, it may hold secrets.
import { Composer, isAlias, isCollection, isNode, isScalar, isSeq, LineCounter, Parser } from 'yaml';
import type { Alias, Document, Node, YAMLError, YAMLMap, YAMLSeq } from 'yaml';
import { describeYamlError, maxDepth } from './describe-yaml-error.ts';
import { locateField, type FieldSide, type TextPosition } from './locate-field.ts';
import type { Turns } from './take-turns.ts';

/** Larger files are refused: parsing them would hold up the gateway, and no hand-written configuration is that large. */
export const maxFileBytes = 8 * 1024 * 1024;

/** How many values aliases may add to what is written. Aliases of aliases multiply ("billion laughs"). */
const maxAliasedValues = 100_000;

/** One resource as written, with a way back to its text. */
export interface RawResource {
  readonly raw: unknown;
  /** Line and column of a field of this resource. */
  readonly locate: (path: readonly (string | number)[], side?: FieldSide) => TextPosition;
}

/** A syntax problem, before any resource can be read. */
export interface TextProblem {
  readonly position: TextPosition | undefined;
  readonly message: string;
}

/** The resources of a text, or its syntax problems. Never both: half a file may lack the policy. */
type ReadYamlResult =
  | { readonly ok: true; readonly resources: readonly RawResource[] }
  | { readonly ok: false; readonly problems: readonly TextProblem[] };

/** Reads every document of a text and expands lists. Never throws. */
export function readYaml(text: string): ReadYamlResult {
  const steps = readStepwise(text);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same, yielding to other work between two documents: a large file must not delay requests. */
export async function readYamlInTurns(text: string, turns: Turns): Promise<ReadYamlResult> {
  const steps = readStepwise(text);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await turns.pass();
  }
}

function* readStepwise(text: string): Generator<undefined, ReadYamlResult> {
  const parsed = new ParsedText(text);
  const syntax = new WeakRef(parsed);
  const problems: TextProblem[] = [];
  const resources: RawResource[] = [];
  try {
    for (const document of parsed.parse()) {
      const index = parsed.documents.length - 1;
      // Syntax trees are many times larger than what they stand for, and needed only when something is wrong.
      const locate: RawResource['locate'] = (path, side) => {
        const { documents, lineCounter } = syntax.deref() ?? ParsedText.parseAll(text);
        return locateField(documents[index]!, lineCounter, path, side);
      };
      readDocument(document, parsed, locate, resources, problems);
      yield;
    }
    problems.push(...describeFirstError(parsed.outside, parsed));
  } catch (error) {
    problems.push({ position: undefined, message: describeCrash(error) });
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, resources };
}

interface Complaints {
  readonly errors: readonly YAMLError[];
  readonly warnings: readonly YAMLError[];
}

/** A text and its syntax. */
class ParsedText {
  readonly text: string;
  readonly documents: Document.Parsed[] = [];
  readonly lineCounter = new LineCounter();
  /** What is wrong with a text that has no document. */
  outside: Complaints = { errors: [], warnings: [] };

  constructor(text: string) {
    this.text = text;
  }

  static parseAll(text: string): ParsedText {
    const parsed = new ParsedText(text);
    for (const document of parsed.parse()) void document;
    return parsed;
  }

  *parse(): Generator<Document.Parsed, void> {
    // uniqueKeys is quadratic in the library; NodeCheck looks for duplicates itself.
    const composer = new Composer({ prettyErrors: false, uniqueKeys: false, resolveKnownTags: false, strict: true });
    for (const document of composer.compose(new Parser(this.lineCounter.addNewLine).parse(this.text))) {
      this.documents.push(document);
      yield document;
    }
    if (this.documents.length === 0) this.outside = composer.streamInfo();
  }
}

function readDocument(
  document: Document.Parsed,
  parsed: ParsedText,
  locate: RawResource['locate'],
  resources: RawResource[],
  problems: TextProblem[],
): void {
  const found = checkDocument(document, parsed);
  if (found.length > 0 || isEmptyDocument(document)) {
    problems.push(...found);
    return;
  }
  try {
    const raw: unknown = document.toJS({ maxAliasCount: -1 });
    expandLists({ raw, locate }, resources, problems);
  } catch (error) {
    problems.push({ position: positionOf(document.contents, parsed.lineCounter), message: describeCrash(error) });
  }
}

function isEmptyDocument(document: Document.Parsed): boolean {
  const contents = document.contents as Node | null;
  return contents === null || (isScalar(contents) && contents.value === null);
}

/** Only the first error of a document: the ones after it mostly follow from it. */
function describeFirstError({ errors, warnings }: Complaints, { text, lineCounter }: ParsedText): TextProblem[] {
  const error = errors[0] ?? warnings[0];
  if (error === undefined) return [];
  const { offset, message } = describeYamlError(error, text);
  return [{ position: toPosition(offset, lineCounter), message }];
}

function checkDocument(document: Document.Parsed, parsed: ParsedText): TextProblem[] {
  const { lineCounter } = parsed;
  const errors = describeFirstError(document, parsed);
  if (errors.length > 0) return errors;
  if (document.directives.yaml.version === '1.1') {
    const message = 'YAML 1.1 is not read, because "no" and "on" mean something else there; remove the %YAML directive';
    return [{ position: positionOf(document.contents, lineCounter), message }];
  }
  const problems: TextProblem[] = [];
  const check = new NodeCheck((node, message) => problems.push({ position: positionOf(node, lineCounter), message }));
  check.measure(document.contents, 1);
  return problems;
}

/** Walks a document once, in its order: what aliases mean depends on the anchors before them. */
class NodeCheck {
  readonly #report: (node: unknown, message: string) => void;
  /** Values below each anchor; undefined while still inside of it. */
  readonly #anchors = new Map<string, number | undefined>();
  #aliasedValues = 0;

  constructor(report: (node: unknown, message: string) => void) {
    this.#report = report;
  }

  /** Returns how many values the node stands for, with its aliases written out. */
  measure(node: unknown, depth: number): number {
    if (isAlias(node)) return this.#measureAlias(node);
    const anchor = isScalar(node) || isCollection(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const size = isCollection(node) ? this.#measureCollection(node, depth) : 1;
    if (anchor !== undefined) this.#anchors.set(anchor, size);
    return size;
  }

  #measureAlias(alias: Alias): number {
    const size = this.#anchors.get(alias.source);
    if (size === undefined) {
      const isInside = this.#anchors.has(alias.source);
      this.#report(
        alias,
        isInside
          ? 'an alias inside of its own anchor never ends'
          : 'an alias (*name) needs an anchor (&name) before it in the same document; put a value that begins with * in quotes: "*.example.com"',
      );
      return 1;
    }
    const before = this.#aliasedValues;
    this.#aliasedValues = Math.min(before + size, maxAliasedValues + 1);
    if (before <= maxAliasedValues && this.#aliasedValues > maxAliasedValues) {
      this.#report(alias, `aliases add more than ${maxAliasedValues} values; write them out, or use fewer`);
    }
    return Math.min(size, maxAliasedValues + 1);
  }

  #measureCollection(node: YAMLMap | YAMLSeq, depth: number): number {
    if (depth > maxDepth) {
      this.#report(node, `nested deeper than ${maxDepth} levels`);
      return 1;
    }
    let size = 1;
    if (isSeq(node)) {
      for (const item of node.items) size += this.measure(item, depth + 1);
      return size;
    }
    const seen = new Set<string>();
    const second = depth === 1 ? findSecondResource(node) : undefined;
    if (second !== undefined)
      this.#report(second, 'a second resource begins here; put a line with --- between two resources');
    for (const { key, value } of node.items) {
      if (second === undefined || !seen.has(readKeyName(key) ?? '')) this.#checkKey(key, node, seen);
      size += this.measure(key, depth + 1) + this.measure(value, depth + 1);
    }
    return size;
  }

  #checkKey(key: unknown, map: YAMLMap, seen: Set<string>): void {
    const name = readKeyName(key);
    if (name === undefined) this.#report(isNode(key) ? key : map, 'a key must be a plain name, in quotes if need be');
    else if (/^[\u00a0\u2000-\u200b\u202f\u3000\ufeff]/.test(name))
      this.#report(
        key,
        'begins with a space that is none for YAML, often from a web page; replace it with ordinary spaces',
      );
    else if (name === '__proto__') this.#report(key, 'this key is not allowed');
    else if (seen.has(name))
      this.#report(key, `the key ${JSON.stringify(name)} appears twice in the same mapping; keep one of the two`);
    else seen.add(name);
  }
}

/** The second apiVersion of a mapping that has all of a second resource: the line between the two is missing. */
function findSecondResource(node: YAMLMap): unknown {
  const named = (name: string): unknown[] =>
    node.items.map(({ key }) => key).filter((key) => readKeyName(key) === name);
  const [versions, kinds] = [named('apiVersion'), named('kind')];
  if (versions.length < 2 || kinds.length < 2) return undefined;
  return [versions[1], kinds[1]].toSorted((left, right) => startOf(left) - startOf(right))[0];
}

function startOf(node: unknown): number {
  return (isScalar(node) ? node.range?.[0] : undefined) ?? 0;
}

/** YAML reads `1:` and `true:` as a number and a truth value; as names they are their text, as in Kubernetes. */
function readKeyName(key: unknown): string | undefined {
  const value = isScalar(key) ? key.value : undefined;
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : undefined;
}

/** `kind: List` and `kind: HTTPRouteList` hold resources in `items`, as kubectl writes them. */
function expandLists(resource: RawResource, resources: RawResource[], problems: TextProblem[]): void {
  const { raw, locate } = resource;
  if (typeof raw !== 'object' || raw === null || !('kind' in raw) || !isListKind(raw)) {
    resources.push(resource);
    return;
  }
  const items = 'items' in raw ? raw.items : undefined;
  if (!Array.isArray(items)) {
    problems.push({ position: locate(['items']), message: 'a list needs "items", an array of resources' });
    return;
  }
  for (const key of Object.keys(raw)) {
    if (['apiVersion', 'kind', 'metadata', 'items'].includes(key)) continue;
    problems.push({
      position: locate([key], 'key'),
      message: 'no such field in a list; it has apiVersion, kind, metadata and items',
    });
  }
  for (const [index, item] of items.entries()) {
    const inner: RawResource = { raw: item, locate: (path, side) => locate(['items', index, ...path], side) };
    expandLists(inner, resources, problems);
  }
}

function isListKind(raw: object & { kind: unknown }): boolean {
  return typeof raw.kind === 'string' && raw.kind.endsWith('List') && (raw.kind === 'List' || 'items' in raw);
}

function describeCrash(error: unknown): string {
  return error instanceof RangeError ? `nested deeper than ${maxDepth} levels` : 'cannot be read as YAML';
}

function positionOf(node: unknown, lineCounter: LineCounter): TextPosition | undefined {
  const range = isScalar(node) || isCollection(node) || isAlias(node) ? node.range : undefined;
  return range === undefined || range === null ? undefined : toPosition(range[0], lineCounter);
}

function toPosition(offset: number, lineCounter: LineCounter): TextPosition {
  const { line, col } = lineCounter.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}
