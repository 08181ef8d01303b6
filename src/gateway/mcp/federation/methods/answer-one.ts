// Which method answers a request.
import { findListMethod } from '../../read/list-methods.ts';
import { isKnownMethod } from '../../read/known-methods.ts';
import { askForItem, askForTask } from './ask-one.ts';
import { formatError, formatMethodNotFound, formatResult } from './failures.ts';
import { type Asked, type Conversation, type MessageSink, nothingRunning, type Running } from './federated-request.ts';
import { introduceAll, writeDiscoverResult } from './introduce.ts';
import { answerList } from './lists.ts';
import { listTasks, setLevel } from './tell-all.ts';

/** Answers a request, now or later. What opens a stream of its own is none of these. */
export function answerOne(conversation: Conversation, asked: Asked, sink: MessageSink): Running {
  const { message } = asked;
  const { id, method } = message;
  if (isKnownMethod(message, conversation.speaker.version)) {
    const list = findListMethod(message);
    if (list !== undefined) return answerList(conversation, asked, list, sink);
    switch (method) {
      case 'tools/call':
      case 'prompts/get':
      case 'resources/read':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
      case 'completion/complete':
        return askForItem(conversation, asked, sink);
      case 'tasks/get':
      case 'tasks/result':
      case 'tasks/update':
      case 'tasks/cancel':
        return askForTask(conversation, asked, sink);
      case 'tasks/list':
        return listTasks(conversation, asked, sink);
      case 'logging/setLevel':
        return setLevel(conversation, asked, sink);
      case 'server/discover':
        return discover(conversation, asked, sink);
      case 'ping':
        sink.answer(formatResult(id, '{}'));
        return nothingRunning;
    }
  }
  conversation.note({ reason: 'method_unknown', detail: 'a federation does not know the method' });
  sink.answer(formatMethodNotFound(id));
  return nothingRunning;
}

function discover({ federation, speaker, note }: Conversation, asked: Asked, sink: MessageSink): Running {
  const { id } = asked.message;
  let isGone = false;
  introduceAll(federation, speaker, note)
    .then((introduction) => {
      if (isGone) return;
      if (introduction.ok) sink.answer(formatResult(id, writeDiscoverResult(introduction)));
      else sink.answer(formatError(id, introduction.code, introduction.message, introduction.data));
    })
    .catch((error: unknown) => note({ reason: 'internal_error', detail: String(error) }));
  return { resume() {}, abort: () => void (isGone = true) };
}
