// One client of the soak, which nobody has seen before: an address, a token, a session and paths of its own. Then it is gone.
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { toolCall } from '../bench-resources.ts';
import { createForgedTokens, createTokens } from '../bench-tokens.ts';

/** What clients did so far. */
export interface SoakCounts {
  clients: number;
  requests: number;
  /** By status. */
  readonly answers: Map<number, number>;
}

interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: object;
}

/** Does what a client does, from the challenge to the end of its session. Throws when an answer is not what it should be. */
export async function runSoakClient(port: number, number: number, counts: SoakCounts): Promise<void> {
  // Every address of 127.0.0.0/8 is this machine.
  const localAddress = `127.${1 + (number % 250)}.${Math.floor(number / 250) % 250}.${1 + (Math.floor(number / 62_500) % 250)}`;
  const agent = new Agent({ keepAlive: true, maxSockets: 4, localAddress });
  const call = async (each: Call, expected: number): Promise<IncomingMessage> => {
    counts.requests += 1;
    const body = each.message === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', id: 1, ...each.message });
    const headers = { ...toolCall.headers, 'user-agent': `soak/${number}`, ...each.headers };
    const sent = request({ host: '127.0.0.1', port, agent, method: each.method, path: each.path, headers });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const status = answer.statusCode!;
    counts.answers.set(status, (counts.answers.get(status) ?? 0) + 1);
    if (status !== expected) throw new Error(`${each.method} ${each.path}: ${status}, and not ${expected}`);
    return answer;
  };
  const finish = async (answer: IncomingMessage): Promise<IncomingMessage> => {
    answer.resume();
    await once(answer, 'end');
    return answer;
  };
  try {
    const path = `/mcp/${number}`;
    const [forged] = createForgedTokens(1);
    await finish(
      await call({ method: 'POST', path, headers: { authorization: `Bearer ${forged}` }, message: {} }, 401),
    );
    await finish(await call({ method: 'GET', path: '/.well-known/oauth-protected-resource/mcp' }, 200));
    await finish(await call({ method: 'GET', path: `/nowhere/${number}` }, 404));
    const authorization = `Bearer ${createTokens(1, number)[0]}`;
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: `soak ${number}`, version: '1' },
    };
    const first = await finish(
      await call(
        { method: 'POST', path: '/mcp', headers: { authorization }, message: { method: 'initialize', params } },
        200,
      ),
    );
    const headers = { authorization, 'mcp-session-id': String(first.headers['mcp-session-id']) };
    const stream = await call(
      { method: 'GET', path: '/mcp', headers: { ...headers, accept: 'text/event-stream' } },
      200,
    );
    await once(stream, 'data');
    for (let turn = 0; turn < 8; turn += 1) {
      const message = { method: 'tools/call', params: { name: `ticket_${number}_${turn}`, arguments: { turn } } };
      await finish(
        await call({ method: 'POST', path: turn % 2 === 0 ? '/mcp' : `${path}/${turn}`, headers, message }, 200),
      );
    }
    stream.destroy();
    await finish(await call({ method: 'DELETE', path: '/mcp', headers }, 204));
    counts.clients += 1;
  } finally {
    agent.destroy();
  }
}
