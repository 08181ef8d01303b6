// A target of a federation that is the reference server, with its questions and its progress, over both transports.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../kit/wait-for.ts';
import { startDialogueServer } from '../mcp/dialogue-server.ts';
import { startEverythingServer } from '../mcp/everything-server.ts';
import {
  ask,
  connectTo,
  readText,
  speakAs,
  startAsk,
  startListening,
} from '../integration/federation-target-fixture.ts';

const sampled = { role: 'assistant', model: 'm', content: { type: 'text', text: 'because' } };

for (const transport of ['streamableHttp', 'sse'] as const)
  test(`the reference server over ${transport}`, async (t) => {
    const server = await startEverythingServer(transport);
    const { port, pathname } = new URL(server.url);
    const connected = connectTo({
      ports: [Number(port)],
      path: pathname,
      transport: transport === 'sse' ? 'sse' : 'streamable-http',
    });
    t.after(async () => {
      await connected.close();
      await server.stop();
    });
    const { target } = connected;
    for (const era of ['legacy', 'modern'] as const) {
      const speaker = speakAs(era);
      const introduction = await target.introduce(speaker);
      assert.equal(introduction.ok && introduction.serverInfo?.name, 'mcp-servers/everything');
      const stream = startListening(target, speaker);
      const sum = await ask(target, speaker, 'tools/call', { name: 'get-sum', arguments: { a: 2, b: 40 } });
      assert.equal(readText(sum), 'The sum of 2 and 40 is 42.');
      const long = await ask(target, speaker, 'tools/call', {
        name: 'trigger-long-running-operation',
        arguments: { duration: 0.1, steps: 3 },
        _meta: { progressToken: 'mine' },
      });
      const progress = [...long.messages, ...stream.messages].filter(
        ({ method }) => method === 'notifications/progress',
      );
      assert.equal(progress.length, 3);
      for (const { text } of progress) assert.match(text, /"progressToken":"mine"/);
      const asking = startAsk(target, speaker, 'tools/call', {
        name: 'trigger-sampling-request',
        arguments: { prompt: 'why' },
      });
      if (era === 'legacy') {
        const question = await waitFor('the question', () =>
          [...asking.messages, ...stream.messages].find(({ method }) => method === 'sampling/createMessage'),
        );
        const text = `{"jsonrpc":"2.0","id":${question.id},"result":${JSON.stringify(sampled)}}`;
        assert.equal(await target.notify(speaker, text), undefined);
        assert.match(readText(await asking.done), /because/);
      } else {
        // Nobody told it that the client could be asked.
        assert.match(readText(await asking.done), /not found/);
      }
      stream.call.abort(true);
      await target.endSession(speaker);
    }
  });

test('a server on SDK v2 asks each client as its era does', async (t) => {
  const server = await startDialogueServer();
  const connected = connectTo({ ports: [Number(new URL(server.url).port)] });
  t.after(async () => {
    await connected.close();
    await server.close();
  });
  const { target } = connected;
  const call = { name: 'ask_model', arguments: { question: 'why' } };

  const legacy = speakAs('legacy');
  const asking = startAsk(target, legacy, 'tools/call', call);
  const question = await waitFor('the question', () => asking.messages.find(({ kind }) => kind === 'request'));
  await target.notify(legacy, `{"jsonrpc":"2.0","id":${question.id},"result":${JSON.stringify(sampled)}}`);
  assert.equal(readText(await asking.done), 'm says: because');

  const modern = speakAs('modern');
  const first = await ask(target, modern, 'tools/call', call);
  assert.equal(first.answer?.result?.['resultType'], 'input_required');
  const second = await ask(target, modern, 'tools/call', { ...call, inputResponses: { model: sampled } });
  assert.equal(readText(second), 'm says: because');
});
