// An MCP server that answers everything and remembers what it got: for tests that ask what reached it.
import { type RecordingUpstream, startRecordingUpstream } from './recording-upstream.ts';

/** Starts it. `initialize` gets a session. */
export function startMcpUpstream(): Promise<RecordingUpstream> {
  let sessions = 0;
  return startRecordingUpstream('mcp', (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(request.method === 'DELETE' ? 204 : 405).end();
      return;
    }
    let message: { id?: unknown; method?: unknown } = {};
    try {
      message = JSON.parse(request.body) as typeof message;
    } catch {
      // Answered all the same: what matters is that it arrived.
    }
    if (message.method === 'initialize') {
      sessions += 1;
      response.setHeader('mcp-session-id', `session-${sessions}`);
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id ?? null, result: { tools: [] } }));
  });
}
