// Flags about the head of the request: its headers, and where it comes from.
import { isIP } from 'node:net';
import { redactText } from '../../base/redact.ts';
import type { RawHeaders } from '../../gateway/http/exchange.ts';
import { looksLikeToken } from './credential.ts';

type ReadHeaders =
  | { readonly ok: true; readonly headers: RawHeaders }
  | { readonly ok: false; readonly problem: string };

/** Reads `Name: value` lines. */
export function readHeaderFlags(lines: readonly string[]): ReadHeaders {
  const headers: string[] = [];
  for (const line of lines) {
    const parts = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\x20-\x7e\t\x80-\xff]*)$/.exec(line);
    if (parts === null)
      return refuse(`--header ${JSON.stringify(redactText(line))} is not a header such as 'X-Team: support'`);
    const [, name = '', value = ''] = parts;
    if (looksLikeToken(value))
      return refuse(`--header ${name} has a token in it, which stays in the shell history; use --token FILE`);
    if (/^(?:host|content-length|transfer-encoding|connection)$/i.test(name))
      return refuse(`--header ${name} is not needed: the URL and the body say it`);
    headers.push(name, value.trim());
  }
  return { ok: true, headers };
}

/** The address of --source, or why it is none. */
export function findSourceProblem(source: string): string | undefined {
  return isIP(source) === 0 ? `--source must be an IP address, not ${JSON.stringify(source)}` : undefined;
}

function refuse(problem: string): ReadHeaders {
  return { ok: false, problem };
}
