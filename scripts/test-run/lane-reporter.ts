// A reporter for node's test runner, in a lane: tells the run what happens.
import { inspect } from 'node:util';
import type { TestEvent } from 'node:test/reporters';
import type { LaneMessage } from './lane-messages.ts';

/** Writes nothing: all goes to the run. */
export default async function* reportToRun(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  // The first is the file, which the lane has made a test of.
  const names: string[] = [];
  const send = (message: LaneMessage): void => void process.send?.(message);
  for await (const event of source) {
    if (event.type === 'test:start') {
      names.length = event.data.nesting;
      names.push(event.data.name);
      if (event.data.nesting > 0) send({ kind: 'start', file: names[0]!, path: names.slice(1) });
    } else if (event.type === 'test:pass' || event.type === 'test:fail') {
      const { nesting, name, details, skip, todo } = event.data;
      names.length = nesting;
      names.push(name);
      const [file = '', ...path] = names;
      const error = event.type === 'test:fail' ? formatError(event.data.details.error) : undefined;
      const isEmptyTitle = nesting === 0;
      if (!isEmptyTitle || (error !== undefined && !error.isOfSubtests))
        send({
          kind: 'end',
          end: {
            file,
            path: isEmptyTitle ? ['(the file itself)'] : path,
            outcome: isSaid(skip) ? 'skipped' : isSaid(todo) ? 'to do' : error === undefined ? 'passed' : 'failed',
            isSuite: details.type === 'suite',
            seconds: details.duration_ms / 1_000,
            ...(error === undefined ? {} : { error: error.text }),
          },
        });
      if (isEmptyTitle) send({ kind: 'done', file });
    } else if (event.type === 'test:diagnostic' && isComplaint(event.data)) {
      send({ kind: 'warning', text: event.data.message });
    }
  }
  yield '';
}

/** Node tells of errors of tests that have ended as of anything else. */
function isComplaint({ level, message }: { readonly level: string; readonly message: string }): boolean {
  return level !== 'info' || /^(?:Error|Warning): /.test(message);
}

function isSaid(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false;
}

interface RunnerError extends Error {
  readonly failureType?: string;
}

function formatError(error: RunnerError): { readonly text: string; readonly isOfSubtests: boolean } {
  const isOfSubtests = error.failureType === 'subtestsFailed';
  // The runner's own error says no more than its cause.
  const told = error.failureType === 'testCodeFailure' || error.failureType === 'hookFailed' ? error.cause : error;
  return { text: inspect(told ?? error), isOfSubtests };
}
