// The pages of the demo's identity provider: login, consent, and what went wrong. Plain HTML, no JavaScript.
import { escapeHtml } from '../base/escape-html.ts';
import type { DemoUser } from './demo-users.ts';

const style = `
:root { color-scheme: light dark; --line: light-dark(#d0d7de, #363d46); --back: light-dark(#f3f4f6, #101214); --card: light-dark(#fff, #1a1d21); --accent: light-dark(#0b57d0, #8ab4f8); --on: light-dark(#fff, #10151b); --bad: light-dark(#a40e26, #ff9aa2); --ink: light-dark(#1b1f24, #e8eaed); --soft: light-dark(#57606a, #a4adb8); }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: center; padding: 1.25rem 1rem; background: var(--back); color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
main { width: 100%; max-width: 26rem; padding: 1.75rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--card); }
h1 { font-size: 1.375rem; line-height: 1.3; margin: 0 0 .5rem; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: .9375rem; }
.issuer { margin: 0 0 1rem; font-size: .875rem; font-weight: 600; color: var(--soft); }
.note { margin: 1.25rem 0 0; padding-top: 1rem; border-top: 1px solid var(--line); }
.problem { color: var(--bad); font-weight: 600; }
form { margin: .75rem 0 0; }
button { width: 100%; min-height: 2.9rem; padding: .5rem 1rem; border: 1px solid var(--accent); border-radius: .6rem; font: inherit; font-weight: 600; background: var(--accent); color: var(--on); cursor: pointer; }
button + button { margin-top: .75rem; }
button small { display: block; font-size: .875rem; font-weight: 400; }
button.plain { border-color: var(--line); background: transparent; color: var(--ink); }
button.link { width: auto; min-height: 0; padding: 0; border: 0; background: none; color: var(--accent); font-weight: 400; text-decoration: underline; }
button:hover { filter: brightness(.95); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
ul { margin: .5rem 0; padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .4rem; }
li { padding: .1rem .55rem; border: 1px solid var(--line); border-radius: .5rem; font: .9rem/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@media (max-width: 30rem) { body { place-items: start center; } main { padding: 1.25rem; } }
`;

function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - demo identity provider</title><link rel="icon" href="data:,"><style>${style}</style></head>
<body><main><p class="issuer">Demo identity provider</p>
${body}</main></body></html>
`;
}

/** One button per user, so that trying the demo needs no typing. */
export function renderLogin(uid: string, clientName: string, users: readonly DemoUser[], problem?: string): string {
  const forms = users
    .map(
      (user) => `<form method="post" action="/interaction/${uid}/login">
<input type="hidden" name="user" value="${escapeHtml(user.id)}"><input type="hidden" name="password" value="${escapeHtml(user.password)}">
<button type="submit">Log in as ${escapeHtml(user.name)} <small>Groups: ${escapeHtml(user.groups.join(', '))}</small></button></form>`,
    )
    .join('\n');
  return renderPage(
    'Log in',
    `<h1>Log in</h1>
<p><strong><bdi>${escapeHtml(clientName)}</bdi></strong> asks who you are.</p>
${problem === undefined ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>`}
${forms}
<form method="post" action="/interaction/${uid}/cancel"><button class="plain" type="submit" name="action" value="cancel">Cancel</button></form>
<p class="soft note">This stands for your company's login. Its two users exist until the demo stops.</p>`,
  );
}

/** The content of the consent page. */
interface ConsentQuestion {
  readonly uid: string;
  readonly clientName: string;
  /** The user who is logged in. */
  readonly userName: string;
  readonly scopes: readonly string[];
  /** The resource that the token is for (RFC 8707). */
  readonly resource: string | undefined;
}

/** What the client wants, and the choice. */
export function renderConsent({ uid, clientName, userName, scopes, resource }: ConsentQuestion): string {
  return renderPage(
    'Allow access',
    `<h1>Allow access?</h1>
<p><strong><bdi>${escapeHtml(clientName)}</bdi></strong> wants to use ${resource === undefined ? 'the MCP server' : `<strong>${escapeHtml(resource)}</strong>`} for you.</p>
${scopes.length === 0 ? '' : `<p>It asks for:</p><ul role="list">${scopes.map((scope) => `<li>${escapeHtml(scope)}</li>`).join('')}</ul>`}
<form method="post" action="/interaction/${uid}/consent">
<button type="submit" name="action" value="allow">Allow</button>
<button class="plain" type="submit" name="action" value="cancel">Cancel</button></form>
<form class="note" method="post" action="/interaction/${uid}/switch"><p class="soft">You are logged in as ${escapeHtml(userName)}.
<button class="link" type="submit" name="action" value="switch">Log in as somebody else</button></p></form>`,
  );
}

/** Something that the user can only answer by starting anew. */
export function renderProblem(message: string): string {
  return renderPage(
    'Something went wrong',
    `<h1>This did not work</h1><p class="problem">${escapeHtml(message)}</p><p>Go back to the application and start again.</p>`,
  );
}
