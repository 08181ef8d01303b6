// The MCP servers that the demo runs behind the gateway: a help desk with a resource and a prompt, and a few everyday tools. They can be one server as well.
import { setTimeout as delay } from 'node:timers/promises';
import { McpServer, ResourceNotFoundError, ResourceTemplate, type CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { hostMcpServer } from './mcp-host.ts';
import { TicketDesk } from './ticket-desk.ts';
import { convertUnits, unitSymbols } from './unit-conversion.ts';

/** Where the sample server listens. */
interface SampleServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Default: both in one server. */
  readonly part?: SamplePart;
}

/** What a sample server is about. */
export type SamplePart = 'support' | 'office';

/** A running sample server. */
export interface SampleServer {
  /** The URL of its MCP endpoint. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the sample server and resolves once it accepts connections. */
export function startSampleServer({ host, port, part }: SampleServerOptions): Promise<SampleServer> {
  const desk = new TicketDesk();
  return hostMcpServer({ host, port, retryInterval: 500, createServer: () => createSampleServer(desk, part) });
}

/** Makes one MCP server over a desk of tickets that all sessions share. */
function createSampleServer(desk: TicketDesk, part: SamplePart | undefined): McpServer {
  const { name, title, instructions } = descriptions[part ?? 'both'];
  const capabilities = part === 'office' ? { tools: {} } : { tools: {}, resources: {}, prompts: {} };
  const server = new McpServer({ name, title, version: '1.0.0' }, { capabilities, instructions });
  if (part !== 'support') addEverydayTools(server);
  if (part === 'office') return server;
  addTicketTools(server, desk);
  addReportTool(server, desk);
  addTicketResources(server, desk);
  return server;
}

const descriptions = {
  both: {
    name: 'sample',
    title: 'Sample server',
    instructions:
      'A small help desk. Use the ticket tools to look after tickets, and the others for time, text and units. ' +
      'Nothing here leaves this machine, and tickets are gone when the server stops.',
  },
  support: {
    name: 'support',
    title: 'Help desk',
    instructions:
      'A small help desk with tickets. Nothing here leaves this machine, and tickets are gone when the server stops.',
  },
  office: {
    name: 'office',
    title: 'Office',
    instructions: 'Time, text and units. Nothing here leaves this machine.',
  },
} as const;

function addEverydayTools(server: McpServer): void {
  server.registerTool(
    'current_time',
    {
      title: 'Current time',
      description: 'Tells the date and time in a time zone.',
      inputSchema: z.object({
        zone: z.string().default('UTC').describe('IANA name of the zone, for example Europe/Zurich.'),
      }),
      outputSchema: z.object({ zone: z.string(), utc: z.string(), local: z.string(), offset: z.string() }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ zone }) => {
      const now = new Date();
      const time = describeTime(now, zone);
      if (time === undefined) return fail(`"${zone}" is not a time zone. Use an IANA name such as Europe/Zurich.`);
      return answer({ zone, utc: now.toISOString(), ...time }, `${time.local} (${time.offset}) in ${zone}`);
    },
  );

  server.registerTool(
    'text_statistics',
    {
      title: 'Text statistics',
      description:
        'Counts the characters, words, sentences and lines of a text, and estimates how long it takes to read.',
      inputSchema: z.object({ text: z.string().max(200_000).describe('The text to measure.') }),
      outputSchema: z.object({
        characters: z.int(),
        words: z.int(),
        sentences: z.int(),
        lines: z.int(),
        readingMinutes: z.number(),
      }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ text }) => {
      const words = countSegments(text, 'word');
      const statistics = {
        characters: countSegments(text, 'grapheme'),
        words,
        sentences: countSegments(text, 'sentence'),
        lines: text === '' ? 0 : text.split(/\r\n|\r|\n/).length,
        readingMinutes: Math.round((words / 230) * 10) / 10,
      };
      return answer(statistics, `${words} words in ${statistics.sentences} sentences`);
    },
  );

  server.registerTool(
    'convert_units',
    {
      title: 'Convert units',
      description: 'Converts a measurement between units of length, mass, volume, speed or temperature.',
      inputSchema: z.object({
        value: z.number().describe('The number to convert.'),
        from: z.enum(unitSymbols).describe('The unit it is in.'),
        to: z.enum(unitSymbols).describe('The unit you want.'),
      }),
      outputSchema: z.object({ value: z.number(), unit: z.string(), quantity: z.string() }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ value, from, to }) => {
      const conversion = convertUnits(value, from, to);
      if (conversion.kind === 'incompatible') {
        return fail(`${from} measures ${conversion.from} and ${to} measures ${conversion.to}.`);
      }
      const { value: converted, quantity } = conversion;
      return answer({ value: converted, unit: to, quantity }, `${value} ${from} = ${converted} ${to}`);
    },
  );
}

const ticketSchema = z.object({
  id: z.string(),
  title: z.string(),
  priority: z.enum(['low', 'normal', 'high']),
  status: z.enum(['open', 'closed']),
  resolution: z.string().optional(),
});

function addTicketTools(server: McpServer, desk: TicketDesk): void {
  server.registerTool(
    'ticket_list',
    {
      title: 'List tickets',
      description: 'Lists the tickets of the help desk, the oldest first.',
      inputSchema: z.object({
        status: z.enum(['open', 'closed', 'all']).default('open').describe('Which tickets to list.'),
      }),
      outputSchema: z.object({ tickets: z.array(ticketSchema) }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ status }) => {
      const tickets = desk.list(status);
      const lines = tickets.map((ticket) => `${ticket.id} [${ticket.priority}, ${ticket.status}] ${ticket.title}`);
      return answer({ tickets }, lines.length === 0 ? 'There are no such tickets.' : lines.join('\n'));
    },
  );

  server.registerTool(
    'ticket_create',
    {
      title: 'Open a ticket',
      description: 'Opens a new ticket and returns it with its id.',
      inputSchema: z.object({
        title: z.string().trim().min(3).max(200).describe('What the ticket is about, in one line.'),
        priority: z.enum(['low', 'normal', 'high']).default('normal').describe('How urgent it is.'),
      }),
      outputSchema: ticketSchema,
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    },
    ({ title, priority }) => {
      const ticket = desk.open(title, priority);
      if (ticket === undefined) return fail('The desk is full. Close some tickets first.');
      return answer({ ...ticket }, `Opened ${ticket.id}: ${ticket.title}`);
    },
  );

  server.registerTool(
    'ticket_close',
    {
      title: 'Close a ticket',
      description: 'Closes an open ticket with a word on how it was resolved.',
      inputSchema: z.object({
        id: z.string().describe('The id of the ticket, for example T-101.'),
        resolution: z.string().trim().min(1).max(500).describe('How it was resolved.'),
      }),
      outputSchema: ticketSchema,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    },
    ({ id, resolution }) => {
      const outcome = desk.close(id, resolution);
      if (outcome.kind === 'unknown') return fail(`There is no ticket ${id}. ticket_list shows the open ones.`);
      if (outcome.kind === 'already-closed') return fail(`${id} is closed already: ${outcome.ticket.resolution ?? ''}`);
      return answer({ ...outcome.ticket }, `Closed ${id}: ${resolution}`);
    },
  );
}

function addReportTool(server: McpServer, desk: TicketDesk): void {
  server.registerTool(
    'desk_report',
    {
      title: 'Report on the desk',
      description: 'Writes a report on the help desk step by step and tells how far it is. It takes a few seconds.',
      inputSchema: z.object({
        steps: z.int().min(1).max(100).default(5).describe('In how many steps to work.'),
        secondsPerStep: z.number().min(0).max(10).default(1).describe('How long each step takes.'),
      }),
      outputSchema: z.object({ open: z.int(), closed: z.int(), urgent: z.array(z.string()) }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ steps, secondsPerStep }, { mcpReq }) => {
      const { _meta: meta } = mcpReq;
      const progressToken = meta?.progressToken;
      for (let step = 1; step <= steps; step += 1) {
        await delay(secondsPerStep * 1000, undefined, { signal: mcpReq.signal });
        if (progressToken === undefined) continue;
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress: step, total: steps, message: `Step ${step} of ${steps} is done.` },
        });
      }
      const open = desk.list('open');
      const urgent = open.filter((ticket) => ticket.priority === 'high').map((ticket) => ticket.id);
      const closed = desk.list('closed').length;
      return answer(
        { open: open.length, closed, urgent },
        `${open.length} open (${urgent.length} urgent), ${closed} closed`,
      );
    },
  );
}

function addTicketResources(server: McpServer, desk: TicketDesk): void {
  const mimeType = 'application/json';
  server.registerResource(
    'open-tickets',
    'tickets://open',
    { title: 'Open tickets', description: 'Every ticket that is still open, as JSON.', mimeType },
    (uri) => ({ contents: [{ uri: uri.href, mimeType, text: JSON.stringify(desk.list('open'), undefined, 2) }] }),
  );

  server.registerResource(
    'ticket',
    new ResourceTemplate('tickets://ticket/{id}', {
      list: undefined,
      complete: {
        id: (value) =>
          desk
            .list('all')
            .map(({ id }) => id)
            .filter((id) => id.startsWith(value)),
      },
    }),
    { title: 'One ticket', description: 'A ticket by its id, as JSON.', mimeType },
    (uri, { id }) => {
      const ticket = desk.find(String(id));
      if (ticket === undefined) throw new ResourceNotFoundError(uri.href);
      return { contents: [{ uri: uri.href, mimeType, text: JSON.stringify(ticket, undefined, 2) }] };
    },
  );

  server.registerPrompt(
    'triage_tickets',
    {
      title: 'Triage the open tickets',
      description: 'Asks for the open tickets to be put in order, with a next step for each.',
      argsSchema: z.object({ focus: z.string().optional().describe('What matters most today.') }),
    },
    ({ focus }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: { uri: 'tickets://open', mimeType, text: JSON.stringify(desk.list('open'), undefined, 2) },
          },
        },
        {
          role: 'user',
          content: {
            type: 'text',
            text:
              'Put these tickets in the order in which they should be handled, and name the next step for each.' +
              (focus === undefined ? '' : ` What matters most today: ${focus}`),
          },
        },
      ],
    }),
  );
}

function answer(structuredContent: Record<string, unknown>, text: string): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent };
}

function fail(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

function countSegments(text: string, granularity: 'grapheme' | 'word' | 'sentence'): number {
  const segments = [...new Intl.Segmenter('en', { granularity }).segment(text)];
  if (granularity === 'word') return segments.filter((segment) => segment.isWordLike === true).length;
  return segments.length;
}

function describeTime(now: Date, zone: string): { local: string; offset: string } | undefined {
  try {
    const format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      dateStyle: 'full',
      timeStyle: 'long',
    });
    const offset = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeZoneName: 'longOffset' })
      .formatToParts(now)
      .find((part) => part.type === 'timeZoneName')?.value;
    return { local: format.format(now), offset: offset ?? 'GMT' };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
