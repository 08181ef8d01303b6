// The sample server of the demo does what its tools say, in both forms of the protocol, and keeps its manners over HTTP.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { request } from 'undici';
import { type SampleServer, startSampleServer } from '../../src/demo/sample-mcp-server.ts';

let server: SampleServer;

before(async () => {
  server = await startSampleServer({ host: '127.0.0.1', port: 0 });
});

after(() => server.close());

interface Answer {
  readonly structured: Record<string, unknown> | undefined;
  readonly text: string;
  readonly isError: boolean;
}

async function callTool(client: Client, name: string, args: Record<string, unknown>): Promise<Answer> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
  const [block] = content;
  const structured = structuredContent as Record<string, unknown> | undefined;
  return { structured, text: block?.type === 'text' ? block.text : '', isError: isError === true };
}

for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
  describe(mode === 'legacy' ? 'with sessions' : 'with protocol version 2026-07-28', () => {
    let client: Client;

    before(async () => {
      client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
      await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
    });

    after(() => client.close());

    test('every tool has a title, a description, and says whether it changes anything', async () => {
      const { tools } = await client.listTools();
      assert.equal(tools.length, 7);
      for (const tool of tools) {
        assert.ok((tool.title ?? '').length > 3, tool.name);
        assert.match(tool.description ?? '', /^[A-Z].+\.$/, tool.name);
        assert.equal(typeof tool.annotations?.readOnlyHint, 'boolean', tool.name);
      }
    });

    test('time, text and units', async () => {
      const time = await callTool(client, 'current_time', { zone: 'Asia/Kolkata' });
      assert.equal(time.structured?.['offset'], 'GMT+05:30');
      const wrong = await callTool(client, 'current_time', { zone: 'Mars/Olympus' });
      assert.ok(wrong.isError);
      assert.match(wrong.text, /"Mars\/Olympus" is not a time zone/);

      const statistics = await callTool(client, 'text_statistics', { text: 'One two. Three?\nFour 👩‍🚀' });
      assert.deepEqual(statistics.structured, { characters: 22, words: 4, sentences: 3, lines: 2, readingMinutes: 0 });

      const converted = await callTool(client, 'convert_units', { value: 10, from: 'km', to: 'mi' });
      assert.deepEqual(converted.structured, { value: 6.213711922, unit: 'mi', quantity: 'length' });
      assert.match((await callTool(client, 'convert_units', { value: 1, from: 'km', to: 'kg' })).text, /length.*mass/);
    });

    test('tickets are opened, listed, read and closed', async () => {
      const opened = await callTool(client, 'ticket_create', { title: 'No coffee', priority: 'high' });
      const id = opened.structured?.['id'] as string;
      assert.match(id, /^T-\d+$/);
      const listed = await callTool(client, 'ticket_list', {});
      assert.ok(listed.text.includes(`${id} [high, open] No coffee`));

      const uri = `tickets://ticket/${id}`;
      const { contents } = await client.readResource({ uri });
      const [content] = contents;
      const ticket: unknown = JSON.parse(content !== undefined && 'text' in content ? content.text : '');
      assert.deepEqual(ticket, { id, title: 'No coffee', priority: 'high', status: 'open' });
      await assert.rejects(client.readResource({ uri: 'tickets://ticket/T-0' }), /not found/i);
      const prompt = await client.getPrompt({ name: 'triage_tickets', arguments: { focus: 'coffee' } });
      assert.ok(JSON.stringify(prompt.messages).includes('No coffee'));

      const closed = await callTool(client, 'ticket_close', { id, resolution: 'Bought some' });
      assert.deepEqual(closed.structured?.['status'], 'closed');
      assert.ok((await callTool(client, 'ticket_close', { id, resolution: 'Again' })).isError);
      assert.ok(!(await callTool(client, 'ticket_list', {})).text.includes(id));
    });

    test('the report tells how far it is', async () => {
      const progress: unknown[] = [];
      const options = { onprogress: (update: unknown) => void progress.push(update) };
      await client.callTool({ name: 'desk_report', arguments: { steps: 2, secondsPerStep: 0 } }, options);
      assert.deepEqual(progress, [
        { progress: 1, total: 2, message: 'Step 1 of 2 is done.' },
        { progress: 2, total: 2, message: 'Step 2 of 2 is done.' },
      ]);
    });
  });
}

describe('over HTTP', () => {
  const accept = 'application/json, text/event-stream';
  const headers = { accept, 'content-type': 'application/json' };

  async function post(body: string, more: Record<string, string> = {}): Promise<number> {
    const response = await request(server.url, { method: 'POST', headers: { ...headers, ...more }, body });
    await response.body.dump();
    return response.statusCode;
  }

  test('what is not MCP gets a clear answer', async () => {
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    assert.equal(await post('{'), 400);
    assert.equal(await post(list), 400);
    assert.equal(await post(list, { 'mcp-session-id': 'gone' }), 404);
    assert.equal(await post('x'.repeat(5 * 1024 * 1024)), 413);
    const elsewhere = await fetch(new URL('/', server.url));
    assert.equal(elsewhere.status, 404);
    await elsewhere.body?.cancel();
  });

  test('a page from elsewhere cannot reach it through the browser', async () => {
    const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
    assert.equal(await post(initialize, { origin: 'https://evil.example.com' }), 403);
    assert.equal(await post(initialize, { host: 'evil.example.com' }), 403);
  });
});
