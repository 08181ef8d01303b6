// Plain values as YAML for people to read: enough for resources, where every value is a text, a number, a boolean, a list or a map.

/** What can be written. Undefined members are left out. */
export type YamlValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly YamlValue[]
  | { readonly [name: string]: YamlValue };

/** The lines, without a line feed at the end. */
export function formatYaml(value: YamlValue): string {
  return formatLines(value).join('\n');
}

function formatLines(value: YamlValue): string[] {
  if (Array.isArray(value)) {
    const items = value as readonly YamlValue[];
    if (items.length === 0) return ['[]'];
    return items.flatMap((item) => {
      const [first = '', ...rest] = formatLines(item);
      return [`- ${first}`, ...rest.map((line) => indent(line))];
    });
  }
  if (typeof value !== 'object' || value === null) return formatScalar(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return members.length === 0 ? ['{}'] : members.flatMap(([name, member]) => formatMember(formatText(name), member));
}

function formatMember(name: string, member: YamlValue): string[] {
  const lines = formatLines(member);
  const [first = '', ...rest] = lines;
  const isList = Array.isArray(member);
  const isInline = typeof member !== 'object' || member === null || first === '[]' || first === '{}';
  if (isInline) return [`${name}: ${first}`, ...rest.map(indent)];
  // Items of a list stand below their name, as people write them.
  return [`${name}:`, ...(isList ? lines : lines.map(indent))];
}

function indent(line: string): string {
  return line === '' ? '' : `  ${line}`;
}

function formatScalar(value: string | number | boolean | null | undefined): string[] {
  if (typeof value !== 'string') return [String(value ?? null)];
  // A block keeps an expression of several lines readable; it cannot hold every text.
  if (/\n/.test(value) && /^[\n\x21-\x7e][\n\x20-\x7e]*[\x21-\x7e]$/.test(value) && !value.startsWith('\n'))
    return ['|-', ...value.split('\n')];
  return [formatText(value)];
}

const plain = /^[A-Za-z/][\w/.+-]*(?::[\w/.+-]+)*$/;
const reserved = /^(?:true|false|yes|no|on|off|null|y|n|\.inf|\.nan)$/i;

/** Expressions have quotes of their own, which need nothing inside of single quotes. JSON texts are YAML. */
function formatText(text: string): string {
  if (plain.test(text) && !reserved.test(text)) return text;
  return /^[ -~]*["\\][ -~]*$/.test(text) ? `'${text.replaceAll("'", "''")}'` : JSON.stringify(text);
}
