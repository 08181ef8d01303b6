// One request to one target, of which only the answer matters.
import type { RawHeaders } from '../../../http/exchange.ts';
import type { RequestMessage } from '../../read/message.ts';
import type { Speaker, Target, TargetCall, TargetFailure } from '../target.ts';
import { withoutAnswer } from './failures.ts';

export type TargetAnswer =
  | { readonly ok: true; /** The whole response, as JSON. */ readonly text: string }
  | { readonly ok: false; readonly failure: TargetFailure };

const noHeaders: RawHeaders = [];

/** Asks. What else the target says meanwhile is dropped. */
export function askTarget(
  target: Target,
  speaker: Speaker,
  text: string,
  message: RequestMessage,
  signal?: AbortSignal,
): Promise<TargetAnswer> {
  return new Promise((resolve) => {
    let call: TargetCall | undefined;
    const settle = (answer: TargetAnswer): void => {
      signal?.removeEventListener('abort', stop);
      resolve(answer);
    };
    const stop = (): void => {
      call?.abort(true);
      settle({ ok: false, failure: { ...withoutAnswer, detail: 'the client has left' } });
    };
    if (signal?.aborted === true) return stop();
    signal?.addEventListener('abort', stop);
    call = target.request(
      speaker,
      { text, message, parameterHeaders: noHeaders },
      {
        onMessage(incoming) {
          if (incoming.kind === 'response') settle({ ok: true, text: incoming.text });
          return true;
        },
        onEnd: () => settle({ ok: false, failure: withoutAnswer }),
        onFailure: (failure) => settle({ ok: false, failure }),
      },
    );
  });
}
