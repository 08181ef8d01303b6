// What a picker may make of requests and answers: header fields, and bodies piece by piece or sent anew.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PickerCall, type PickerScript, readFields } from '../inference/fake-picker.ts';
import { hashBody, type ModelListener } from '../inference/fake-model-server.ts';
import {
  choose,
  destinationKey,
  dropChunk,
  passChunk,
  passHeaders,
  passTrailers,
  replaceChunk,
  streamChunk,
} from '../inference/picker-answers.ts';
import { pick } from '../inference/picker-scripts.ts';
import { askHttp2, openSession, readText, receiveResponse, valuesOf } from './gateway-fixture.ts';
import {
  readArrival,
  readToEnd,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilIdle,
} from './inference-fixture.ts';
import type { ServerResponse } from 'node:http';

const options = { timeout: 180_000 };

/** Lets what is left of a call pass. */
async function passRest(call: PickerCall): Promise<void> {
  for (let message = await call.next(); message !== undefined; message = await call.next()) {
    const { request } = message;
    if (request.case === 'responseHeaders') call.send(passHeaders('response'));
    else if (request.case === 'requestBody') call.send(passChunk('request'));
    else if (request.case === 'responseBody') call.send(passChunk('response'));
    else if (request.case === 'responseTrailers') call.send(passTrailers('response'));
  }
}

test('header fields of the request: set, add, replace, remove', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, {
    script: pick({
      endpoints: server.endpoint,
      request: {
        set: [
          { name: 'X-New', value: 'new' },
          { name: 'x-text', value: 'as text', asText: true },
          { name: 'x-kept', value: 'second', action: 'append' },
          { name: 'x-there', value: 'no', action: 'add-if-absent' },
          { name: 'x-absent', value: 'added', action: 'add-if-absent' },
          { name: 'x-old', value: 'replaced', action: 'overwrite' },
          { name: 'x-plain', value: 'replaced', action: 'unset' },
          { name: 'x-missing', value: 'no', action: 'overwrite-if-exists' },
          { name: 'x-exists', value: 'yes', action: 'overwrite-if-exists' },
          { name: 'x-raw', value: 'caf\u00e9' },
          { name: 'x-twice', value: 'first', action: 'unset' },
          { name: 'x-twice', value: 'last', action: 'unset' },
        ],
        remove: ['X-Gone', 'x-never-there'],
      },
    }),
  });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  const headers = {
    'x-kept': 'first',
    'x-there': 'there',
    'x-old': 'old',
    'x-plain': 'old',
    'x-exists': 'no',
    'x-gone': 'gone',
    'x-other': 'other',
  };
  for (const body of [undefined, 'prompt']) {
    const arrival = readArrival(await gateway.ask({ method: body === undefined ? 'GET' : 'POST', headers }, body));
    assert.deepEqual(valuesOf(arrival.headers, 'x-twice'), ['last']);
    const names = ['x-new', 'x-text', 'x-kept', 'x-there', 'x-absent', 'x-old', 'x-plain', 'x-missing', 'x-exists'];
    assert.deepEqual(
      [...names, 'x-gone', 'x-other', 'x-raw'].map((name) => valuesOf(arrival.headers, name).join('|')),
      ['new', 'as text', 'first|second', 'there', 'added', 'replaced', 'replaced', '', 'yes', '', 'other', 'caf\u00e9'],
    );
  }
});

test('framing, connection fields and the authority of a request cannot be changed', options, async (t) => {
  const servers = [await startModel(t), await startModel(t, { protocol: 'h2c' })] as const;
  for (const [index, protocol] of (['http1', 'h2c'] as const).entries()) {
    const server = servers[index]!;
    const picker = await startPicker(t, {
      script: pick({
        endpoints: server.endpoint,
        request: {
          set: [
            ...['host', ':authority'].map((name) => ({ name, value: 'evil.example' })),
            { name: 'content-length', value: '3' },
            { name: 'Transfer-Encoding', value: 'gzip, chunked' },
            { name: 'connection', value: 'x-secret' },
            { name: ':scheme', value: 'ftp' },
            { name: ':method', value: 'DELETE' },
          ],
          remove: ['host', ':path', 'content-length', 'transfer-encoding'],
        },
      }),
    });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port], protocol });
    const headers = { host: 'localhost:8080', 'x-secret': 'stays' };
    const body = 'a prompt of more than three bytes';
    const arrival = readArrival(await gateway.ask({ method: 'POST', path: '/p', headers }, body));
    assert.deepEqual([arrival.method, arrival.url, arrival.body_sha256], ['POST', '/p', hashBody(body)], protocol);
    const host = protocol === 'http1' ? 'host' : ':authority';
    assert.deepEqual(valuesOf(arrival.headers, host), ['localhost:8080'], protocol);
    assert.deepEqual(valuesOf(arrival.headers, 'x-secret'), ['stays'], protocol);
    assert.deepEqual(
      valuesOf(arrival.headers, 'transfer-encoding').filter((each) => each !== 'chunked'),
      [],
    );
  }
});

/** The same pieces at the picker as the client wrote: each is written when the one before has arrived there. */
async function sendPieces(
  gateway: Awaited<ReturnType<typeof startInferenceGateway>>,
  call: () => Promise<PickerCall>,
  pieces: readonly string[],
): Promise<{ readonly text: string; readonly clean: boolean }> {
  const message = gateway.open({ headers: { 'transfer-encoding': 'chunked' } });
  for (const [index, piece] of pieces.entries()) {
    message.write(piece);
    await (await call()).heard(index + 2);
  }
  message.end();
  return readToEnd(await receiveResponse(message));
}

test('pieces of the request pass, are replaced or dropped, each by its own answer', options, async (t) => {
  const server = await startModel(t);
  server.handle('/', (request, response) => {
    void readText(request).then((text) => (response as ServerResponse).end(text));
  });
  for (const when of ['at once', 'at the end'] as const) {
    const picker = await startPicker(t, {
      script: async (call) => {
        await call.nextOf('requestHeaders');
        const choice = choose(server.endpoint);
        if (when === 'at once') call.send(choice);
        const answers = [passChunk('request'), replaceChunk('request', '[two]'), dropChunk('request')];
        for (const answer of answers) {
          await call.nextOf('requestBody');
          call.send(answer);
        }
        const last = await call.nextOf('requestBody');
        assert.ok(last.endOfStream);
        if (when === 'at the end') call.send(choice);
        call.send(passChunk('request'));
        await passRest(call);
      },
    });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
    const answer = await sendPieces(gateway, () => picker.call(0), ['one', 'two', 'three']);
    assert.deepEqual(answer, { text: 'one[two]', clean: true }, when);
    await waitUntilIdle(gateway, [picker], [server]);
  }
});

test(
  'a body that is sent anew takes the place of the old one, longer or shorter, whatever length was announced',
  options,
  async (t) => {
    for (const protocol of ['http1', 'h2c'] as const) {
      const server = await startModel(t, { protocol });
      const bodies = ['', 'short', 'y'.repeat(500_000)];
      let body = '';
      const picker = await startPicker(t, {
        script: async (call) => {
          for (;;) {
            const { endOfStream } = await call.nextOf('requestBody');
            if (endOfStream) break;
          }
          call.send(choose(server.endpoint, 'both', { set: [{ name: 'content-length', value: String(body.length) }] }));
          for (let sent = 0; sent < body.length; sent += 60_000)
            call.send(streamChunk('request', body.slice(sent, sent + 60_000), false));
          call.send(streamChunk('request', '', true));
          await passRest(call);
        },
      });
      const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port], protocol });
      for (body of bodies) {
        for (const original of ['x', 'x'.repeat(200_000)]) {
          const arrival = readArrival(await gateway.ask({ method: 'POST' }, original));
          assert.deepEqual([arrival.body_bytes, arrival.body_sha256], [body.length, hashBody(body)], protocol);
          const [length] = valuesOf(arrival.headers, 'content-length');
          if (length !== undefined) assert.equal(length, String(body.length));
        }
      }
      await waitUntilIdle(gateway, [picker], [server]);
    }
  },
);

for (const mode of ['plain', 'streamed'] as const) {
  test(`a request flows while the client still writes it (${mode})`, options, async (t) => {
    const server = await startModel(t);
    const arrived: string[] = [];
    const arrival = { wake: () => {} };
    server.handle('/', (request, response) => {
      request.on('data', (chunk: Buffer) => {
        arrived.push(chunk.toString());
        arrival.wake();
      });
      request.on('end', () => (response as ServerResponse).end(arrived.join('')));
    });
    const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint, mode }) });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
    const message = gateway.open({ headers: { 'transfer-encoding': 'chunked' } });
    // The next piece is written when the model server has the one before.
    let sent = '';
    for (const piece of ['one', 'two', 'three']) {
      message.write(piece);
      sent += piece;
      while (arrived.join('') !== sent) await new Promise<void>((resolve) => (arrival.wake = resolve));
    }
    message.end();
    assert.deepEqual(await readToEnd(await receiveResponse(message)), { text: sent, clean: true });
  });
}

test('trailers of a request reach the model server; the picker sees an empty last piece', options, async (t) => {
  for (const protocol of ['http1', 'h2c'] as const) {
    const server = await startModel(t, { protocol });
    for (const mode of ['plain', 'streamed'] as const) {
      for (const after of ['headers', 'body'] as const) {
        const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint, mode, after }) });
        const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port], protocol });
        const session = await openSession(gateway.port);
        const head = { ':method': 'POST', ':path': '/echo', trailer: 'x-sum' };
        const arrival = readArrival(await askHttp2(session, head, 'prompt', { 'x-sum': '42' }));
        const what = `${protocol} ${mode} ${after}`;
        assert.deepEqual(
          [arrival.body_sha256, valuesOf(arrival.trailers, 'x-sum')],
          [hashBody('prompt'), ['42']],
          what,
        );
        const told = picker.calls[0]!.received.map(({ request }) => request);
        const pieces = told.flatMap((each) => (each.case === 'requestBody' ? [each.value] : []));
        assert.deepEqual([pieces.at(-1)!.body.length, pieces.at(-1)!.endOfStream], [0, true], what);
        session.destroy();
        await waitUntilIdle(gateway, [picker], [server]);
      }
    }
  }
});

// ---- answers

const jsonAnswer: ModelListener = (request, response) => {
  request.resume();
  response.setHeader('content-type', 'application/json');
  response.setHeader('x-old', 'old');
  response.setHeader('content-length', '11');
  (response as ServerResponse).end('{"ok": true}'.slice(0, 11));
};

test('header fields and the status of an answer', options, async (t) => {
  for (const protocol of ['http1', 'h2c'] as const) {
    const server = await startModel(t, { protocol });
    server.handle('/', jsonAnswer);
    const picker = await startPicker(t, {
      script: pick({
        endpoints: server.endpoint,
        response: {
          set: [
            { name: ':status', value: '207' },
            { name: 'X-New', value: 'new' },
            { name: 'x-old', value: 'more', action: 'append' },
            { name: 'transfer-encoding', value: 'gzip' },
            { name: 'connection', value: 'close' },
          ],
          remove: ['Content-Type'],
        },
      }),
    });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port], protocol });
    const answer = await gateway.ask();
    assert.deepEqual([answer.status, answer.body], [207, '{"ok": true'], protocol);
    assert.deepEqual(valuesOf(answer.rawHeaders, 'x-new'), ['new']);
    assert.deepEqual(valuesOf(answer.rawHeaders, 'x-old').join(', '), 'old, more');
    assert.deepEqual(valuesOf(answer.rawHeaders, 'content-type'), []);
    assert.ok(!valuesOf(answer.rawHeaders, 'transfer-encoding').includes('gzip'));
    await waitUntilIdle(gateway, [picker], [server]);
    assert.equal(gateway.finished[0]!.status, 207);
  }
});

test(
  'a length that the picker announces for an answer is kept, and one that is wrong breaks the answer off',
  options,
  async (t) => {
    const server = await startModel(t);
    server.handle('/', jsonAnswer);
    const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
    for (const [length, isRight] of [
      ['11', true],
      ['3', false],
      ['12', false],
    ] as const) {
      picker.script = pick({
        endpoints: server.endpoint,
        response: { set: [{ name: 'content-length', value: length }] },
      });
      const message = gateway.open({ method: 'GET' });
      message.end();
      const response = await receiveResponse(message).catch(() => undefined);
      if (response === undefined) {
        assert.equal(isRight, false);
        continue;
      }
      const { text, clean } = await readToEnd(response);
      assert.equal(clean && text.length === 11, isRight, `${length}: ${text}`);
      if (isRight) assert.equal(response.headers['content-length'], '11');
      else assert.ok(!clean, `${length}: ${text} passed as a whole answer`);
    }
    await waitUntilIdle(gateway, [picker], [server]);
  },
);

test('answers without a body end with their headers', options, async (t) => {
  const server = await startModel(t);
  server.handle('/204', (_request, response) => void (response as ServerResponse).writeHead(204).end());
  server.handle(
    '/304',
    (_request, response) => void (response as ServerResponse).writeHead(304, { etag: '"x"' }).end(),
  );
  server.handle('/empty', (_request, response) => {
    (response as ServerResponse).writeHead(200, { 'content-length': '0' }).end();
  });
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  for (const mode of ['plain', 'streamed'] as const) {
    picker.script = pick({ endpoints: server.endpoint, mode });
    for (const [path, status] of [
      ['/204', 204],
      ['/304', 304],
      ['/empty', 200],
    ] as const) {
      const answer = await gateway.ask({ path });
      assert.deepEqual([answer.status, answer.body], [status, ''], `${path} ${mode}`);
    }
    const head = await gateway.ask({ method: 'HEAD', path: '/head' });
    assert.deepEqual([head.status, head.headers['content-type'], head.body], [200, 'application/json', '']);
  }
  await waitUntilIdle(gateway, [picker], [server]);
});

test('pieces of an answer pass, are replaced or dropped, each by its own answer', options, async (t) => {
  const server = await startModel(t);
  let answering: ServerResponse | undefined;
  server.handle('/', (request, response) => {
    request.resume();
    answering = response as ServerResponse;
    answering.writeHead(200, { 'content-type': 'text/plain' });
    answering.write('one');
  });
  const script: PickerScript = async (call) => {
    await call.nextOf('requestHeaders');
    call.send(choose(server.endpoint));
    await call.nextOf('responseHeaders');
    call.send(passHeaders('response'));
    const pieces = ['two', 'three', ''];
    for (const answer of [passChunk('response'), replaceChunk('response', '[two]'), dropChunk('response')]) {
      await call.nextOf('responseBody');
      call.send(answer);
      // The next one is written only now, so that it is a piece of its own.
      const piece = pieces.shift()!;
      if (piece === '') answering!.end();
      else answering!.write(piece);
    }
    assert.ok((await call.nextOf('responseBody')).endOfStream);
    call.send(passChunk('response'));
    await call.drain();
  };
  const picker = await startPicker(t, { script });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  const answer = await gateway.ask();
  assert.deepEqual([answer.status, answer.body], [200, 'one[two]']);
  await waitUntilIdle(gateway, [picker], [server]);
});

test(
  'an answer that is sent anew takes the place of the old one, whatever length was announced',
  options,
  async (t) => {
    const server = await startModel(t);
    server.handle('/', jsonAnswer);
    for (const body of ['', 'short', 'z'.repeat(400_000)]) {
      const picker = await startPicker(t, {
        script: async (call) => {
          await call.nextOf('requestHeaders');
          call.send(choose(server.endpoint));
          await call.nextOf('responseHeaders');
          call.send(passHeaders('response'));
          for (;;) if ((await call.nextOf('responseBody')).endOfStream) break;
          for (let sent = 0; sent < body.length; sent += 60_000)
            call.send(streamChunk('response', body.slice(sent, sent + 60_000), false));
          call.send(streamChunk('response', '', true));
          await call.drain();
        },
      });
      const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
      const answer = await gateway.ask();
      assert.deepEqual([answer.status, answer.body.length, answer.body === body], [200, body.length, true]);
      await waitUntilIdle(gateway, [picker], [server]);
    }
  },
);

test('trailers of an answer reach the client', options, async (t) => {
  for (const mode of ['plain', 'streamed'] as const) {
    const server = await startModel(t);
    server.handle('/', (request, response) => {
      request.resume();
      const answer = response as ServerResponse;
      answer.writeHead(200, { trailer: 'x-sum' });
      answer.write('body');
      answer.addTrailers({ 'x-sum': '42' });
      answer.end();
    });
    const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint, mode }) });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
    const answer = await gateway.ask();
    assert.deepEqual([answer.body, answer.trailers['x-sum']], ['body', '42'], mode);
    await waitUntilIdle(gateway, [picker], [server]);
  }
});

test('an error of the model server is its own answer, and the picker is told of it', options, async (t) => {
  const server = await startModel(t);
  server.handle('/', (request, response) => {
    request.resume();
    (response as ServerResponse).writeHead(429, { 'retry-after': '7' }).end('{"error": "busy"}');
  });
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
  const answer = await gateway.ask({ method: 'POST' }, 'prompt');
  assert.deepEqual([answer.status, answer.headers['retry-after'], answer.body], [429, '7', '{"error": "busy"}']);
  const told = picker.calls[0]!.received.find(({ request }) => request.case === 'responseHeaders')!;
  assert.equal(readFields(told).get(':status'), '429');
  assert.equal(gateway.finished[0]?.reason, undefined);
});

test(
  'the destination header is one of the fields that the picker sets; the path may be another',
  options,
  async (t) => {
    const server = await startModel(t);
    const set = [{ name: ':path', value: '/v2/chat?x=2' }];
    const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint, request: { set } }) });
    const gateway = await startInferenceGateway(t, { endpoints: [server.port], pickers: [picker.port] });
    const arrival = readArrival(await gateway.ask({ path: '/v1/chat' }));
    assert.deepEqual([arrival.url, valuesOf(arrival.headers, destinationKey)], ['/v2/chat?x=2', [server.endpoint]]);
  },
);
