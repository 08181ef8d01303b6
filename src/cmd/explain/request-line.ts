// Reads what --request says: a method and a URL, with the path as it was typed. The gateway's own code brings it into its normal form.
import { readHostname } from '../../gateway/route/table/hostname.ts';

/** A request as its first line has it. */
export interface RequestLine {
  readonly method: string;
  readonly scheme: 'http' | 'https';
  /** Host and port as typed. */
  readonly authority: string;
  /** In lower case, without the port. */
  readonly hostname: string;
  /** Undefined: the URL has none. */
  readonly port: number | undefined;
  /** Path and query as typed. */
  readonly target: string;
}

type ReadRequestLine =
  | { readonly ok: true; readonly line: RequestLine }
  | { readonly ok: false; readonly problem: string };

const example = "such as --request 'POST https://mcp.example.com/mcp'";

/** Reads `POST https://host/path`; without a method it is a POST, as nearly every MCP request is. */
export function readRequestLine(text: string): ReadRequestLine {
  const parts = /^(?:(\S+)\s+)?(https?):\/\/([^/?#\s]+)([^\s#]*)$/i.exec(text.trim());
  if (parts === null) return { ok: false, problem: `${JSON.stringify(text)} is not a method and a URL, ${example}` };
  const [, method = 'POST', scheme = '', authority = '', rest = ''] = parts;
  if (!/^[A-Z]+$/.test(method))
    return { ok: false, problem: `${JSON.stringify(method)} is not an HTTP method in capitals, ${example}` };
  const hostname = authority.includes('@') ? undefined : readHostname(authority);
  if (hostname === undefined)
    return { ok: false, problem: `${JSON.stringify(authority)} is not a host name with or without a port` };
  const port = /:(\d+)$/.exec(authority)?.[1];
  return {
    ok: true,
    line: {
      method,
      scheme: scheme.toLowerCase() === 'https' ? 'https' : 'http',
      authority,
      hostname,
      port: port === undefined ? undefined : Number(port),
      target: rest.startsWith('/') ? rest : `/${rest}`,
    },
  };
}

/** The URL again, as typed. */
export function formatRequestUrl({ scheme, authority, target }: RequestLine): string {
  return `${scheme}://${authority}${target}`;
}
