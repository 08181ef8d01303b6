// The stages of a request at which its client may leave.
import type { FakeModelServer } from './fake-model-server.ts';
import type { FakePicker, PickerScript } from './fake-picker.ts';
import { choose, passChunk, passHeaders, streamChunk } from './picker-answers.ts';
import { pick, saysNothing } from './picker-scripts.ts';

export interface Stage {
  /** What the picker does. */
  readonly script: (server: FakeModelServer) => PickerScript;
  /** Whether the client has ended its request. */
  readonly isSent: boolean;
  /** Holds when the stage is reached. */
  readonly reached: (picker: FakePicker, server: FakeModelServer) => boolean;
  /** Whether the model server has got to know of the request. */
  readonly isServed: boolean;
}

export const hasHeard = (picker: FakePicker, kind: string): boolean =>
  picker.calls[0]?.received.some(({ request }) => request.case === kind) === true;

export const stages: Readonly<Record<string, Stage>> = {
  'before the picker has answered the headers': {
    script: () => saysNothing,
    isSent: false,
    reached: (picker) => hasHeard(picker, 'requestBody'),
    isServed: false,
  },
  'while the picker thinks about the whole request': {
    script: () => saysNothing,
    isSent: true,
    reached: (picker) =>
      picker.calls[0]?.received.some(({ request }) => request.case === 'requestBody' && request.value.endOfStream) ===
      true,
    isServed: false,
  },
  'in the middle of its request, which passes': {
    script: ({ endpoint }) => pick({ endpoints: endpoint }),
    isSent: false,
    reached: (_picker, server) => server.openRequests === 1,
    isServed: true,
  },
  'in the middle of its request, which is sent anew': {
    script: ({ endpoint }) => pick({ endpoints: endpoint, mode: 'streamed' }),
    isSent: false,
    reached: (_picker, server) => server.openRequests === 1,
    isServed: true,
  },
  'while the model server thinks': {
    script: ({ endpoint }) => pick({ endpoints: endpoint }),
    isSent: true,
    reached: (_picker, server) => server.openRequests === 1,
    isServed: true,
  },
  'while the picker thinks about the head of the answer': {
    script:
      ({ endpoint }) =>
      async (call) => {
        await call.nextOf('requestHeaders');
        call.send(choose(endpoint));
        for (;;) {
          const { endOfStream } = await call.nextOf('requestBody');
          call.send(passChunk('request'));
          if (endOfStream) break;
        }
        await call.drain();
      },
    isSent: true,
    reached: (picker) => hasHeard(picker, 'responseHeaders'),
    isServed: true,
  },
  'in the middle of the answer, which passes': {
    script: ({ endpoint }) => pick({ endpoints: endpoint }),
    isSent: true,
    reached: (picker) => hasHeard(picker, 'responseBody'),
    isServed: true,
  },
  'in the middle of the answer, which is sent anew': {
    script: ({ endpoint }) => pick({ endpoints: endpoint, mode: 'streamed' }),
    isSent: true,
    reached: (picker) => hasHeard(picker, 'responseBody'),
    isServed: true,
  },
  'while the picker holds the answer back': {
    script:
      ({ endpoint }) =>
      async (call) => {
        await call.nextOf('requestHeaders');
        call.send(choose(endpoint));
        for (;;) {
          const { body, endOfStream } = await call.nextOf('requestBody');
          call.send(streamChunk('request', body, endOfStream));
          if (endOfStream) break;
        }
        await call.nextOf('responseHeaders');
        call.send(passHeaders('response'));
        await call.drain();
      },
    isSent: true,
    reached: (picker) => hasHeard(picker, 'responseBody'),
    isServed: true,
  },
};
