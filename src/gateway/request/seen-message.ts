// The parts of an MCP message that the access log and the request journal show: names, never arguments.
import { copyText, cutText } from '../../base/cut-text.ts';
import { hasNoCredentials, redactText } from '../../base/redact.ts';
import { rememberTexts } from '../../base/text-memory.ts';
import type { RawHeaders } from '../http/exchange.ts';

/** The message of a request; of a batch the first one that was refused, else the first. */
export interface SeenMessage {
  readonly method: string;
  /** The tool, prompt or resource that it uses; undefined: none. */
  readonly item: { readonly kind: 'tool' | 'prompt' | 'resource'; readonly name: string } | undefined;
  /** Messages in the body; more than one is a batch. */
  readonly count: number;
}

/** The same as redacted texts, to keep and to show. */
export interface ShownMessage {
  readonly method: string;
  readonly kind: 'tool' | 'prompt' | 'resource' | undefined;
  /** For a resource, the URI without its query. */
  readonly item: string | undefined;
  readonly count: number;
}

const maxNameLength = 256;

/** Bounded: a name can be as long as a body, and a stream can last for days. */
const maxKeptLength = 16_384;

/** Notes a message for as long as its request lasts. */
export function seeMessage(method: string, item: SeenMessage['item'], count: number): SeenMessage {
  return {
    method: cutText(method, maxKeptLength),
    item: item === undefined ? undefined : { kind: item.kind, name: cutText(item.name, maxKeptLength) },
    count,
  };
}

const itemKinds: ReadonlyMap<string, NonNullable<SeenMessage['item']>['kind']> = new Map([
  ['tools/call', 'tool'],
  ['prompts/get', 'prompt'],
  ['resources/read', 'resource'],
  ['resources/subscribe', 'resource'],
  ['resources/unsubscribe', 'resource'],
]);

/** The message by the headers that repeat it (MCP 2026-07-28), where nothing reads the body: what the client says, for the log only. */
export function readClaimedMessage(headers: RawHeaders): SeenMessage | undefined {
  let method: string | undefined;
  let name: string | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    const field = headers[index]!;
    if (field.length === 10 && method === undefined && field.toLowerCase() === 'mcp-method')
      method = headers[index + 1];
    else if (field.length === 8 && name === undefined && field.toLowerCase() === 'mcp-name') name = headers[index + 1];
  }
  if (method === undefined || method === '') return undefined;
  const kind = itemKinds.get(method);
  // Names that are no plain text are encoded; those are left out.
  const isEncoded = name?.startsWith('=?') === true;
  const item = kind === undefined || name === undefined || name === '' || isEncoded ? undefined : { kind, name };
  return seeMessage(method, item, 1);
}

/** Shortens and copies the texts, so that they do not keep the body in memory, and redacts possible credentials. */
export function showMessage({ method, item, count }: SeenMessage): ShownMessage {
  const kind = item?.kind;
  const name = item === undefined ? undefined : kind === 'resource' ? removeQuery(item.name) : item.name;
  return { method: show(method), kind, item: name === undefined ? undefined : show(name), count };
}

/** Cached: methods and tools are few, and every message has them. */
const show = rememberTexts(
  (text) => {
    // Cut last: half a credential does not look like one.
    const redacted = redactText(text);
    return redacted.length > maxNameLength ? cutText(redacted, maxNameLength) : copyText(redacted);
  },
  { mayKeep: hasNoCredentials },
);

/** Queries often carry credentials, also in the URIs of resources. */
function removeQuery(uri: string): string {
  const end = uri.search(/[?#]/);
  return end === -1 ? uri : uri.slice(0, end);
}
