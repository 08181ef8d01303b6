import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reachesLevel, readLogLevel } from './log-levels.ts';

const say = (level: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: 1 } });
const ask = (meta: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { _meta: meta } });

test('a request that names a level gets what is as important or more', () => {
  const level = readLogLevel(ask({ 'io.modelcontextprotocol/logLevel': 'warning' }));
  assert.equal(level, '"warning"');
  assert.deepEqual(
    ['debug', 'notice', 'warning', 'emergency', 'loud', 7, undefined, { toString: 1 }].map((each) =>
      reachesLevel(say(each), level),
    ),
    [false, false, true, true, false, false, false, false],
  );
});

test('one that names none, or none that there is, gets nothing', () => {
  assert.equal(readLogLevel(ask({})), undefined);
  for (const level of [undefined, '"loud"', '7', 'null', '{}', '{"toString":1}', '["info"]'])
    assert.equal(reachesLevel(say('emergency'), level), false);
});
