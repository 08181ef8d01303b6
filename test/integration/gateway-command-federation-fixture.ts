// A federation as a controller sends it, and its first client.
import { create } from '@bufbuild/protobuf';
import { type Backend, BackendSchema, McpTransport, NamePrefix, SessionRouting, TargetFailureMode } from '../../src/ir/gen/config_pb.ts'; // prettier-ignore

export const key = 'ProxyBackend/n/all';

/** Servers on loopback, by name. */
export function federation(ports: Readonly<Record<string, number>>): Backend {
  const targets = Object.entries(ports).map(([name, port]) => ({
    server: {
      name,
      path: '/mcp',
      transport: McpTransport.STREAMABLE_HTTP,
      upstream: { endpoints: [{ host: '127.0.0.1', port }], hostHeader: `127.0.0.1:${port}`, connectTimeoutMs: 5_000 },
    },
    prefix: name,
    failureMode: TargetFailureMode.FAIL_OPEN,
  }));
  return create(BackendSchema, {
    key,
    kind: {
      case: 'federation',
      value: {
        targets,
        sessionRouting: SessionRouting.STATEFUL,
        namePrefix: NamePrefix.ALWAYS,
        serverInfo: { name: 'all' },
      },
    },
  });
}

/** Leads the gateway to all of its servers. */
export async function initializeAt(port: number): Promise<number> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
  const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  await answer.text();
  return answer.status;
}
