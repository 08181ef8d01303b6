// Serves the demo's landing page on loopback: the page with its assets, the state of the parts, and the rule that the page can change.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { findRuleVariant, ruleVariants } from './demo-rules.ts';
import { findForeignChange, findForeignRead } from './own-page-check.ts';
import { type DemoPart, type LandingPage, renderLandingPage } from './render-landing-page.ts';
import type { RuleSwitch } from './rule-switch.ts';

interface CheckedPart extends DemoPart {
  /** Whether it is up. */
  readonly check: () => Promise<boolean>;
}

interface LandingPageOptions extends Omit<LandingPage, 'rule'> {
  readonly parts: readonly CheckedPart[];
  readonly rules: RuleSwitch;
}

const assets = new Map(
  ['demo.css', 'demo.js', 'elements.js', 'login-flow.js', 'mcp-client.js', 'person-card.js', 'rule-panel.js'].map(
    (name) => [
      `/demo/${name}`,
      {
        type: name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
        body: readFileSync(new URL(`./pages/${name}`, import.meta.url)),
      },
    ],
  ),
);

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

/** Starts the page's server; the gateway stands in front of it like in front of any upstream. */
export async function startLandingPage(
  options: LandingPageOptions,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server: Server = createServer((request, response) => {
    serve(options, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { problem: error instanceof Error ? error.message : String(error) });
    });
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

async function serve(options: LandingPageOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://localhost');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const asset = assets.get(path);
  if (path === '/demo/rule' && request.method === 'POST') await changeRule(options, request, response);
  else if (!isRead)
    response.writeHead(405, { ...headers, allow: path === '/demo/rule' ? 'GET, HEAD, POST' : 'GET, HEAD' }).end();
  else if (path === '/' || path === '/demo/callback') {
    const page = renderLandingPage({ ...options, rule: await options.rules.read() });
    send(response, 200, 'text/html; charset=utf-8', page);
  } else if (asset !== undefined) send(response, 200, asset.type, asset.body);
  else if (path === '/demo/state.json') {
    const { variant } = await options.rules.read();
    sendJson(response, 200, { parts: await describeParts(options.parts), variant });
  } else if (path === '/demo/rule') sendJson(response, 200, await options.rules.read());
  else if (path === '/demo/reason.json') await answerReason(options, request, response, query.get('id') ?? '');
  else send(response, 404, 'text/plain', 'not found\n');
}

async function describeParts(parts: readonly CheckedPart[]): Promise<object[]> {
  return Promise.all(parts.map(async ({ name, url, check }) => ({ name, url, ok: await check().catch(() => false) })));
}

/** Puts a prepared variant of the rule into force. Nothing else of the gateway can be changed here. */
async function changeRule(
  { rules, mcpUrl }: LandingPageOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const foreign = findForeignChange(request.headers, readPort(mcpUrl));
  if (foreign !== undefined) return sendJson(response, 403, { problem: foreign });
  const variant = findRuleVariant(await readVariantId(request));
  if (variant === undefined) {
    const known = ruleVariants.map(({ id }) => id).join(', ');
    return sendJson(response, 400, { problem: `Send {"variant": "..."} with one of ${known}.` });
  }
  return sendJson(response, 200, await rules.choose(variant));
}

const maxBodyBytes = 1_024;

/** Undefined: the body names no variant, or is too large to do so. */
async function readVariantId(request: IncomingMessage): Promise<unknown> {
  let text = '';
  // The rest of a large body is read and dropped, so that the answer arrives.
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>)
    if (text.length <= maxBodyBytes) text += chunk;
  if (text.length > maxBodyBytes) return undefined;
  try {
    return (JSON.parse(text) as { readonly variant?: unknown } | null)?.variant;
  } catch {
    return undefined;
  }
}

/** What the page shows of a request in the journal. */
interface JournalExcerpt {
  readonly reason: string | null;
  readonly detail: string | null;
  readonly decisions: readonly {
    readonly step: string;
    readonly decidedBy: { readonly index: number; readonly expression: string } | null;
  }[];
}

/** Tells why the gateway answered a request as it did: what its request journal says for the operator. */
async function answerReason(
  { adminUrl, mcpUrl }: LandingPageOptions,
  request: IncomingMessage,
  response: ServerResponse,
  id: string,
): Promise<void> {
  const foreign = findForeignRead(request.headers, readPort(mcpUrl));
  if (foreign !== undefined) return sendJson(response, 403, { problem: foreign });
  if (!/^[\w-]{1,128}$/.test(id)) return sendJson(response, 400, { problem: 'id must be the id of a request.' });
  const answer = await fetch(`${adminUrl}/requests/${id}`, { headers: { accept: 'application/json' } });
  if (answer.status === 401) {
    const problem = 'The admin pages ask for a token (--admin-token-file). Open the request there to read the reason.';
    return sendJson(response, 401, { problem });
  }
  // 404: the request may not have ended yet.
  if (!answer.ok) return sendJson(response, answer.status, { problem: `The admin port answered ${answer.status}.` });
  const { reason, detail, decisions } = (await answer.json()) as JournalExcerpt;
  const { decidedBy } = decisions.find(({ step }) => step === 'backend.mcp.authorization') ?? { decidedBy: null };
  return sendJson(response, 200, { reason, detail, rule: decidedBy });
}

function readPort(url: string): number {
  return Number(new URL(url).port);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, 'application/json', JSON.stringify(body));
}

function send(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { ...headers, 'content-type': type });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
