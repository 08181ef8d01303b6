// Runs @modelcontextprotocol/server-everything, the reference server on SDK v1, as a process of its own on loopback.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { startChild } from '../kit/child-process.ts';
import { waitFor } from '../kit/wait-for.ts';
import type { ResumeGate } from './wire-tap.ts';

/** How the reference server speaks. */
export type EverythingTransport = 'streamableHttp' | 'sse';

/** A running reference server. */
export interface EverythingServer {
  /** The URL that clients connect to. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the reference server on a free loopback port and resolves once it accepts connections. */
export async function startEverythingServer(transport: EverythingTransport): Promise<EverythingServer> {
  const packageFile = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json');
  const program = fileURLToPath(new URL('dist/index.js', `file://${packageFile}`));
  const preload = new URL('bind-loopback.ts', import.meta.url).href;
  const child = startChild({
    command: process.execPath,
    args: ['--import', preload, program, transport],
    env: { ...process.env, PORT: '0', NODE_OPTIONS: '' },
  });
  const port = await child.waitForMessage((message) => {
    const { port: reported } = message as { port?: unknown };
    return typeof reported === 'number' ? reported : undefined;
  });
  return {
    url: `http://127.0.0.1:${port}${transport === 'sse' ? '/sse' : '/mcp'}`,
    async stop() {
      await child.stop();
    },
  };
}

/**
 * Holds a resumption back until the reference server has finished the call. Its event store (2026.8.31) replays what was
 * sent before a resumption but never connects the resumed stream to what comes after it, so an earlier one would wait
 * forever, with or without a gateway. Replaying takes nothing away: asking twice gives the same events.
 */
export const waitUntilAnswered: ResumeGate = async ({ url, headers }) => {
  const isAnswered = async (): Promise<boolean> => {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      // The replay arrives in one piece. Silence after it means that the call still runs.
      const silence = new Promise<undefined>((resolve) => void setTimeout(resolve, 50, undefined));
      const piece = await Promise.race([reader.read(), silence]);
      if (piece === undefined || piece.done) break;
      text += piece.value;
      if (/"result":/.test(text)) break;
    }
    await reader.cancel();
    return /"result":/.test(text);
  };
  await waitFor('the reference server has finished the call', isAnswered, { intervalMs: 0 });
};
