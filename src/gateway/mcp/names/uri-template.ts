// Whether a URI can come from a URI template (RFC 6570). Only as strict as servers are: what a variable may hold is a question of slashes. Without regular expressions,
// whose time a server could choose by its template: each part moves the set of places that can be reached, so the work is at most the template times the URI.

/** A part of a template. */
type Part =
  | { readonly kind: 'text'; readonly text: string }
  /** What variables expand to: nothing, or `first` and what follows. */
  | { readonly kind: 'gap'; readonly first: string; readonly spansSlashes: boolean };

/** Longer templates, URIs of more characters, and templates with more expressions match nothing. */
const longestTemplate = 512;
const longestUri = 2_048;
const maxExpressions = 16;

/** A server that could claim every URI by one template would take them from all others. */
const scheme = /^[a-z][a-z0-9+.-]*:/i;
/** Other operators are kept for later. */
const expression = /^([+#./;?&]?)(\w[\w%.,:*]*)$/;

/** Undefined: it is no template, or one that matches nothing. */
export function compileUriTemplate(template: string): ((uri: string) => boolean) | undefined {
  if (template.length > longestTemplate) return undefined;
  const parts = readParts(template);
  const [start] = parts ?? [];
  if (parts === undefined || start?.kind !== 'text' || !scheme.test(start.text)) return undefined;
  return (uri) => uri.length <= longestUri && uri.startsWith(start.text) && matches(parts, uri);
}

function readParts(template: string): readonly Part[] | undefined {
  const parts: Part[] = [];
  let expressions = 0;
  for (let at = 0; at < template.length;) {
    const open = template.indexOf('{', at);
    const text = template.slice(at, open === -1 ? undefined : open);
    if (text.includes('}')) return undefined;
    if (text !== '') parts.push({ kind: 'text', text });
    if (open === -1) break;
    const close = template.indexOf('}', open);
    const gap = close === -1 ? undefined : readExpression(template.slice(open + 1, close));
    expressions += 1;
    if (gap === undefined || expressions > maxExpressions) return undefined;
    parts.push(gap);
    at = close + 1;
  }
  return expressions === 0 ? undefined : parts;
}

function readExpression(inside: string): Part | undefined {
  const [, operator = '', variables] = expression.exec(inside) ?? [];
  if (variables === undefined) return undefined;
  switch (operator) {
    case '+':
      return { kind: 'gap', first: '', spansSlashes: true };
    case '#':
    case '?':
    case '&':
      return { kind: 'gap', first: operator, spansSlashes: true };
    case '/':
      // Several variables, and the members of a list, are segments of their own.
      return { kind: 'gap', first: operator, spansSlashes: variables.includes(',') || variables.includes('*') };
    default:
      return { kind: 'gap', first: operator, spansSlashes: false };
  }
}

function matches(parts: readonly Part[], uri: string): boolean {
  const end = uri.length;
  // In ascending order.
  let places: readonly number[] = [0];
  for (const part of parts) {
    places = part.kind === 'text' ? followText(places, uri, part.text) : followGap(places, uri, part);
    if (places.length === 0) return false;
  }
  return places.at(-1) === end;
}

function followText(places: readonly number[], uri: string, text: string): readonly number[] {
  return places.filter((at) => uri.startsWith(text, at)).map((at) => at + text.length);
}

function followGap(places: readonly number[], uri: string, gap: Extract<Part, { kind: 'gap' }>): readonly number[] {
  const { first, spansSlashes } = gap;
  const reached: number[] = [];
  let next = 0;
  let isInside = false;
  // One pass: whether the gap began at any place before, and may go on.
  for (let at = 0; at <= uri.length; at += 1) {
    const isPlace = places[next] === at;
    if (isPlace) next += 1;
    if (isPlace || isInside) reached.push(at);
    const character = uri[at];
    const goesOn: boolean = isInside && (spansSlashes || character !== '/');
    isInside = goesOn || (isPlace && (first === '' ? spansSlashes || character !== '/' : character === first));
  }
  return reached;
}
