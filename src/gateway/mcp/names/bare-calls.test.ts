import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseBody, type ReadBody } from '../read/parse-message.ts';
import { createFederation } from '../testing/message-fixture.ts';
import { listBareCalls, renameCalls } from './bare-calls.ts';

const federation = createFederation({ tickets: 'tix', wiki: 'w-1' });

function read(body: unknown): ReadBody {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const parsed = parseBody(Buffer.from(text), new Map());
  assert.ok(parsed.ok);
  return parsed;
}

const call = (name: unknown, id = 1): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });

describe('calls without a prefix', () => {
  test('are those whose name does not begin like one', () => {
    for (const name of [
      'close',
      '_close',
      'other_close',
      'TIX_close',
      'tix',
      'tix-close',
      'w-1',
      '',
      `${'a'.repeat(80)}_x`,
    ])
      assert.deepEqual(listBareCalls(federation, read(call(name))), [name], name);
    for (const name of ['tix_close', 'w-1_a_b', 'tix_', 'tix__'])
      assert.deepEqual(listBareCalls(federation, read(call(name))), [], name);
  });

  test('are requests, and calls of tools', () => {
    const { id: _, ...notification } = call('close') as { id: number };
    for (const body of [
      notification,
      call(7),
      { ...call('close'), method: 'prompts/get' },
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { jsonrpc: '2.0', id: 1, result: { name: 'close' } },
    ])
      assert.deepEqual(listBareCalls(federation, read(body)), [], JSON.stringify(body));
  });

  test('are none without a federation, and where names have no prefixes', () => {
    assert.deepEqual(listBareCalls(undefined, read(call('close'))), []);
    assert.deepEqual(listBareCalls(createFederation({ tickets: 'tix' }, 'never'), read(call('close'))), []);
  });

  test('of a batch are named once each', () => {
    const batch = [call('close', 1), call('tix_close', 2), call('open', 3), call('close', 4)];
    assert.deepEqual(listBareCalls(federation, read(batch)), ['close', 'open']);
  });
});

describe('calls with other names', () => {
  const names = new Map([
    ['close', 'tix_close'],
    ['ö', 'tix_ö'],
  ]);
  const rename = (body: unknown): string => {
    const { bytes, read: renamed } = renameCalls(read(body), names, new Map());
    assert.equal(renamed.text, Buffer.from(bytes).toString());
    return renamed.text;
  };

  test('are otherwise byte for byte the same', () => {
    const text =
      ' { "id" : 1, "params":{"arguments":{"name":"close"},\t"n\\u0061me": "cl\\u006fse"}, "jsonrpc":"2.0","method":"tools/call"}';
    assert.equal(rename(text), text.replace('"cl\\u006fse"', '"tix_close"'));
    assert.equal(rename(JSON.stringify(call('open'))), JSON.stringify(call('open')));
  });

  test('of a batch, without the others', () => {
    const other = { jsonrpc: '2.0', method: 'notifications/x', params: { name: 'close' } };
    assert.equal(
      rename([call('close', 1), other, call('open', 2), call('close', 3)]),
      JSON.stringify([call('tix_close', 1), other, call('open', 2), call('tix_close', 3)]),
    );
  });

  test('have this name in Mcp-Name, as a header can carry it', () => {
    const nameOf = (body: unknown): string | undefined => renameCalls(read(body), names, new Map()).mcpName;
    assert.equal(nameOf(call('close')), 'tix_close');
    assert.equal(nameOf(call('ö')), `=?base64?${Buffer.from('tix_ö').toString('base64')}?=`);
    assert.equal(nameOf([call('close')]), undefined);
  });
});
