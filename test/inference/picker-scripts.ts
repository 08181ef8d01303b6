// What pickers of this world do with a stream, as scripts for the fake one.
import type { PickerCall, PickerScript } from './fake-picker.ts';
import {
  choose,
  type ChoicePlace,
  type HeaderChanges,
  passChunk,
  passHeaders,
  passTrailers,
  type Side,
  streamChunk,
} from './picker-answers.ts';

export interface PickOptions {
  /** `ip:port`, or several separated by commas; a function may look at the request. */
  readonly endpoints: string | ((call: PickerCall) => string);
  readonly place?: ChoicePlace;
  /** When it chooses: as soon as it has the headers (default), or when it has read all of the body. */
  readonly after?: 'headers' | 'body';
  /** How it lets bodies pass: chunk by chunk (default), or in full duplex, where it sends what it was sent. */
  readonly mode?: 'plain' | 'streamed';
  readonly request?: HeaderChanges;
  readonly response?: HeaderChanges;
}

/** How much of a body goes into one message when all of it was collected. */
const streamedBytes = 62_000;

/** Chooses and lets everything pass. */
export function pick(options: PickOptions): PickerScript {
  const { endpoints, place = 'both', after = 'headers', mode = 'plain' } = options;
  return async (call) => {
    const collected: Uint8Array[] = [];
    let hasChosen = false;
    const makeChoice = (): void => {
      if (hasChosen) return;
      hasChosen = true;
      call.send(choose(typeof endpoints === 'string' ? endpoints : endpoints(call), place, options.request));
    };
    const pass = (side: Side, body: Uint8Array, isLast: boolean): void =>
      call.send(mode === 'plain' ? passChunk(side) : streamChunk(side, body, isLast));
    for (let message = await call.next(); message !== undefined; message = await call.next()) {
      await call.sent();
      const { request } = message;
      switch (request.case) {
        case 'requestHeaders':
          if (after === 'headers' || request.value.endOfStream) makeChoice();
          break;
        case 'requestBody': {
          const { body, endOfStream } = request.value;
          if (endOfStream && after === 'body') makeChoice();
          if (mode === 'plain' || after === 'headers') pass('request', body, endOfStream);
          else {
            collected.push(body);
            if (endOfStream) sendCollected(call, collected);
          }
          break;
        }
        case 'requestTrailers':
          makeChoice();
          if (mode === 'streamed' && after === 'body') sendCollected(call, collected);
          call.send(passTrailers('request'));
          break;
        case 'responseHeaders':
          call.send(passHeaders('response', options.response));
          break;
        case 'responseBody':
          pass('response', request.value.body, request.value.endOfStream);
          break;
        case 'responseTrailers':
          call.send(passTrailers('response'));
          break;
        case undefined:
          break;
      }
    }
  };
}

function sendCollected(call: PickerCall, collected: readonly Uint8Array[]): void {
  const body = Buffer.concat(collected);
  let sent = 0;
  do {
    const chunk = body.subarray(sent, sent + streamedBytes);
    sent += chunk.length;
    call.send(streamChunk('request', chunk, sent >= body.length));
  } while (sent < body.length);
}

/** Reads everything and never says a word. */
export const saysNothing: PickerScript = (call) => call.drain();
