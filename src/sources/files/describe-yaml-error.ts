// What a person probably did who wrote YAML that cannot be parsed: one sentence with what is wrong and how it should look, and the place to edit.
// Sentences never quote the text, it may hold secrets. Pure.
import type { YAMLError } from 'yaml';

/** A sentence, and the offset in the text that it is about. */
export interface YamlMistake {
  readonly offset: number;
  readonly message: string;
}

/** Deeper nesting is refused. The deepest field of any kind lies at about 12. */
export const maxDepth = 100;

/** Looks at the lines around an error of the parser, which itself notices many mistakes only later, or as something else. */
export function describeYamlError(error: YAMLError, text: string): YamlMistake {
  const offset = Math.min(error.pos[0], text.length);
  const lines = new Lines(text);
  const known = findMistake(error, text, lines, lines.indexOf(offset));
  return typeof known === 'object' ? known : { offset, message: known ?? describeCode(error) };
}

function findMistake(error: YAMLError, text: string, lines: Lines, index: number): YamlMistake | string | undefined {
  const line = lines.get(index);
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return 'indented with a tab; YAML takes spaces only: replace it with spaces, as many as the lines beside it have';
    case 'UNEXPECTED_TOKEN':
      if (text.startsWith('${', error.pos[0] - 1)) return 'inside { } a reference needs quotes: "${NAME}"';
      return describeSeparator(lines, index) ?? describeQuotes(text, error.pos[0], line);
    case 'MISSING_CHAR':
      if (error.message.startsWith('Missing closing')) return describeOpenQuote(error, text);
      return describeSeparator(lines, index) ?? describeQuotes(text, error.pos[0], line);
    case 'BLOCK_AS_IMPLICIT_KEY':
      return describeNestedMapping(lines, index);
    case 'BAD_INDENT':
      return error.message.startsWith('Flow') ? describeOpenBracket(lines, index) : describeItemDepth(lines, index);
    case 'MULTILINE_IMPLICIT_KEY':
      return describeSeparator(lines, index) ?? describeMissingColon(line);
    default:
      return undefined;
  }
}

function describeCode(error: YAMLError): string {
  switch (error.code) {
    case 'BAD_INDENT':
      return 'the indentation does not fit the lines above it, or a bracket opened above is not closed';
    case 'BLOCK_AS_IMPLICIT_KEY':
      return 'a second mapping on the same line; put the value in quotes if it has a colon in it, or start a new line';
    case 'MULTILINE_IMPLICIT_KEY':
      return 'a key without a value: put a colon after it, or indent it like the lines that it belongs to';
    case 'MISSING_CHAR':
      return 'a character is missing here, such as a colon, a comma, a space or a closing bracket';
    case 'BAD_SCALAR_START':
      return 'a value cannot start with this character unless it is in quotes: NAME: "VALUE"';
    case 'BAD_DQ_ESCAPE':
      return 'not an escape sequence; write \\\\ for a backslash, or use single quotes';
    case 'BAD_ALIAS':
      return 'not a valid name of an anchor or alias; put a value that begins with & or * in quotes';
    case 'TAG_RESOLVE_FAILED':
    case 'BAD_COLLECTION_TYPE':
      return 'tags (!name) are not read; write the value without it, or in quotes';
    case 'BAD_DIRECTIVE':
      return 'this directive is not known; remove it';
    case 'RESOURCE_EXHAUSTION':
      return `nested deeper than ${maxDepth} levels`;
    case 'UNEXPECTED_TOKEN':
      return 'this does not belong here; look for a missing quote, bracket or line break before it';
    default:
      return 'not valid YAML';
  }
}

/** A line of hyphens that is none of YAML's: indented, too short or too long. */
function describeSeparator(lines: Lines, index: number): YamlMistake | undefined {
  const at = [index, index - 1].find((each) => /^[ \t]*-{2,}[ \t]*$/.test(lines.get(each)));
  if (at === undefined) return undefined;
  return {
    offset: lines.startOf(at),
    message: 'two resources are separated by a line of three hyphens that begins in the first column: ---',
  };
}

/** Quotes inside of quotes of the same kind. */
function describeQuotes(text: string, offset: number, line: string): string | undefined {
  const quote = [text[offset - 1], text[offset], text.slice(0, offset).trimEnd().at(-1)].find(isQuote);
  if (quote === undefined || line.split(quote).length < 3) return undefined;
  const example = quote === '"' ? `'"admins" in jwt.groups'` : `"jwt.sub == 'bob'"`;
  return `the quotes end here, and more follows; put the whole value in quotes of the other kind: ${example}`;
}

function isQuote(character: string | undefined): character is '"' | "'" {
  return character === '"' || character === "'";
}

/** The parser notices at the end of the text; the quote is on the last line with an odd number of them, if it is on one line of its own. */
function describeOpenQuote(error: YAMLError, text: string): string {
  const quote = error.message.includes("'") ? "'" : '"';
  const lines = text.slice(0, error.pos[0]).split('\n');
  const odd = lines.flatMap((line, index) => (line.split(quote).length % 2 === 0 ? [index + 1] : []));
  const where = odd.length === 1 ? `; it is probably the one in line ${odd[0]}` : '';
  return `a quote was opened and never closed${where}`;
}

/** A value, and then something below it, or a second colon. */
function describeNestedMapping(lines: Lines, index: number): YamlMistake | undefined {
  const line = lines.get(index);
  if (/^\s*-[^\s-]/.test(line))
    return {
      offset: lines.contentOf(index),
      message: 'the hyphen of a list item needs a space after it: - NAME: VALUE',
    };
  const depth = describeItemDepth(lines, index);
  if (depth !== undefined) return depth;
  const next = lines.nextContent(index);
  const key = /^(\s*(?:- +)*)[^\s:]+:/.exec(line)?.[1]?.length;
  if (
    key !== undefined &&
    next !== undefined &&
    lines.indentOf(next) > key &&
    /^\s*(?:- )?[^\s:]+:/.test(lines.get(next))
  ) {
    if (/^\s*- /.test(line))
      return {
        offset: lines.contentOf(index),
        message: `the keys of a list item begin in the same column; move this hyphen, or the lines from ${next + 1} on, so that they do`,
      };
    return {
      offset: lines.contentOf(next),
      message: `indented deeper than line ${index + 1}, which has a value already; begin both in the same column`,
    };
  }
  if (!/: .*:(?:\s|$)/.test(line)) return undefined;
  return {
    offset: lines.startOf(index) + (/:\s+/.exec(line)?.index ?? 0) + (/:\s+/.exec(line)?.[0].length ?? 0),
    message: 'a value with a colon and a space in it needs to be in quotes: NAME: "VALUE: MORE"',
  };
}

/** A key right under the hyphen of its list item. */
function describeItemDepth(lines: Lines, index: number): YamlMistake | undefined {
  const above = lines.previousContent(index);
  if (above === undefined || /^\s*-(?:\s|$)/.test(lines.get(index))) return undefined;
  const isUnderHyphen = /^\s*- /.test(lines.get(above)) && lines.indentOf(above) === lines.indentOf(index);
  if (!isUnderHyphen) return undefined;
  const column = (/^\s*- +/.exec(lines.get(above))?.[0].length ?? 0) + 1;
  return {
    offset: lines.contentOf(index),
    message: `begins under the hyphen of line ${above + 1}; a further key of that list item begins under its first key, in column ${column}`,
  };
}

function describeOpenBracket(lines: Lines, index: number): string | undefined {
  for (let at = index - 1; at >= 0 && at > index - 20; at--) {
    const line = lines.get(at);
    for (const [open, close] of ['{}', '[]'])
      if (open !== undefined && close !== undefined && line.split(open).length > line.split(close).length)
        return `the bracket ${open} in line ${at + 1} is not closed; put a ${close} after its last value`;
  }
  return undefined;
}

function describeMissingColon(line: string): string | undefined {
  if (/^\s*(?:- )?[\w.-]+:[^\s:]/.test(line)) return 'a colon needs a space after it: NAME: VALUE';
  return /:(?:\s|$)/.test(line)
    ? undefined
    : 'a line without a colon; write NAME: VALUE, or NAME: above lines that are indented deeper';
}

/** The lines of a text, by index from 0. */
class Lines {
  readonly #text: string;
  readonly #starts: number[] = [0];

  constructor(text: string) {
    this.#text = text;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1);
  }

  indexOf(offset: number): number {
    const after = this.#starts.findIndex((start) => start > offset);
    return after < 0 ? this.#starts.length - 1 : after - 1;
  }

  startOf(index: number): number {
    return this.#starts[index] ?? 0;
  }

  /** Without the line break; empty outside of the text. */
  get(index: number): string {
    const start = this.#starts[index];
    if (start === undefined) return '';
    return this.#text.slice(start, this.#starts[index + 1] ?? this.#text.length).replace(/\r?\n$/, '');
  }

  indentOf(index: number): number {
    return /^ */.exec(this.get(index))?.[0].length ?? 0;
  }

  contentOf(index: number): number {
    return this.startOf(index) + this.indentOf(index);
  }

  nextContent(index: number): number | undefined {
    for (let at = index + 1; at < this.#starts.length; at++) if (/^\s*[^\s#]/.test(this.get(at))) return at;
    return undefined;
  }

  previousContent(index: number): number | undefined {
    for (let at = index - 1; at >= 0; at--) if (/^\s*[^\s#]/.test(this.get(at))) return at;
    return undefined;
  }
}
