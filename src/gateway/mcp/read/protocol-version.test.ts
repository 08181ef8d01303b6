import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Message } from './message.ts';
import {
  chooseVersion,
  hasBatches,
  isModernVersion,
  readClaimedVersion,
  readVersionHeader,
} from './protocol-version.ts';

const request = (method: string, params: Record<string, unknown> = {}): Message => ({
  kind: 'request',
  id: 1,
  method,
  params,
});
const claim = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };

test('the header counts in any spelling, and once', () => {
  assert.deepEqual(readVersionHeader([]), { ok: true, version: undefined });
  assert.deepEqual(readVersionHeader(['MCP-Protocol-Version', '2025-06-18']), { ok: true, version: '2025-06-18' });
  assert.deepEqual(readVersionHeader(['mcp-protocol-version', 'a', 'Mcp-Protocol-Version', 'a']), { ok: false });
  assert.deepEqual(readVersionHeader(['mcp-protocol-version', 'a', 'MCP_Protocol_Version', 'b']), { ok: false });
});

test('a message claims a version in its _meta', () => {
  assert.equal(readClaimedVersion(request('ping', claim)), '2026-07-28');
  for (const params of [
    {},
    { _meta: {} },
    { _meta: null },
    { _meta: [] },
    { _meta: { 'io.modelcontextprotocol/protocolVersion': 7 } },
  ])
    assert.equal(readClaimedVersion(request('ping', params)), undefined);
  assert.equal(readClaimedVersion({ kind: 'response' }), undefined);
});

describe('the version of a message', () => {
  for (const [name, header, message, transport, version] of [
    [
      'the header first',
      '2025-06-18',
      request('initialize', { protocolVersion: '2025-11-25' }),
      'streamable-http',
      '2025-06-18',
    ],
    ['then the claim', undefined, request('ping', claim), 'streamable-http', '2026-07-28'],
    [
      'then what initialize asks for',
      undefined,
      request('initialize', { protocolVersion: '2025-11-25' }),
      'streamable-http',
      '2025-11-25',
    ],
    [
      'of no other method',
      undefined,
      request('ping', { protocolVersion: '2025-11-25' }),
      'streamable-http',
      '2025-03-26',
    ],
    ['else the one to assume', undefined, request('ping'), 'streamable-http', '2025-03-26'],
    ['of a request without a message', undefined, undefined, 'streamable-http', '2025-03-26'],
    ['of an answer', undefined, { kind: 'response' }, 'streamable-http', '2025-03-26'],
    ['of the older transport', undefined, request('ping'), 'sse', '2024-11-05'],
  ] as const)
    test(name, () => assert.equal(chooseVersion(header, message, transport), version));
});

test('modern versions are 2026-07-28 and later ones', () => {
  for (const version of ['2026-07-28', '2026-12-01', '2030-01-01'])
    assert.equal(isModernVersion(version), true, version);
  for (const version of ['2025-11-25', '2024-11-05', '2026-07-27', '', 'latest', '9', '2026-07-28 ', 'draft'])
    assert.equal(isModernVersion(version), false, version);
});

test('batches are a part of 2025-03-26, which is also the version without a header', () => {
  assert.equal(hasBatches('2025-03-26', 'streamable-http'), true);
  assert.equal(hasBatches(undefined, 'streamable-http'), true);
  assert.equal(hasBatches(undefined, 'sse'), false);
  assert.equal(hasBatches('2025-03-26', 'sse'), false);
  for (const version of ['2024-11-05', '2025-06-18', '2025-11-25', '2026-07-28', 'x', ''])
    assert.equal(hasBatches(version, 'streamable-http'), false, version);
});
