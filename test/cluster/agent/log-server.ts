// The node's port for the API server, as far as logs go: `kubectl logs`, and whoever else reads them through the API, ends here.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { createCertificate } from '../../self-signed-certificate.ts';

/** Where the API server finds it, as the Node's status says. */
export const logServerPort = 10_250;

/** What this small server does not do; it says so in place of giving something else. */
const unsupported = ['follow', 'previous', 'timestamps', 'limitBytes', 'stream'];

/** Serves the files that containers write to. */
export async function startLogServer(address: string, logFolder: string): Promise<void> {
  // The API server does not look at the certificate: nobody told it whom a kubelet's should be from.
  const server = createServer(createCertificate({ names: [address] }), (request, response) => {
    void answer(request.url ?? '/', logFolder).then(({ status, text }) =>
      response.writeHead(status, { 'content-type': 'text/plain' }).end(text),
    );
  });
  server.listen(logServerPort, address);
  await once(server, 'listening');
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function answer(target: string, logFolder: string): Promise<Answer> {
  const [pathname = '', query = ''] = target.split('?', 2);
  const searchParams = new URLSearchParams(query);
  const parts = /^\/containerLogs\/([a-z0-9-]+)\/([a-z0-9.-]+)\/([a-z0-9-]+)$/.exec(pathname);
  if (parts === null) return { status: 404, text: `This node only serves /containerLogs, not ${pathname}.\n` };
  const option = unsupported.find((name) => (searchParams.get(name) ?? 'false') !== 'false');
  if (option !== undefined) return { status: 400, text: `The logs of this node cannot be had with ${option}.\n` };
  const [, namespace = '', pod = '', container = ''] = parts;
  // Lines carry no time here: with sinceTime and sinceSeconds, too, it is all of them.
  const text = await readFile(join(logFolder, namespace, `${pod}.${container}.log`), 'utf8').catch(() => '');
  const count = searchParams.get('tailLines');
  return { status: 200, text: count === null ? text : takeLastLines(text, Number(count)) };
}

function takeLastLines(text: string, count: number): string {
  const lines = text.split(/(?<=\n)/);
  return lines.slice(Math.max(lines.length - count, 0)).join('');
}
