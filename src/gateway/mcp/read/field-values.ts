// Header fields that a message is compared with.
import type { RawHeaders } from '../../http/exchange.ts';

/** Whether a field says how a message is to be read, or what is in it. In lower case, with '-'. */
export function describesMessage(canonicalName: string): boolean {
  return canonicalName === 'content-type' || canonicalName === 'content-encoding' || canonicalName.startsWith('mcp-');
}

/** All values of a field, in wire order. Mcp_Name counts as Mcp-Name, because an upstream may read it so, like CGI. */
export function readFieldValues(headers: RawHeaders, lowerCaseName: string): readonly string[] {
  let values: string[] | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    if (isField(headers[i]!, lowerCaseName)) (values ??= []).push(headers[i + 1]!);
  }
  return values ?? noValues;
}

/** Replaces the value of a field where it is present; never adds the field. */
export function withFieldValue(headers: RawHeaders, lowerCaseName: string, value: string): RawHeaders {
  return headers.map((text, index) => (index % 2 === 1 && isField(headers[index - 1]!, lowerCaseName) ? value : text));
}

function isField(name: string, lowerCaseName: string): boolean {
  if (name.length !== lowerCaseName.length) return false;
  return name === lowerCaseName || name.toLowerCase().replaceAll('_', '-') === lowerCaseName;
}

const noValues: readonly string[] = [];
