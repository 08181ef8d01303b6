// What clients do with ten real servers behind one endpoint: one function per row of the page, with assertions on what each server answers.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { waitFor } from '../kit/wait-for.ts';
import type { Answer, DrivenClient } from '../mcp/sdk-clients.ts';

/** A client at the endpoint, and what is behind it. */
export interface FederationContext {
  readonly client: DrivenClient;
  /** Speaks 2026-07-28. */
  readonly stateless: boolean;
  /** The prefixes of all servers. */
  readonly servers: readonly string[];
  /** What the servers look at (real-servers.ts). */
  readonly folder: string;
  readonly pages: WebPages;
  /** Of the client, for what it asks twice of one server. */
  readonly name: string;
  readonly root: string;
}

/** A row of the page. */
export interface FederationScenario {
  readonly title: string;
  /** 2026-07-28 has no such thing. */
  readonly needsSession?: true;
  /** Resolves with nothing where it works, and with the reason where it is found to be impossible as it has to be. */
  readonly run: (context: FederationContext) => Promise<string | void>;
}

const questionsStay =
  'Questions of a server reach clients of its own kind of versions only: the gateway does not offer them to server-everything here, which then has no tool that asks.';
const neverTold = 'The library does not tell the server that nobody waits for the call any more.';

type ListMethod = 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list';

interface Named {
  readonly name: string;
  readonly uri: string;
  readonly uriTemplate: string;
}

interface Content extends Named {
  readonly type: string;
  readonly text: string;
  readonly resource: Content;
}

/** A list of an answer. */
function listOf(answer: Answer, member: string): readonly Content[] {
  const list = answer[member];
  assert.ok(Array.isArray(list), `${member} is missing in ${JSON.stringify(answer)}`);
  return list as Content[];
}

/** A list of all servers. One that takes 15 seconds, as a server that is started for the request may on a busy machine, is left out for half a minute. */
function askAll(
  { client }: FederationContext,
  method: ListMethod,
  params: Record<string, unknown> = {},
): Promise<Answer> {
  return waitFor(
    `${method} of all servers`,
    async () => {
      const answer = await client.ask(method, params);
      return (answer['_meta'] as Answer | undefined)?.['gateway.proxy/unavailable'] === undefined && answer;
    },
    { intervalMs: 1_000 },
  );
}

async function listTools(context: FederationContext): Promise<readonly string[]> {
  return listOf(await askAll(context, 'tools/list'), 'tools').map(({ name }) => name);
}

/** All pages. */
async function listPages(
  context: FederationContext,
  method: 'resources/list' | 'resources/templates/list',
): Promise<readonly Named[]> {
  const items: Named[] = [];
  for (let cursor: unknown; ;) {
    const answer = await askAll(context, method, cursor === undefined ? {} : { cursor });
    items.push(...listOf(answer, method === 'resources/list' ? 'resources' : 'resourceTemplates'));
    cursor = answer['nextCursor'];
    if (cursor === undefined || cursor === null) return items;
  }
}

async function call(context: FederationContext, name: string, args: Record<string, unknown>): Promise<string> {
  const answer = await context.client.callFully(name, args);
  const text = listOf(answer, 'content')
    .map((block) => block.text ?? '')
    .join('\n');
  assert.notEqual(answer['isError'], true, text);
  return text;
}

async function read({ client }: FederationContext, uri: string): Promise<string> {
  const [content] = listOf(await client.ask('resources/read', { uri }), 'contents');
  assert.equal(content?.uri, uri);
  return content.text;
}

const callsOfServers: readonly (readonly [name: string, run: (context: FederationContext) => Promise<void>])[] = [
  [
    'everything',
    async (context) => {
      assert.equal(await call(context, 'everything_get-sum', { a: 2, b: 40 }), 'The sum of 2 and 40 is 42.');
    },
  ],
  [
    'budget',
    async (context) => {
      assert.match(await call(context, 'budget_get-budget-data', {}), /Default Budget: \$100,000/);
    },
  ],
  [
    'files',
    async (context) => {
      const path = join(context.folder, 'notes', 'shopping.txt');
      const answer = await context.client.callFully('files_read_text_file', { path });
      assert.deepEqual(answer['structuredContent'], { content: 'bread and salt\n' });
    },
  ],
  [
    'memory',
    async (context) => {
      const entity = { name: context.name, entityType: 'client', observations: ['was here'] };
      await call(context, 'memory_create_entities', { entities: [entity] });
      const found = await call(context, 'memory_open_nodes', { names: [context.name] });
      assert.deepEqual(JSON.parse(found), { entities: [entity], relations: [] });
    },
  ],
  [
    'thinking',
    async (context) => {
      const thought = { thought: 'Begin.', thoughtNumber: 1, totalThoughts: 7, nextThoughtNeeded: true };
      const answer = JSON.parse(await call(context, 'thinking_sequentialthinking', thought)) as {
        totalThoughts: number;
      };
      assert.equal(answer.totalThoughts, 7);
    },
  ],
  [
    'web',
    async (context) => {
      const url = context.pages.addPage(`A page for ${context.name}.`);
      assert.match(await call(context, 'web_fetch', { url }), new RegExp(`A page for ${context.name}\\.`));
    },
  ],
  [
    'time',
    async (context) => {
      const args = { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' };
      assert.match(await call(context, 'time_convert_time', args), /T21:00:00\+09:00/);
    },
  ],
  [
    'git',
    async (context) => {
      const log = await call(context, 'git_git_log', { repo_path: join(context.folder, 'repository') });
      assert.match(log, /Message: The first stone/);
    },
  ],
  [
    'sqlite',
    async (context) => {
      assert.match(await call(context, 'sqlite_read_query', { query: 'SELECT 6 * 7 AS answer' }), /'answer': 42/);
    },
  ],
  [
    'duckdb',
    async (context) => {
      const answer = JSON.parse(
        await call(context, 'duckdb_execute_query', { sql: 'SELECT 6 * 9 AS answer' }),
      ) as object;
      assert.deepEqual({ ...answer, rows: undefined }, { ...answer, rows: undefined, success: true });
      assert.match(JSON.stringify(answer), /"rows":\[\[54\]\]/);
    },
  ],
];

const document = 'everything+demo://resource/static/document/features.md';

/** All rows but those of servers that come and go, in the order of the page. */
export const federationScenarios: readonly FederationScenario[] = [
  {
    title: 'initialize',
    async run({ client, stateless }) {
      assert.equal(client.serverName, 'all');
      assert.equal(client.protocolVersion, stateless ? '2026-07-28' : '2025-11-25');
      assert.equal(client.sessionId === undefined, stateless);
    },
  },
  {
    title: 'list the tools of all servers',
    async run(context) {
      const tools = await listTools(context);
      const prefixes = new Set(tools.map((name) => name.slice(0, name.indexOf('_'))));
      assert.deepEqual([...prefixes], context.servers);
      assert.ok(tools.length > 60, `${tools.length} tools`);
    },
  },
  {
    title: 'list their prompts',
    async run(context) {
      const names = new Set(listOf(await askAll(context, 'prompts/list'), 'prompts').map(({ name }) => name));
      for (const name of ['everything_args-prompt', 'web_fetch', 'sqlite_mcp-demo']) assert.ok(names.has(name), name);
    },
  },
  {
    title: 'list their resources and templates',
    async run(context) {
      const uris = new Set((await listPages(context, 'resources/list')).map(({ uri }) => uri));
      const expected = [document, 'ui://budget/budget-allocator/mcp-app.html', 'sqlite+memo://insights'];
      assert.deepEqual(
        expected.filter((uri) => !uris.has(uri)),
        [],
      );
      const templates = (await listPages(context, 'resources/templates/list')).map(({ uriTemplate }) => uriTemplate);
      assert.ok(templates.includes('everything+demo://resource/dynamic/text/{resourceId}'), templates.join(' '));
    },
  },
  ...callsOfServers.map(([name, run]) => ({ title: `call a tool of ${name}`, run })),
  {
    title: 'a tool that fails, and one that does not exist',
    async run({ client }) {
      const answer = await client.callFully('files_read_text_file', { path: '/etc/hostname' });
      assert.equal(answer['isError'], true);
      assert.match(JSON.stringify(answer['content']), /Access denied/);
      await assert.rejects(client.callFully('nobody_knows', {}), /Unknown tool: nobody_knows/);
    },
  },
  {
    title: 'read a resource, a page of an MCP App, and one of a template',
    async run(context) {
      assert.match(await read(context, document), /Everything Server/);
      assert.match(await read(context, 'ui://budget/budget-allocator/mcp-app.html'), /<html/i);
      assert.match(await read(context, 'everything+demo://resource/dynamic/text/7'), /^Resource 7: /);
    },
  },
  {
    title: 'follow a resource link of an answer',
    async run(context) {
      const answer = await context.client.callFully('everything_get-resource-links', { count: 2 });
      const links = listOf(answer, 'content').filter(({ type }) => type === 'resource_link');
      assert.equal(links.length, 2);
      assert.match(await read(context, links[1]!.uri), /^Resource 2: /);
    },
  },
  {
    title: 'a resource inside an answer',
    async run({ client }) {
      const args = { resourceType: 'Text', resourceId: 3 };
      const answer = await client.callFully('everything_get-resource-reference', args);
      const inside = listOf(answer, 'content').find(({ type }) => type === 'resource')?.resource;
      assert.equal(inside?.uri, 'everything+demo://resource/dynamic/text/3');
      assert.match(inside.text, /^Resource 3: /);
    },
  },
  {
    title: 'get a prompt',
    async run({ client }) {
      const get = async (name: string, args: object): Promise<string> =>
        JSON.stringify((await client.ask('prompts/get', { name, arguments: args }))['messages']);
      assert.match(await get('everything_args-prompt', { city: 'Paris' }), /What's weather in Paris\?/);
      assert.match(await get('sqlite_mcp-demo', { topic: 'lighthouses' }), /The topic is: lighthouses/);
    },
  },
  {
    title: 'completion for a prompt and a template',
    async run({ client }) {
      const complete = async (ref: object, argument: object): Promise<unknown> =>
        ((await client.ask('completion/complete', { ref, argument }))['completion'] as { values: unknown }).values;
      const prompt = { type: 'ref/prompt', name: 'everything_completable-prompt' };
      assert.deepEqual(await complete(prompt, { name: 'department', value: 'E' }), ['Engineering']);
      const template = { type: 'ref/resource', uri: 'everything+demo://resource/dynamic/text/{resourceId}' };
      assert.deepEqual(await complete(template, { name: 'resourceId', value: '7' }), ['7']);
    },
  },
  {
    title: 'progress',
    async run({ client }) {
      const progress: number[] = [];
      const args = { duration: 0.2, steps: 4 };
      await client.callFully('everything_trigger-long-running-operation', args, {
        onProgress: (value) => progress.push(value),
      });
      assert.deepEqual(progress, [1, 2, 3, 4]);
    },
  },
  {
    title: 'the level of log messages, and a message',
    needsSession: true,
    async run({ client }) {
      await client.ask('logging/setLevel', { level: 'debug' });
      const uri = 'everything+demo://resource/static/document/startup.md';
      // It logs each subscription.
      await client.subscribe(uri);
      await waitFor('the log message', () =>
        JSON.stringify(client.logged).includes('demo://resource/static/document/startup.md'),
      );
      await client.ask('logging/setLevel', { level: 'error' });
    },
  },
  {
    title: 'subscribe to a resource, and hear that it changed',
    async run(context) {
      const { client } = context;
      await client.subscribe(document);
      await call(context, 'everything_toggle-subscriber-updates', {});
      await waitFor('the news', () => client.updated.includes(document));
      await call(context, 'everything_toggle-subscriber-updates', {});
    },
  },
  {
    title: 'sampling',
    async run(context): Promise<string | void> {
      const { client, stateless } = context;
      const tool = 'everything_trigger-sampling-request';
      if (stateless) return expectNoTool(context, tool);
      const text = await call(context, tool, { prompt: 'Why is the sky blue?' });
      assert.deepEqual(client.sampled, ['Resource trigger-sampling-request context: Why is the sky blue?']);
      assert.match(text, /the answer to/);
    },
  },
  {
    title: 'elicitation',
    async run(context): Promise<string | void> {
      const { client, stateless } = context;
      const tool = 'everything_trigger-elicitation-request';
      if (stateless) return expectNoTool(context, tool);
      assert.match(await call(context, tool, {}), /- Name: Ada/);
      assert.deepEqual(client.elicited, ['Please provide inputs for the following fields:']);
    },
  },
  {
    title: 'roots',
    async run(context): Promise<string | void> {
      const tool = 'everything_get-roots-list';
      if (context.stateless) return expectNoTool(context, tool);
      // It asks for them a moment after the session began, and says until then that there are none.
      await waitFor('the roots', async () => (await call(context, tool, {})).includes(context.root));
    },
  },
  {
    title: 'cancel a call',
    async run(context): Promise<string | void> {
      const { client, pages } = context;
      const page = pages.addEndlessPage();
      const giveUp = new AbortController();
      const given = client.callFully('web_fetch', { url: page.url }, { signal: giveUp.signal });
      const ended = assert.rejects(given);
      await waitFor('the server asks for the page', () => page.open === 1);
      const before = client.wire.exchanges.length;
      giveUp.abort();
      await ended;
      // Any request after it would come after the cancellation.
      await call(context, 'everything_get-sum', { a: 1, b: 1 });
      const told = client.wire.exchanges.slice(before).some((each) => each.rpcMethod === 'notifications/cancelled');
      if (!told && !context.stateless) {
        page.finish();
        return neverTold;
      }
      await waitFor('the server has let go of the page', () => page.open === 0);
    },
  },
  {
    title: 'ping',
    needsSession: true,
    run: async ({ client }) => void (await client.ask('ping')),
  },
  {
    title: 'resume with Last-Event-ID',
    needsSession: true,
    async run({ client }) {
      const progress: number[] = [];
      client.wire.cutAfterProgress(2);
      await client.callFully(
        'everything_trigger-long-running-operation',
        { duration: 0.6, steps: 6 },
        { onProgress: (value) => progress.push(value) },
      );
      assert.deepEqual(progress, [1, 2, 3, 4, 5, 6], 'events were lost or repeated');
      const resumed = client.wire.listResumptions().at(-1);
      assert.equal(resumed?.status, 200);
      assert.equal(resumed.sessionId, client.sessionId);
    },
  },
];

async function expectNoTool({ client }: FederationContext, name: string): Promise<string> {
  await assert.rejects(client.callFully(name, {}).then(assertNoError), /not found/);
  return questionsStay;
}

/** A tool's own error as a failure. */
function assertNoError(answer: Answer): void {
  if (answer['isError'] === true) throw new Error(JSON.stringify(answer['content']));
}

/** A page that is open as long as whoever fetches it waits. */
export interface EndlessPage {
  readonly url: string;
  /** So many wait for it. */
  readonly open: number;
  finish(): void;
}

/** A web site on loopback, for the server that fetches pages. */
export interface WebPages {
  addPage(text: string): string;
  addEndlessPage(): EndlessPage;
  close(): Promise<void>;
}

export async function serveWebPages(): Promise<WebPages> {
  const texts: string[] = [];
  const waiting: { readonly number: number; finish(): void }[] = [];
  const server = createServer((request, response) => {
    const number = Number(/^\/(\d+)$/.exec(request.url ?? '')?.[1] ?? -1);
    const text = texts[number];
    response.setHeader('content-type', 'text/plain');
    if (text !== undefined) {
      response.end(text);
      return;
    }
    const one = { number, finish: () => void response.end('That was all.') };
    waiting.push(one);
    response.on('close', () => waiting.splice(waiting.indexOf(one), 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const urlOf = (number: number): string => `http://127.0.0.1:${port}/${number}`;
  // Numbers of pages with a text, and of those without.
  let endless = 1_000;
  return {
    addPage: (text) => urlOf(texts.push(text) - 1),
    addEndlessPage() {
      endless += 1;
      const own = endless;
      return {
        url: urlOf(own),
        get open() {
          return waiting.filter(({ number }) => number === own).length;
        },
        finish: () => waiting.filter(({ number }) => number === own).forEach((each) => each.finish()),
      };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
