import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildContext } from '../../../test/integration/admin-fixture.ts';
import { createFlowInspector } from './flow-inspector.ts';
import { createObservers, type Observability } from './observe-requests.ts';
import { createRequestJournal } from './request-journal.ts';

function watch(): { readonly parts: Required<Observability>; readonly told: string[] } {
  const told: string[] = [];
  const note = (text: string) => (): void => void told.push(text);
  const parts = {
    metrics: { start: note('metrics start'), finish: note('metrics finish'), openStream: () => () => {} },
    accessLog: note('log finish'),
    tracing: {
      startRequest: note('traces start'),
      startUpstream: note('traces upstream'),
      finish: note('traces finish'),
      stop: () => Promise.resolve(),
    },
    flows: { ...createFlowInspector(), finish: note('flows finish') },
    journal: { ...createRequestJournal(), finish: note('journal finish') },
    live: { start: note('live start'), finish: note('live finish') },
  };
  return { parts, told };
}

function serve(parts: Observability): void {
  const context = buildContext();
  const observers = createObservers(parts);
  for (const observer of observers) observer.start(context);
  for (const observer of observers) observer.startUpstream?.(context);
  for (const observer of observers) observer.finish(context, true, 0, 0);
}

test('everybody who watches is told, traces first', () => {
  const { parts, told } = watch();
  serve(parts);
  assert.deepEqual(told, [
    'traces start',
    'metrics start',
    'live start',
    'traces upstream',
    'traces finish',
    'metrics finish',
    'log finish',
    'flows finish',
    'journal finish',
    'live finish',
  ]);
});

test('metrics alone are enough', () => {
  const { parts, told } = watch();
  serve({ metrics: parts.metrics, accessLog: undefined, tracing: undefined });
  assert.deepEqual(told, ['metrics start', 'metrics finish']);
});
