// The end of the flow: the MCP server with the token, from initialize to the list of tools.
import { findBearerChallenge } from '../../gateway/authentication/challenge.ts';
import { adviseOnIssuer } from './advise-on-issuer.ts';
import { call, endSession, initialize, type McpSession, readRpcResult } from './ask-server.ts';
import type { FoundToken } from './exchange-code.ts';
import { explainTokenRefusal } from './explain-token-refusal.ts';
import type { Narrator } from './narration.ts';
import { endSentence, joinSaid } from './sentence.ts';
import { type Answer, readJsonObject, readString, showRequestId } from './told-fetch.ts';

export interface Tool {
  readonly name: string;
  readonly description: string;
}

const maxPages = 20;

/** Step 7. Undefined: it failed. `token` is undefined for a server that needs none. */
export async function listTools(
  narrator: Narrator,
  url: string,
  token: FoundToken | undefined,
  resource: string | undefined,
): Promise<readonly Tool[] | undefined> {
  const standard = token === undefined ? 'MCP, Streamable HTTP' : 'RFC 6750 2.1, MCP';
  narrator.begin(token === undefined ? 'Ask the MCP server' : 'Ask again, with the token', standard);
  const session: McpSession = { url, accessToken: token?.accessToken, sessionId: undefined, version: undefined };
  const asked = await initialize(narrator, session);
  if (!asked.ok) {
    narrator.find('bad', `The server cannot be reached: ${endSentence(asked.problem)}`, asked.advice);
    return undefined;
  }
  if (asked.answer.status !== 200) {
    explainRefusal(narrator, asked.answer, token, resource);
    return undefined;
  }
  const initialized = readRpcResult(asked.answer);
  if (!initialized.ok) {
    narrator.find(
      'bad',
      `The login works, but the MCP server does not: ${endSentence(initialized.problem)}`,
      mcpAdvice,
    );
    return undefined;
  }
  session.sessionId = asked.answer.headers.get('mcp-session-id') ?? undefined;
  session.version = readString(initialized.result, 'protocolVersion');
  narrator.find('good', `${describeServer(initialized.result)} lets us in.`);
  await call(narrator, session, 'notifications/initialized', {});
  try {
    return await readPages(narrator, session);
  } finally {
    await endSession(narrator, session);
  }
}

async function readPages(narrator: Narrator, session: McpSession): Promise<readonly Tool[] | undefined> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const asked = await call(narrator, session, 'tools/list', cursor === undefined ? {} : { cursor });
    const listed = asked.ok ? readRpcResult(asked.answer) : asked;
    if (!listed.ok) {
      narrator.find('bad', `tools/list failed: ${endSentence(listed.problem)}`, mcpAdvice);
      return undefined;
    }
    const items: unknown = listed.result['tools'];
    for (const item of Array.isArray(items) ? (items as unknown[]) : []) {
      const tool = typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : undefined;
      const name = readString(tool, 'name');
      if (name !== undefined) tools.push({ name, description: readString(tool, 'description') ?? '' });
    }
    cursor = readString(listed.result, 'nextCursor');
    if (cursor === undefined) break;
  }
  narrator.find('good', tools.length === 1 ? '1 tool.' : `${tools.length} tools.`);
  return tools;
}

const mcpAdvice = 'This is a matter of the MCP server, not of the login. Its log may say more.';

function describeServer(result: Readonly<Record<string, unknown>>): string {
  const info: unknown = result['serverInfo'];
  const server = typeof info === 'object' && info !== null ? (info as Record<string, unknown>) : undefined;
  const name = [readString(server, 'name'), readString(server, 'version')]
    .filter((part) => part !== undefined)
    .join(' ');
  const version = readString(result, 'protocolVersion');
  return `${name === '' ? 'The server' : name}${version === undefined ? '' : ` (MCP ${version})`}`;
}

/** A token that was just given out and is refused: the most common end of all, so say which of the two is wrong. */
function explainRefusal(
  narrator: Narrator,
  { status, headers, text, clockOffsetMs }: Answer,
  token: FoundToken | undefined,
  resource: string | undefined,
): void {
  const document = readJsonObject(text);
  const bearer = findBearerChallenge(headers.get('www-authenticate') ?? '');
  const error = bearer?.parameters.get('error');
  const why = bearer?.parameters.get('error_description') ?? readString(document, 'error_description');
  const said = joinSaid(error, why);
  const answered = endSentence(`The server answers ${status}${said === '' ? '' : `: ${said}`}`);
  const explained =
    status === 401 && token !== undefined
      ? explainTokenRefusal({ token, said, resource, serverClockMs: clockOffsetMs })
      : undefined;
  if (explained?.isSaid === true) narrator.find('bad', `${answered} ${explained.text}`, explained.advice);
  else narrator.find('bad', answered, adviseOnIssuer(why ?? '') ?? adviseOnRefusal(status, error));
  showRequestId(narrator, document);
  const scope = bearer?.parameters.get('scope');
  if (status === 403 && scope !== undefined) narrator.show('scope needed', scope);
  if (explained?.isSaid === false) narrator.find('remark', explained.text, explained.advice);
}

function adviseOnRefusal(status: number, error: string | undefined): string {
  if (status === 401)
    return 'The authorization server and the resource do not agree about tokens: issuer, audience or keys.';
  if (error === 'insufficient_scope')
    return 'The token lacks a scope: --scope "..." asks for it, if this user may have it.';
  if (status === 403) return 'The token is good, but this user may not: an authorization rule.';
  if (status === 404) return 'The path needs no token to be wrong. Is it right?';
  return status >= 500 ? 'The server, or what stands before it, is in trouble. Its log may say more.' : mcpAdvice;
}
