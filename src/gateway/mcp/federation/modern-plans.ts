// Requests to servers of 2026-07-28: as the client wrote them where it speaks that version, with an envelope where it does not.
import { isJsonObject } from '../../../base/json-object.ts';
import { askTarget } from './ask-target.ts';
import { asItIs } from './legacy-plans.ts';
import type { ListedTools } from './listed-tools.ts';
import { addEnvelope, reduceCapabilities, writeModernHeaders } from './modern-request.ts';
import { writeParameterHeaders } from './parameter-headers.ts';
import type { CallPlan } from './target-call.ts';
import type { MessageRequest } from './message-source.ts';
import type { TargetParts } from './target-parts.ts';
import type { OutgoingMessage, Speaker } from './target.ts';
import { antiquateAnswer, modernizeError } from './translate-answer.ts';

const headerMismatch = -32_020;
/** Pages of a list of tools that are read for the sake of one call. */
const maxPages = 50;

export function planModernCall(
  parts: TargetParts,
  tools: ListedTools,
  speaker: Speaker,
  message: OutgoingMessage,
  timeoutMs: number,
): CallPlan {
  const id = JSON.stringify(message.message.id);
  const isOfEra = speaker.era === 'modern';
  const { method, params } = message.message;
  const text = isOfEra
    ? message.text
    : addEnvelope(message.text, {
        clientInfo: speaker.clientInfo,
        capabilities: reduceCapabilities(speaker.capabilities),
        logLevel: speaker.sessions?.wishes.findLevel(speaker.sessions.name),
      });
  const repeats = !isOfEra && method === 'tools/call';
  const write = (): MessageRequest => {
    const repeated = repeats ? tools.find(String(params['name'])) : undefined;
    const parameters =
      repeated === undefined ? message.parameterHeaders : writeParameterHeaders(repeated, params['arguments']);
    const headers = writeModernHeaders(speaker, message.message, parameters);
    return {
      method: 'POST',
      path: parts.config.backend.mcp!.path,
      host: speaker.host,
      headers,
      body: text,
      tag: undefined,
    };
  };
  return {
    id,
    prepare: () => ({ ok: true, request: write() }),
    prepareAgain(refusal) {
      if (!repeats || refusal?.code !== headerMismatch) return undefined;
      return listTools(parts, tools, speaker, timeoutMs).then(() => ({ ok: true, request: write() }));
    },
    describeStream: () => ({ session: undefined }),
    translate(received) {
      const { kind, isError } = received.head;
      // Servers of this version do not ask in the middle: there would be no way for an answer.
      if (kind === 'request') return undefined;
      if (isOfEra && isError) return { ...asItIs(received), text: modernizeError(received.text) };
      if (isOfEra || kind === 'notification') return asItIs(received);
      return { ...asItIs(received), text: antiquateAnswer(received.text, method) };
    },
    resumeAfter: () => undefined,
    // The end of the stream is the sign.
    cancel() {},
    release() {},
  };
}

/** Asks for all tools, so that it is known what a call has to repeat. */
async function listTools(parts: TargetParts, tools: ListedTools, speaker: Speaker, timeoutMs: number): Promise<void> {
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const message = { kind: 'request', id: 'tools', method: 'tools/list', params } as const;
    const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, method: message.method, params });
    const asked = await askTarget(
      parts,
      {
        method: 'POST',
        path: parts.config.backend.mcp!.path,
        host: speaker.host,
        headers: writeModernHeaders(speaker, message, []),
        body: addEnvelope(text, {
          clientInfo: speaker.clientInfo,
          capabilities: reduceCapabilities(speaker.capabilities),
        }),
        tag: undefined,
      },
      '"tools"',
      timeoutMs,
    );
    if (!asked.ok) return;
    tools.note(cursor, asked.text);
    const { result } = JSON.parse(asked.text) as { readonly result?: unknown };
    const next = isJsonObject(result) ? result['nextCursor'] : undefined;
    if (typeof next !== 'string') return;
    cursor = next;
  }
}
