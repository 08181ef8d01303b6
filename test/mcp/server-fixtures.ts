// The two MCP servers that real clients are tried against, and what to ask of each: what differs is data, the tests are one.
import type { McpHost } from '../../src/demo/mcp-host.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { startDialogueServer } from './dialogue-server.ts';
import { type EverythingServer, startEverythingServer, waitUntilAnswered } from './everything-server.ts';
import { startTargetGateway } from './target-gateway.ts';
import type { ResumeGate } from './wire-tap.ts';

/** A call of a tool and what it must answer. */
export interface ExpectedCall {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  /** Texts that the answer contains. */
  readonly answer: readonly string[];
}

/** One server and what to ask of it. */
export interface ServerFixture {
  /** The name of its route. */
  readonly route: string;
  /** How the matrix calls it. */
  readonly title: string;
  /** The name that it gives itself. */
  readonly serverName: string;
  /** Tools that it must list. */
  readonly tools: readonly string[];
  readonly call: ExpectedCall;
  /** A call that reports progress 1, 2, 3, 4. */
  readonly progress: ExpectedCall;
  /** Asks the client's model; `question` is what the model must be asked. */
  readonly sampling: ExpectedCall & { readonly question: string };
  /** Asks the client's person; `question` is what the person must be asked. */
  readonly elicitation: ExpectedCall & { readonly question: string };
  /** A call that reports progress 1 to 6 and outlives the loss of its stream after the second. */
  readonly resumption: ExpectedCall & { readonly beforeResume?: ResumeGate };
  /** What a request with the id of an ended session is answered with. */
  readonly statusAfterDelete: number;
}

/** The answer that the drivers' model gives. */
export function answerOfModel(question: string): string {
  return `the answer to "${question}"`;
}

/** The server of this repository on SDK v2. */
export const dialogueFixture: ServerFixture = {
  route: 'dialogue',
  title: 'own server on SDK v2',
  serverName: 'dialogue',
  tools: ['add', 'echo', 'announce', 'count', 'count_across_cut', 'ask_model', 'ask_person'],
  call: { tool: 'add', args: { a: 2, b: 40 }, answer: ['42'] },
  progress: { tool: 'count', args: { steps: 4 }, answer: ['Counted to 4.'] },
  sampling: {
    tool: 'ask_model',
    args: { question: 'Why is the sky blue?' },
    question: 'Why is the sky blue?',
    answer: [answerOfModel('Why is the sky blue?')],
  },
  elicitation: {
    tool: 'ask_person',
    args: { question: 'Do you come on Friday?' },
    question: 'Do you come on Friday?',
    answer: ['Ada comes.'],
  },
  resumption: { tool: 'count_across_cut', args: { steps: 6, cutAfter: 2 }, answer: ['Counted to 6.'] },
  statusAfterDelete: 404,
};

/** The reference server on SDK v1. */
export const everythingFixture: ServerFixture = {
  route: 'everything',
  title: 'server-everything on SDK v1',
  serverName: 'mcp-servers/everything',
  tools: [
    'echo',
    'get-sum',
    'trigger-long-running-operation',
    'trigger-sampling-request',
    'trigger-elicitation-request',
  ],
  call: { tool: 'get-sum', args: { a: 2, b: 40 }, answer: ['The sum of 2 and 40 is 42.'] },
  progress: {
    tool: 'trigger-long-running-operation',
    args: { duration: 0.2, steps: 4 },
    answer: ['Long running operation completed.', 'Steps: 4.'],
  },
  sampling: {
    tool: 'trigger-sampling-request',
    args: { prompt: 'Why is the sky blue?' },
    question: 'Resource trigger-sampling-request context: Why is the sky blue?',
    answer: ['the answer to', 'Why is the sky blue?'],
  },
  elicitation: {
    tool: 'trigger-elicitation-request',
    args: {},
    question: 'Please provide inputs for the following fields:',
    answer: ['User provided the requested information', '- Name: Ada'],
  },
  resumption: {
    tool: 'trigger-long-running-operation',
    args: { duration: 0.6, steps: 6 },
    answer: ['Long running operation completed.', 'Steps: 6.'],
    beforeResume: waitUntilAnswered,
  },
  statusAfterDelete: 400,
};

/** The servers behind one gateway. */
export interface ServedFixtures {
  readonly gateway: GatewayRun;
  readonly dialogue: McpHost;
  stop(): Promise<void>;
}

/** The route of the reference server in its legacy SSE form. */
export const legacyRoute = 'legacy';

/** Starts all servers and a gateway in front of them. */
export async function serveFixtures(): Promise<ServedFixtures> {
  const started: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of started.toReversed()) await end();
  };
  try {
    const dialogue = await startDialogueServer();
    started.push(() => dialogue.close());
    const start = async (transport: 'streamableHttp' | 'sse'): Promise<EverythingServer> => {
      const server = await startEverythingServer(transport);
      started.push(() => server.stop());
      return server;
    };
    const [everything, legacy] = await Promise.all([start('streamableHttp'), start('sse')]);
    const gateway = await startTargetGateway({
      targets: {
        [dialogueFixture.route]: { url: dialogue.url },
        [everythingFixture.route]: { url: everything.url },
        [legacyRoute]: { url: legacy.url, protocol: 'SSE' },
      },
    });
    started.push(() => gateway.stop());
    return { gateway, dialogue, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
