// Error codes that MCP 2026-07-28 has no more: no client of that version gets them, whichever version the server speaks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RecordedRequest, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { initialize, modern, post, printError, request } from './federation-fixture.ts';

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly name?: string };
}

/** A server that begins as its era does, and answers calls with the error code that is the name of the tool. */
function answerAs(era: 'legacy' | 'modern', { body }: RecordedRequest): { status: number; json: object } {
  const { id, method, params } = JSON.parse(body === '' ? '{"method":""}' : body) as Message;
  const result = (value: object) => ({ status: 200, json: { jsonrpc: '2.0', id, result: value } });
  const error = (code: number) => ({
    status: 200,
    json: { jsonrpc: '2.0', id, error: { code, message: 'Not now.', data: { elicitations: [] } } },
  });
  const self = { capabilities: { tools: {} }, serverInfo: { name: era, version: '1' } };
  if (id === undefined) return { status: 202, json: {} };
  if (method === 'server/discover' && era === 'modern')
    return result({ ...self, supportedVersions: ['2026-07-28'], resultType: 'complete' });
  if (method === 'initialize' && era === 'legacy') return result({ ...self, protocolVersion: '2025-11-25' });
  return method === 'tools/call' ? error(Number(params?.name)) : error(-32_601);
}

test('old codes of servers of both eras, to clients of both', async (t) => {
  const start = (era: 'legacy' | 'modern') =>
    startRecordingUpstream(era, (recorded, response) => {
      const { status, json } = answerAs(era, recorded);
      if (status === 202) return void response.writeHead(202).end();
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    });
  const [older, newer] = await Promise.all([start('legacy'), start('modern')]);
  const urlOf = ({ port }: { readonly port: number }): string => `http://127.0.0.1:${port}/mcp`;
  const gateway = await startFederatedGateway({
    targets: { older: { url: urlOf(older) }, newer: { url: urlOf(newer) } },
  });
  t.after(async () => {
    await gateway.stop();
    await Promise.all([older.close(), newer.close()]);
  });
  const session = await initialize(gateway);
  for (const server of ['older', 'newer'])
    for (const [code, replaced] of [
      [-32_042, -32_603],
      [-32_002, -32_602],
      [-32_000, -32_000],
      // The client lacks a capability that the server needs.
      [-32_021, -32_021],
    ]) {
      const name = `${server}_${code}`;
      const { body, headers } = modern('tools/call', { name, arguments: {} });
      // eslint-disable-next-line no-await-in-loop
      const told = await post(gateway, body, { headers });
      assert.equal(printError(told), `${replaced} Not now.`, name);
      // The rest of the error stays.
      assert.deepEqual(told.messages[0]!.error!.data, { elicitations: [] });
      // Clients with sessions know these codes.
      // eslint-disable-next-line no-await-in-loop
      const legacy = await post(gateway, request('tools/call', { name, arguments: {} }), { session });
      assert.equal(printError(legacy), `${code} Not now.`, name);
    }
});
