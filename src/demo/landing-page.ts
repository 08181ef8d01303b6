// The demo's landing page: what runs, how to connect a client, and a button that talks MCP through the gateway.
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One running part of the demo and how to see whether it is up. */
export interface DemoPart {
  readonly name: string;
  readonly detail: string;
  readonly check: () => Promise<boolean>;
}

export interface LandingPageOptions {
  /** The MCP URL as clients reach it, through the gateway. */
  readonly mcpUrl: string;
  readonly adminUrl: string;
  readonly parts: readonly DemoPart[];
  /** A tool call that the page makes as an example. */
  readonly exampleCall: { readonly name: string; readonly arguments: object };
}

const style = readFileSync(new URL('./pages/demo.css', import.meta.url));
const script = readFileSync(new URL('./pages/demo.js', import.meta.url));

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The page as HTML. Works without JavaScript except for the button and the live state. */
export function renderLandingPage(options: LandingPageOptions): string {
  const url = escapeHtml(options.mcpUrl);
  const path = escapeHtml(new URL(options.mcpUrl).pathname);
  const clients: readonly (readonly [string, string])[] = [
    ['Claude Code', `claude mcp add --transport http demo ${options.mcpUrl}`],
    [
      'VS Code (.vscode/mcp.json)',
      JSON.stringify({ servers: { demo: { type: 'http', url: options.mcpUrl } } }, null, 2),
    ],
    ['Cursor (.cursor/mcp.json)', JSON.stringify({ mcpServers: { demo: { url: options.mcpUrl } } }, null, 2)],
    ['MCP Inspector', `npx @modelcontextprotocol/inspector --cli ${options.mcpUrl} --method tools/list`],
    [
      'curl',
      `curl -s ${options.mcpUrl} -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \\\n  -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'`,
    ],
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mcp-gateway demo</title>
<link rel="stylesheet" href="demo/demo.css">
<link rel="icon" href="data:,">
<script type="module" src="demo/demo.js"></script>
</head>
<body data-endpoint="${path}" data-call="${escapeHtml(JSON.stringify(options.exampleCall))}">
<main>
<h1>mcp-gateway demo</h1>
<p class="lead">A sample MCP server runs behind the gateway at <a href="${url}"><code>${url}</code></a>.</p>
<p class="note">For trying out only. It listens on loopback, keeps nothing, and does not ask for a login yet: authentication is not built yet.</p>

<h2 id="running">What is running</h2>
<ul class="parts" id="parts" aria-labelledby="running">
${options.parts.map((part) => `<li><strong>${escapeHtml(part.name)}</strong><span class="detail">${escapeHtml(part.detail)}</span></li>`).join('\n')}
</ul>
<p>The gateway's routes and configuration: <a href="${escapeHtml(options.adminUrl)}">${escapeHtml(options.adminUrl)}</a></p>

<h2>Try it here</h2>
<p>Opens an MCP session through the gateway, lists the tools, calls one, and ends the session.</p>
<p><button type="button" id="try">Talk MCP</button></p>
<ol class="steps" id="steps" aria-live="polite"></ol>

<h2>Connect a client</h2>
${clients.map(([name, text]) => `<h3>${escapeHtml(name)}</h3>\n<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`).join('\n')}
</main>
</body>
</html>
`;
}

async function describeParts(parts: readonly DemoPart[]): Promise<object> {
  const states = parts.map(async (part) => ({
    name: part.name,
    detail: part.detail,
    ok: await part.check().catch(() => false),
  }));
  return { parts: await Promise.all(states) };
}

/** Serves the page on loopback; the gateway stands in front of it like in front of any upstream. */
export async function startLandingPage(
  options: LandingPageOptions,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const page = renderLandingPage(options);
  const headers = {
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
  const server: Server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0];
    const send = (type: string, body: string | Buffer): void => {
      response.writeHead(200, { ...headers, 'content-type': type }).end(request.method === 'HEAD' ? undefined : body);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD')
      response.writeHead(405, { ...headers, allow: 'GET, HEAD' }).end();
    else if (path === '/') send('text/html; charset=utf-8', page);
    else if (path === '/demo/demo.css') send('text/css; charset=utf-8', style);
    else if (path === '/demo/demo.js') send('text/javascript; charset=utf-8', script);
    else if (path === '/demo/state.json')
      void describeParts(options.parts).then((state) => send('application/json', JSON.stringify(state)));
    else response.writeHead(404, { ...headers, 'content-type': 'text/plain' }).end('not found\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
