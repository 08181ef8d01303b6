// Pickers that fail before they have chosen, by what they say or do instead.
import { Code, ConnectError } from '@connectrpc/connect';
import type { PickerScript } from './fake-picker.ts';
import {
  chooseByMetadata,
  destinationKey,
  destinationNamespace,
  passChunk,
  passHeaders,
  passTrailers,
  sayNothing,
} from './picker-answers.ts';
import { saysNothing } from './picker-scripts.ts';

/** Whatever the picker says or does before it has chosen. */
export const failingScripts: Readonly<Record<string, PickerScript>> = {
  'an error of gRPC at once': () => Promise.reject(new ConnectError('no', Code.Unavailable)),
  'an error of gRPC after the headers': async (call) => {
    await call.nextOf('requestHeaders');
    throw new ConnectError('cannot', Code.Internal);
  },
  'an end without a word': async (call) => {
    await call.nextOf('requestHeaders');
  },
  'silence, for longer than it may': saysNothing,
  'no ear: it reads nothing': (call) => call.over,
  'an answer that is none': async (call) => {
    await call.nextOf('requestHeaders');
    call.send(sayNothing());
    await call.drain();
  },
  'an answer to headers that were not sent': async (call) => {
    await call.nextOf('requestHeaders');
    call.send(passHeaders('response'));
    await call.drain();
  },
  'an answer to a body that was not sent': async (call) => {
    await call.nextOf('requestHeaders');
    call.send(passChunk('response'));
    await call.drain();
  },
  'trailers that nobody asked about': async (call) => {
    await call.nextOf('requestHeaders');
    call.send(passTrailers('request'));
    await call.drain();
  },
  'headers let through without a choice': async (call) => {
    await call.nextOf('requestHeaders');
    call.send(passHeaders('request'));
    await call.drain();
  },
  'a choice that is not text': async (call) => {
    await call.nextOf('requestHeaders');
    call.send(chooseByMetadata({ [destinationNamespace]: { [destinationKey]: 8080 } }));
    await call.drain();
  },
  'a namespace that is not an object': async (call) => {
    await call.nextOf('requestHeaders');
    call.send(chooseByMetadata({ [destinationNamespace]: [destinationKey] }));
    await call.drain();
  },
  'another namespace': async (call) => {
    await call.nextOf('requestHeaders');
    call.send(chooseByMetadata({ other: { [destinationKey]: '127.0.0.1:1' } }));
    await call.drain();
  },
};
