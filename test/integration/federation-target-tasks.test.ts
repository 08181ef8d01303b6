// News of tasks from a server of 2026-07-28 (extension for tasks), also over streams that break off and from a server that refuses some of them.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { waitFor } from '../kit/wait-for.ts';
import { speakAs, startListening } from './federation-target-fixture.ts';
import { answerTo, beginStream, script, type Scripted, sendJson, writeEvent } from './scripted-target.ts';

interface Stream {
  readonly tasks: readonly string[];
  readonly response: ServerResponse;
}

const acknowledged = 'notifications/subscriptions/acknowledged';
const told = 'notifications/tasks';

/** A server that does not know the task `lost`. */
async function serve(t: TestContext): Promise<Scripted & { readonly streams: Stream[]; readonly names: string[] }> {
  const streams: Stream[] = [];
  const names: string[] = [];
  const scripted = await script(t, 'modern', (message, response, request) => {
    const { taskId, notifications } = message.params as { taskId?: string; notifications?: { taskIds?: string[] } };
    const refuse = (): void =>
      sendJson(response, { jsonrpc: '2.0', id: message.id, error: { code: -32_602, message: 'Task not found' } });
    if (message.method === 'tasks/get') {
      names.push(String(request.headers['mcp-name']));
      if (taskId === 'gone') return refuse();
      return sendJson(response, answerTo(message, { resultType: 'complete', taskId, status: 'completed', result: {} }));
    }
    const { taskIds: tasks = [] } = notifications!;
    if (tasks.includes('lost')) return refuse();
    beginStream(response);
    writeEvent(response, { jsonrpc: '2.0', method: acknowledged, params: { notifications } });
    streams.push({ tasks, response });
  });
  return { ...scripted, streams, names };
}

test('after a stream broke off, the client is told how its tasks are', async (t) => {
  const { target, streams, names } = await serve(t);
  const speaker = speakAs('modern');
  await target.introduce(speaker);
  const heard = startListening(target, speaker, [], ['7', 'gone', '8']);
  const texts = (method: string): unknown[] =>
    heard.messages.filter((each) => each.method === method).map(({ text }) => (JSON.parse(text) as Told).params);
  await waitFor('the stream', () => texts(acknowledged).length === 1);
  const [first] = streams;
  writeEvent(first!.response, { jsonrpc: '2.0', method: told, params: { taskId: '7', status: 'working' } });
  await waitFor('news', () => texts(told).length === 1);
  first!.response.destroy();
  await waitFor('what was missed', () => texts(told).length === 3);
  heard.call.abort(true);
  assert.deepEqual(texts(told), [
    { taskId: '7', status: 'working' },
    { taskId: '7', status: 'completed', result: {} },
    { taskId: '8', status: 'completed', result: {} },
  ]);
  assert.deepEqual(names, ['7', 'gone', '8']);
});

test('a server that refuses a stream for a task that it does not know tells of everything else', async (t) => {
  const { target, streams } = await serve(t);
  const speaker = speakAs('modern');
  await target.introduce(speaker);
  const heard = startListening(target, speaker, [], ['7', 'lost']);
  await waitFor('the stream', () => streams.length === 1);
  assert.deepEqual(streams[0]!.tasks, []);
  await waitFor('the acknowledgement', () => heard.messages.length === 1);
  assert.deepEqual((JSON.parse(heard.messages[0]!.text) as Told).params.notifications, {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
  });
  heard.call.abort(true);
  // There is nothing else.
  const { messages, failure } = await startListening(target, speaker, [], ['lost'], false).done;
  assert.deepEqual([messages, failure, streams.length], [[], undefined, 1]);
});

interface Told {
  readonly params: { readonly notifications?: object };
}
