// The demo's landing page: what runs, how to connect a client, and a button that talks MCP through the gateway.
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { escapeHtml } from '../base/escape-html.ts';

/** One running part of the demo and how to see whether it is up. */
interface DemoPart {
  readonly name: string;
  readonly url: string;
  /** A few words on what it is. */
  readonly detail: string;
  readonly check: () => Promise<boolean>;
}

interface LandingPageOptions {
  /** The MCP URL as clients reach it, through the gateway. */
  readonly mcpUrl: string;
  readonly adminUrl: string;
  readonly parts: readonly DemoPart[];
  /** A tool call that the page makes as an example. */
  readonly exampleCall: { readonly name: string; readonly arguments: object };
}

const assets = new Map(
  ['demo.css', 'demo.js', 'login-flow.js', 'mcp-client.js'].map((name) => [
    `/demo/${name}`,
    {
      type: name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
      body: readFileSync(new URL(`./pages/${name}`, import.meta.url)),
    },
  ]),
);

/** The page as HTML. Works without JavaScript except for the button and the live state. */
function renderLandingPage(options: LandingPageOptions): string {
  const url = escapeHtml(options.mcpUrl);
  const path = escapeHtml(new URL(options.mcpUrl).pathname);
  const clients: readonly (readonly [string, string])[] = [
    ['Claude Code', `claude mcp add --transport http demo ${options.mcpUrl}`],
    [
      'VS Code (.vscode/mcp.json)',
      JSON.stringify({ servers: { demo: { type: 'http', url: options.mcpUrl } } }, null, 2),
    ],
    ['Cursor (.cursor/mcp.json)', JSON.stringify({ mcpServers: { demo: { url: options.mcpUrl } } }, null, 2)],
    ['mcp-gatehouse login, which tells every step', `npx mcp-gatehouse login ${options.mcpUrl}`],
    [
      'curl, to see the 401',
      `curl -si ${options.mcpUrl} \\\n  -H 'content-type: application/json' \\\n  -d '{"jsonrpc":"2.0","id":1,"method":"ping"}'`,
    ],
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mcp-gatehouse demo</title>
<link rel="stylesheet" href="/demo/demo.css">
<link rel="icon" href="data:,">
<script type="module" src="/demo/demo.js"></script>
</head>
<body data-endpoint="${path}" data-call="${escapeHtml(JSON.stringify(options.exampleCall))}">
<main>
<h1>mcp-gatehouse demo</h1>
<p class="lead">A sample MCP server, protected by OAuth 2.0, runs behind the gateway at <code>${url}</code></p>
<p class="note">For trying out only. Everything listens on loopback. The identity provider's keys were made when the demo started and go when it stops.</p>

<h2 id="running">What is running</h2>
<ul class="parts" id="parts" role="list" aria-labelledby="running">
${options.parts.map((part) => `<li><strong>${escapeHtml(part.name)}</strong> <span class="state"></span><span class="detail"><code>${escapeHtml(part.url)}</code> ${escapeHtml(part.detail)}</span></li>`).join('\n')}
</ul>
<p>Look inside: <a href="${escapeHtml(options.adminUrl)}/flows">the flow inspector</a> shows every login step by step,
<a href="${escapeHtml(options.adminUrl)}">the admin page</a> routes and configuration.</p>

<h2>Try it in the browser</h2>
<p>This page becomes an MCP client: it is refused, finds out where to log in, registers, sends you to the login page (be Alice or Bob),
gets a token, lists the tools and calls one. Each step is shown.</p>
<p><button type="button" id="try">Log in and talk MCP</button></p>
<noscript><p>The button needs JavaScript. The lines below do not.</p></noscript>
<p class="result" id="result" role="status" tabindex="-1"></p>
<ol class="steps" id="steps" role="list"></ol>
<p id="inspect" hidden>The gateway's view of the same login: <a href="${escapeHtml(options.adminUrl)}/flows?q=Demo+page">in the flow inspector</a>.</p>

<h2>Connect a client</h2>
${clients.map(([name, text]) => `<h3>${escapeHtml(name)}</h3>\n<div class="copy" data-name="${escapeHtml(name)}"><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>`).join('\n')}
</main>
</body>
</html>
`;
}

async function describeParts(parts: readonly DemoPart[]): Promise<object> {
  const states = parts.map(async (part) => ({
    name: part.name,
    url: part.url,
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
    const path = (request.url ?? '/').split('?')[0]!;
    const asset = assets.get(path);
    const send = (type: string, body: string | Buffer): void => {
      response.writeHead(200, { ...headers, 'content-type': type }).end(request.method === 'HEAD' ? undefined : body);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD')
      response.writeHead(405, { ...headers, allow: 'GET, HEAD' }).end();
    else if (path === '/' || path === '/demo/callback') send('text/html; charset=utf-8', page);
    else if (asset !== undefined) send(asset.type, asset.body);
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
