// The parts of an MCP message that the access log and the request journal show: names, never arguments.
import { copyText, cutText } from '../../base/cut-text.ts';
import { hasNoCredentials, redactText } from '../../base/redact.ts';
import { rememberTexts } from '../../base/text-memory.ts';

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
