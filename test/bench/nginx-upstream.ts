// The upstream of the benchmarks: nginx that answers every request with a small JSON, as cheaply as anything can, and some with more.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../kit/wait-for.ts';
import { type PinnedProcess, startPinned } from './pinned-process.ts';

/** What it answers everywhere else: the result of a tool, not always of the same length. */
export const formatAnswer = (floor: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    result: { content: [{ type: 'text', text: `Ticket 4711: The printer on the ${floor} floor is on fire.` }] },
  });
const floors = ['first', 'second', 'third', 'fifth', 'seventh', 'eleventh', 'thirteenth', 'seventeenth'];

/** Matches its answers. */
export const answerPattern =
  /^\{"jsonrpc":"2.0","id":1,"result":.*"Ticket 4711: The printer on the \w+ floor is on fire\."\}\]\}\}$/;

/** An MCP server with sessions: it says who it is, and answers as everywhere in a session. */
export const legacyServerPath = '/server/legacy';
/** The same of 2026-07-28, which has no sessions. It tells by header fields what it is asked. */
export const modernServerPath = '/server/modern';
const serverInfo = { name: 'bench', version: '1.0' };
const initialized = JSON.stringify({
  jsonrpc: '2.0',
  id: 'initialize',
  result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
});
const discovered = JSON.stringify({
  jsonrpc: '2.0',
  id: 'discover',
  result: {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  },
});

/** Answers a GET with so many bytes. */
export function sizedPath(bytes: number): string {
  return `/mcp/sized/${bytes}`;
}

/** Answers as everywhere, but not before it has read the request to its end. */
export const uploadPath = '/mcp/upload';

export interface UpstreamOptions {
  readonly nginx: string;
  readonly taskset: string;
  readonly core: number;
  readonly port: number;
  /** For its files; it must be there. */
  readonly folder: string;
  /** The sizes that it can answer with. */
  readonly sizes?: readonly number[];
}

/** Starts it, and resolves when it answers. */
export async function startNginxUpstream(options: UpstreamOptions): Promise<PinnedProcess> {
  const { nginx, taskset, core, port } = options;
  const folder = join(options.folder, 'nginx');
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'nginx.conf');
  await writeFile(file, formatConfiguration(port, folder));
  await mkdir(join(folder, 'sized'));
  for (const bytes of options.sizes ?? []) await writeFile(join(folder, 'sized', String(bytes)), 'x'.repeat(bytes));
  const upstream = startPinned({ taskset, core, command: nginx, args: ['-e', 'stderr', '-p', folder, '-c', file] });
  await waitFor(async () => {
    if (upstream.exitCode() !== undefined) throw new Error(`nginx ended:\n${upstream.readErrors()}`);
    return (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined))?.status === 200;
  });
  return upstream;
}

function formatConfiguration(port: number, folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_max_body_size 0;
  client_body_buffer_size 2m;
  split_clients $connection_requests $floor {
    ${floors.map((floor, each) => `${each < floors.length - 1 ? `${100 / floors.length}%` : '*'} ${floor};`).join('\n    ')}
  }
  map $http_mcp_session_id $legacy_answer {
    "" '${initialized}';
    default '${formatAnswer('$floor')}';
  }
  map $http_mcp_method $modern_answer {
    server/discover '${discovered}';
    default '${formatAnswer('$floor')}';
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = ${legacyServerPath} {
      default_type application/json;
      if ($http_mcp_method) { return 400; }
      add_header Mcp-Session-Id bench;
      return 200 $legacy_answer;
    }
    location = ${modernServerPath} { default_type application/json; return 200 $modern_answer; }
    location /mcp/sized/ { alias ${folder}/sized/; default_type application/json; }
    location = ${uploadPath} {
      # To itself, without the body: for that it reads it first.
      proxy_pass http://127.0.0.1:${port}/;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
    }
    location / { default_type application/json; return 200 '${formatAnswer('$floor')}'; }
  }
}
`;
}
