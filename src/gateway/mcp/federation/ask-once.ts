// Asks a target something for the federation itself, and waits for the one answer.
import { randomUUID } from 'node:crypto';
import { readMessageHead } from '../names/message-head.ts';
import type { RequestMessage } from '../read/message.ts';
import type { Speaker, Target, TargetFailure } from './target.ts';

type OneAnswer =
  /** The JSON text of the response. */
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly failure: TargetFailure };

/** Asks and waits. What the target says before it answers is of no use to the federation. */
export function askOnce(
  target: Target,
  speaker: Speaker,
  method: string,
  asked: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<OneAnswer> {
  const params = { ...asked, ...describeSpeaker(speaker) };
  // Unlike any id that the client uses in the same session.
  const message: RequestMessage = { kind: 'request', id: `gateway-${randomUUID()}`, method, params };
  const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, method, params });
  return new Promise((resolve) => {
    let answer: string | undefined;
    const settle = (outcome: OneAnswer): void => {
      signal.removeEventListener('abort', leave);
      resolve(outcome);
    };
    const call = target.request(
      speaker,
      { text, message, parameterHeaders: [] },
      {
        onMessage(received) {
          if (received.kind === 'response' && readMessageHead(received.text)?.id === JSON.stringify(message.id))
            answer ??= received.text;
          return true;
        },
        onEnd: () => settle(answer === undefined ? unanswered : { ok: true, text: answer }),
        onFailure: (failure) => settle({ ok: false, failure }),
      },
    );
    function leave(): void {
      call.abort(true);
      settle(abandoned);
    }
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave);
  });
}

const unanswered: OneAnswer = {
  ok: false,
  failure: { kind: 'no-answer', status: undefined, headers: [], detail: 'it did not answer' },
};
const abandoned: OneAnswer = {
  ok: false,
  failure: { kind: 'timeout', status: undefined, headers: [], detail: 'it did not answer in time' },
};

/** What every request says from 2026-07-28 on. */
function describeSpeaker({ era, version, clientInfo, capabilities }: Speaker): object {
  if (era === 'legacy') return {};
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    ...(clientInfo !== undefined && { 'io.modelcontextprotocol/clientInfo': JSON.parse(clientInfo) as unknown }),
    'io.modelcontextprotocol/clientCapabilities': JSON.parse(capabilities) as unknown,
  };
  return { _meta: meta };
}
