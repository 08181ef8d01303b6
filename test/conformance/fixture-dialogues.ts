// The tools of the MCP conformance suite that ask the client something before they answer: as requests from the server
// (protocol versions up to 2025-11-25), and as results that name the input they need (2026-07-28, SEP-2322).
import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

/** What the fixtures keep between two rounds of a dialogue, sealed into `requestState`. */
export interface DialogueState {
  readonly tool: string;
  readonly round: number;
  readonly name?: string;
}

/** Makes the codec that seals and verifies `requestState`. */
export function createDialogueCodec(key: Uint8Array): RequestStateCodec<DialogueState> {
  return createRequestStateCodec<DialogueState>({ key, ttlSeconds: 300 });
}

function say(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] };
}

/** Adds the tools that send requests to the client while they work. */
export function addServerRequestTools(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    { description: 'Asks the model of the client.', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const { content } = await mcpReq.requestSampling({
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
        maxTokens: 100,
      });
      const block = Array.isArray(content) ? content[0] : content;
      return say(`LLM response: ${block?.type === 'text' ? block.text : ''}`);
    },
  );
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the person at the client.', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, { mcpReq }) => {
      const { action, content } = await mcpReq.elicitInput({
        message,
        requestedSchema: {
          type: 'object',
          properties: {
            username: { type: 'string', description: "User's response" },
            email: { type: 'string', description: "User's email address" },
          },
          required: ['username', 'email'],
        },
      });
      return say(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`);
    },
  );
  server.registerTool(
    'test_elicitation_sep1034_defaults',
    { description: 'Asks for input with defaults of every primitive type.' },
    async ({ mcpReq }) => {
      const { action, content } = await mcpReq.elicitInput({
        message: 'Please check these values.',
        requestedSchema: {
          type: 'object',
          properties: {
            name: { type: 'string', default: 'John Doe' },
            age: { type: 'integer', default: 30 },
            score: { type: 'number', default: 95.5 },
            status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
            verified: { type: 'boolean', default: true },
          },
          required: [],
        },
      });
      return say(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
    },
  );
  server.registerTool(
    'test_elicitation_sep1330_enums',
    { description: 'Asks for input with every kind of enumeration.' },
    async ({ mcpReq }) => {
      const { action, content } = await mcpReq.elicitInput({
        message: 'Please choose.',
        requestedSchema: {
          type: 'object',
          properties: {
            untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
            titledSingle: { type: 'string', oneOf: titledOptions('Option') },
            legacyEnum: {
              type: 'string',
              enum: ['opt1', 'opt2', 'opt3'],
              enumNames: ['Option One', 'Option Two', 'Option Three'],
            },
            untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
            titledMulti: { type: 'array', items: { anyOf: titledOptions('Choice') } },
          },
          required: [],
        },
      });
      return say(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
    },
  );
}

function titledOptions(noun: string): { const: string; title: string }[] {
  return ['First', 'Second', 'Third'].map((word, index) => ({ const: `value${index + 1}`, title: `${word} ${noun}` }));
}

const nameSchema = z.object({ name: z.string() });
const confirmationSchema = z.object({ ok: z.boolean() });

function askName(message = 'What is your name?'): ReturnType<typeof inputRequired.elicit> {
  return inputRequired.elicit({ message, requestedSchema: nameSchema });
}

function askConfirmation(): ReturnType<typeof inputRequired.elicit> {
  return inputRequired.elicit({ message: 'Please confirm', requestedSchema: confirmationSchema });
}

function askModel(text: string, maxTokens: number): ReturnType<typeof inputRequired.createMessage> {
  return inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens });
}

/** Adds the tools and the prompt that answer with the input they need. */
export function addInputRequiredTools(server: McpServer, codec: RequestStateCodec<DialogueState>): void {
  addSingleRoundTools(server);
  addStatefulTools(server, codec);
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'A prompt that needs to know its context.' },
    ({ mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses, 'user_context', z.object({ context: z.string() }));
      if (given !== undefined) {
        return { messages: [{ role: 'user', content: { type: 'text', text: `Context: ${given.context}` } }] };
      }
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({
            message: 'What context should the prompt use?',
            requestedSchema: z.object({ context: z.string() }),
          }),
        },
      });
    },
  );
}

function addSingleRoundTools(server: McpServer): void {
  server.registerTool('test_input_required_result_elicitation', { description: 'Needs a name.' }, ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'user_name', nameSchema);
    if (given !== undefined) return say(`Hello, ${given.name}!`);
    return inputRequired({ inputRequests: { user_name: askName() } });
  });
  server.registerTool(
    'test_input_required_result_sampling',
    { description: 'Needs an answer of a model.' },
    ({ mcpReq }) => {
      const given = inputResponse(mcpReq.inputResponses, 'capital_question');
      if (given.kind === 'sampling') return say(JSON.stringify(given.result.content));
      return inputRequired({ inputRequests: { capital_question: askModel('What is the capital of France?', 100) } });
    },
  );
  server.registerTool(
    'test_input_required_result_list_roots',
    { description: 'Needs the roots of the client.' },
    ({ mcpReq }) => {
      const given = inputResponse(mcpReq.inputResponses, 'client_roots');
      if (given.kind === 'roots') return say(given.roots.map((root) => `${root.name ?? ''} ${root.uri}`).join('\n'));
      return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    },
  );
  server.registerTool(
    'test_input_required_result_capabilities',
    { description: 'Asks only what the client can answer.' },
    ({ mcpReq }) => {
      const envelope: Record<string, ClientCapabilities | undefined> = { ...mcpReq.envelope };
      const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY];
      return inputRequired({
        inputRequests: {
          ...(capabilities?.sampling === undefined ? {} : { greeting: askModel('Generate a greeting', 50) }),
          ...(capabilities?.elicitation === undefined ? {} : { user_name: askName() }),
        },
      });
    },
  );
  // A client that did not declare sampling gets -32021 from the SDK, which knows what each input request needs.
  server.registerTool('test_missing_capability', { description: 'Cannot do without a model.' }, () =>
    inputRequired({ inputRequests: { greeting: askModel('Generate a greeting', 50) } }),
  );
  server.registerTool(
    'test_streaming_elicitation',
    { description: 'Streams a message before it says what it needs.' },
    async ({ mcpReq }) => {
      const params = { progressToken: 'test_streaming_elicitation', progress: 1, total: 2 };
      await mcpReq.notify({ method: 'notifications/progress', params });
      return inputRequired({ inputRequests: { user_name: askName() } });
    },
  );
}

function addStatefulTools(server: McpServer, codec: RequestStateCodec<DialogueState>): void {
  for (const tool of ['test_input_required_result_request_state', 'test_input_required_result_tampered_state']) {
    server.registerTool(tool, { description: 'Needs a confirmation, and its own state back.' }, async (context) => {
      const { mcpReq } = context;
      const state = mcpReq.requestState<DialogueState>();
      const given = acceptedContent(mcpReq.inputResponses, 'confirm', confirmationSchema);
      if (given !== undefined && state?.tool === tool) return say('state-ok');
      return inputRequired({
        inputRequests: { confirm: askConfirmation() },
        requestState: await codec.mint({ tool, round: 1 }, context),
      });
    });
  }

  const several = 'test_input_required_result_multiple_inputs';
  server.registerTool(several, { description: 'Needs three things at once.' }, async (context) => {
    const { mcpReq } = context;
    const name = acceptedContent(mcpReq.inputResponses, 'user_name', nameSchema);
    const greeting = inputResponse(mcpReq.inputResponses, 'greeting');
    const roots = inputResponse(mcpReq.inputResponses, 'client_roots');
    const state = mcpReq.requestState<DialogueState>();
    if (name !== undefined && greeting.kind === 'sampling' && roots.kind === 'roots' && state?.tool === several) {
      return say(`${name.name}: ${JSON.stringify(greeting.result.content)}, ${roots.roots.length} roots`);
    }
    return inputRequired({
      inputRequests: {
        user_name: askName(),
        greeting: askModel('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await codec.mint({ tool: several, round: 1 }, context),
    });
  });

  const rounds = 'test_input_required_result_multi_round';
  server.registerTool(rounds, { description: 'Asks twice.' }, async (context) => {
    const { mcpReq } = context;
    const state = mcpReq.requestState<DialogueState>();
    const first = acceptedContent(mcpReq.inputResponses, 'step1', nameSchema);
    const second = acceptedContent(mcpReq.inputResponses, 'step2', z.object({ color: z.string() }));
    if (state?.tool === rounds && state.round === 2 && second !== undefined) {
      return say(`${state.name ?? ''} likes ${second.color}.`);
    }
    if (state?.tool === rounds && state.round === 1 && first !== undefined) {
      return inputRequired({
        inputRequests: {
          step2: inputRequired.elicit({
            message: 'Step 2: What is your favorite color?',
            requestedSchema: z.object({ color: z.string() }),
          }),
        },
        requestState: await codec.mint({ tool: rounds, round: 2, name: first.name }, context),
      });
    }
    return inputRequired({
      inputRequests: { step1: askName('Step 1: What is your name?') },
      requestState: await codec.mint({ tool: rounds, round: 1 }, context),
    });
  });
}
