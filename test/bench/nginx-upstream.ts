// The upstream of the benchmarks: nginx that answers every request with the same small JSON, as cheaply as anything can.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../integration/run-gateway.ts';
import { type PinnedProcess, startPinned } from './pinned-process.ts';

/** What it answers: the result of a tool. */
export const answerBody = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: { content: [{ type: 'text', text: 'Ticket 4711: The printer on the second floor is on fire.' }] },
});

export interface UpstreamOptions {
  readonly nginx: string;
  readonly taskset: string;
  readonly core: number;
  readonly port: number;
  /** For its files; it must be there. */
  readonly folder: string;
}

/** An upstream that runs. */
export interface NginxUpstream extends PinnedProcess {
  /** All requests so far, this one not counted. */
  countRequests(): Promise<number>;
}

/** Starts it, and resolves when it answers. */
export async function startNginxUpstream(options: UpstreamOptions): Promise<NginxUpstream> {
  const { nginx, taskset, core, port } = options;
  const folder = join(options.folder, 'nginx');
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'nginx.conf');
  await writeFile(file, formatConfiguration(port, folder));
  const upstream = startPinned({ taskset, core, command: nginx, args: ['-e', 'stderr', '-p', folder, '-c', file] });
  await waitFor(async () => {
    if (upstream.exitCode() !== undefined) throw new Error(`nginx ended:\n${upstream.readErrors()}`);
    return (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined))?.status === 200;
  });
  let own = 0;
  return {
    ...upstream,
    async countRequests() {
      own += 1;
      const text = await (await fetch(`http://127.0.0.1:${port}${statusPath}`)).text();
      // Connections that were accepted, connections that were handled, requests.
      const match = /^ \d+ \d+ (\d+) $/m.exec(text);
      if (match === null) throw new Error(`nginx says nothing that we know: ${text}`);
      return Number(match[1]) - own;
    },
  };
}

const statusPath = '/nginx-status';

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
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = ${statusPath} { stub_status; }
    location / { default_type application/json; return 200 '${answerBody}'; }
  }
}
`;
}
