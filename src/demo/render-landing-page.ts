// The demo's landing page as HTML: who sees which tools, the rule behind it, what runs, and how to connect a client.
import { escapeHtml } from '../base/escape-html.ts';
import { type DemoUser, demoUsers } from './demo-users.ts';

/** One running part of the demo. */
export interface DemoPart {
  readonly name: string;
  readonly url: string;
  /** A few words on what it is. */
  readonly detail: string;
}

/** What the page shows. */
export interface LandingPage {
  /** The MCP URL as clients reach it, through the gateway. */
  readonly mcpUrl: string;
  readonly adminUrl: string;
  readonly parts: readonly DemoPart[];
  /** A tool call that every login makes as an example. */
  readonly exampleCall: { readonly name: string; readonly arguments: object };
  readonly rule: { readonly yaml: string };
}

/** The page. Without JavaScript it explains, but nobody can log in. */
export function renderLandingPage(page: LandingPage): string {
  const admin = escapeHtml(page.adminUrl);
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
<body data-endpoint="${escapeHtml(new URL(page.mcpUrl).pathname)}" data-call="${escapeHtml(JSON.stringify(page.exampleCall))}" data-admin="${admin}">
<main>
<h1>mcp-gatehouse demo</h1>
<p class="lead">Two MCP servers behind one URL, two people, two lists of tools. The gateway decides by a rule that you can read and change here.</p>

<h2>Who sees which tools, and why</h2>
<p>Log in as Alice, then as Bob: this page is the MCP client of both. Then change the rule and watch the lists.</p>
<noscript><p class="note">Logging in needs JavaScript. The rule and the commands below do not.</p></noscript>
<p class="result" id="result" role="status" tabindex="-1"></p>
<div class="stage">
${demoUsers.map(renderPerson).join('\n')}
<section class="card rule" aria-labelledby="rule-heading">
<h3 id="rule-heading">The rule in force</h3>
<p class="soft">Change it: the gateway takes it over as it does a changed file, and tells both sessions.</p>
<div class="buttons" id="rule-buttons"></div>
<p class="live" id="rule-state" role="status"></p>
<pre tabindex="0" id="rule"><code>${escapeHtml(page.rule.yaml)}</code></pre>
</section>
</div>

<section id="flow" hidden>
<h2>How the login went, step by step</h2>
<ol class="steps" id="steps" role="list"></ol>
<p id="inspect">The gateway's view of the same login: <a href="${admin}/flows?q=Demo+page">in the flow inspector</a>.</p>
</section>

<h2>Connect a client</h2>
<p>Both servers are at <code>${escapeHtml(page.mcpUrl)}</code>. A client goes through the same login, and sees the tools of the person who logs in.</p>
${listClients(page.mcpUrl)
  .map(
    ([name, text]) =>
      `<h3>${escapeHtml(name)}</h3>\n<div class="copy" data-name="${escapeHtml(name)}"><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>`,
  )
  .join('\n')}

<h2 id="running">What is running</h2>
<ul class="parts" id="parts" role="list" aria-labelledby="running">
${page.parts.map((part) => `<li><strong>${escapeHtml(part.name)}</strong> <span class="state"></span><span class="detail"><code>${escapeHtml(part.url)}</code> ${escapeHtml(part.detail)}</span></li>`).join('\n')}
</ul>
<p>Look inside: <a href="${admin}/requests">the requests</a> and what the rule said about each,
<a href="${admin}/flows">the flow inspector</a> with every login step by step, <a href="${admin}">the admin page</a> with routes and configuration.</p>
<p class="note">For trying out only. Everything listens on loopback. The identity provider's keys were made when the demo started and go when it stops.</p>
</main>
</body>
</html>
`;
}

/** The card of one person; scripts fill it after the login. */
function renderPerson({ id, name, groups }: DemoUser): string {
  const first = name.split(' ')[0]!;
  return `<section class="card person" data-user="${escapeHtml(id)}" data-name="${escapeHtml(first)}" aria-labelledby="name-${escapeHtml(id)}">
<h3 id="name-${escapeHtml(id)}">${escapeHtml(name)} <span class="presence"></span></h3>
<p class="soft">Groups: ${groups.map((group) => `<code>${escapeHtml(group)}</code>`).join(', ')}</p>
<div class="login">
<p>Not logged in. Without a token the gateway answers 401, and shows no tools.</p>
<p><button type="button" class="log-in">Log in as ${escapeHtml(first)}</button></p>
</div>
<div class="session" hidden>
<p class="count"></p>
<ul class="tools" role="list"></ul>
<p class="why soft"></p>
<p class="live" role="status"></p>
<div class="buttons"><button type="button" class="small try">Call support_ticket_close</button> <button type="button" class="small log-out">Log out</button></div>
<div class="call" role="status"></div>
</div>
</section>`;
}

function listClients(mcpUrl: string): readonly (readonly [string, string])[] {
  return [
    ['Claude Code', `claude mcp add --transport http demo ${mcpUrl}`],
    ['VS Code (.vscode/mcp.json)', JSON.stringify({ servers: { demo: { type: 'http', url: mcpUrl } } }, null, 2)],
    ['Cursor (.cursor/mcp.json)', JSON.stringify({ mcpServers: { demo: { url: mcpUrl } } }, null, 2)],
    ['mcp-gatehouse login, which tells every step', `npx mcp-gatehouse login ${mcpUrl}`],
    [
      'curl, to see the 401',
      `curl -si ${mcpUrl} \\\n  -H 'content-type: application/json' \\\n  -d '{"jsonrpc":"2.0","id":1,"method":"ping"}'`,
    ],
  ];
}
