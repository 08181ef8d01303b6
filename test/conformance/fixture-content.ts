// Fixed content that the MCP conformance suite asks a server for: the tools, resources and prompts without a dialogue.
import { setTimeout as delay } from 'node:timers/promises';
import {
  completable,
  fromJsonSchema,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

// A red pixel and a few samples of silence.
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
const wav = 'UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==';

/** Adds the tools that answer with fixed content, report progress, write logs or fail. */
export function addContentTools(server: McpServer, notify: () => ServerNotifier): void {
  server.registerTool('test_simple_text', { description: 'Answers with one line of text.' }, () => ({
    content: [{ type: 'text', text: 'This is a simple text response for testing.' }],
  }));
  server.registerTool('test_image_content', { description: 'Answers with an image.' }, () => ({
    content: [{ type: 'image', data: png, mimeType: 'image/png' }],
  }));
  server.registerTool('test_audio_content', { description: 'Answers with a sound.' }, () => ({
    content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
  }));
  server.registerTool('test_embedded_resource', { description: 'Answers with an embedded resource.' }, () => ({
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
  }));
  server.registerTool('test_multiple_content_types', { description: 'Answers with content of several kinds.' }, () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: png, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: JSON.stringify({ test: 'data', value: 123 }),
        },
      },
    ],
  }));
  server.registerTool('test_error_handling', { description: 'Always fails.' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool('test_tool_with_logging', { description: 'Writes three log messages.' }, async ({ mcpReq }) => {
    for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      if (message !== 'Tool execution started') await delay(50);
      await mcpReq.log('info', message);
    }
    return { content: [{ type: 'text', text: 'Wrote three log messages.' }] };
  });
  server.registerTool('test_logging_tool', { description: 'Writes one log message.' }, async ({ mcpReq }) => {
    await mcpReq.log('info', 'A message that only a client that asked for it may see');
    return { content: [{ type: 'text', text: 'Wrote a log message.' }] };
  });
  server.registerTool('test_tool_with_progress', { description: 'Reports progress three times.' }, reportProgress);
  server.registerTool(
    'test_reconnection',
    { description: 'Closes its stream before it answers.' },
    async ({ http }) => {
      http?.closeSSE?.();
      await delay(100);
      return { content: [{ type: 'text', text: 'The stream was taken up again.' }] };
    },
  );
  server.registerTool('test_trigger_tool_change', { description: 'Says that the tools changed.' }, () => {
    notify().toolsChanged();
    return { content: [{ type: 'text', text: 'Said so.' }] };
  });
  server.registerTool('test_trigger_prompt_change', { description: 'Says that the prompts changed.' }, () => {
    notify().promptsChanged();
    return { content: [{ type: 'text', text: 'Said so.' }] };
  });
  addSchemaTools(server);
}

async function reportProgress({ mcpReq }: ServerContext): Promise<{ content: { type: 'text'; text: string }[] }> {
  const { _meta: meta } = mcpReq;
  for (const progress of [0, 50, 100]) {
    if (progress > 0) await delay(50);
    if (meta?.progressToken === undefined) continue;
    const params = { progressToken: meta.progressToken, progress, total: 100 };
    await mcpReq.notify({ method: 'notifications/progress', params });
  }
  return { content: [{ type: 'text', text: 'Reported progress three times.' }] };
}

const customHeaderSchema = {
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  required: ['region'],
} as const;

function addSchemaTools(server: McpServer): void {
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Tool with JSON Schema 2020-12 features',
      inputSchema: fromJsonSchema<Record<string, unknown>>({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: {
          address: {
            $anchor: 'addressDef',
            type: 'object',
            properties: { street: { type: 'string' }, city: { type: 'string' } },
          },
        },
        properties: {
          name: { type: 'string' },
          address: { $ref: '#/$defs/address' },
          contactMethod: { type: 'string', enum: ['phone', 'email'] },
          phone: { type: 'string' },
          email: { type: 'string' },
        },
        allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
        if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: { required: ['phone'] },
        else: { required: ['email'] },
        additionalProperties: false,
      }),
    },
    (values) => ({ content: [{ type: 'text', text: JSON.stringify(values) }] }),
  );
  server.registerTool(
    'test_custom_header',
    {
      description: 'Takes an argument that HTTP clients repeat in a header (SEP-2243).',
      inputSchema: fromJsonSchema<{ region: string }>(customHeaderSchema),
    },
    ({ region }) => ({ content: [{ type: 'text', text: region }] }),
  );
}

/** Adds the resources: text, binary, a template, and one to subscribe to. */
export function addResources(server: McpServer): void {
  const text = 'text/plain';
  server.registerResource(
    'static-text',
    'test://static-text',
    { description: 'A fixed text.', mimeType: text },
    (uri) => ({
      contents: [{ uri: uri.href, mimeType: text, text: 'This is the content of the static text resource.' }],
    }),
  );
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description: 'A fixed image.', mimeType: 'image/png' },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: 'image/png', blob: png }] }),
  );
  server.registerResource(
    'watched-resource',
    'test://watched-resource',
    { description: 'A resource to subscribe to.', mimeType: text },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: text, text: 'Watched resource content.' }] }),
  );
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'Data for an id.', mimeType: 'application/json' },
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
  const subscriptions = new Set<string>();
  server.server.setRequestHandler('resources/subscribe', ({ params }) => {
    subscriptions.add(params.uri);
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    subscriptions.delete(params.uri);
    return {};
  });
}

function completeWord(value: string): string[] {
  return ['paris', 'park', 'party'].filter((word) => word.startsWith(value));
}

/** Adds the prompts with fixed content. */
export function addPrompts(server: McpServer): void {
  server.registerPrompt('test_simple_prompt', { description: 'A prompt without arguments.' }, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'This is a simple prompt for testing.' } }],
  }));
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with two arguments.',
      argsSchema: z.object({
        arg1: completable(z.string().describe('First test argument'), completeWord),
        arg2: z.string().describe('Second test argument'),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` } },
      ],
    }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    {
      description: 'A prompt that embeds a resource.',
      argsSchema: z.object({ resourceUri: z.string().describe('URI of the resource to embed') }),
    },
    ({ resourceUri }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
          },
        },
        { role: 'user', content: { type: 'text', text: 'Please process the embedded resource above.' } },
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt with an image.' }, () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } },
      { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
    ],
  }));
}
