// Many chat completions at once, with prompts of all sizes; each names the endpoint that the picker is to choose, and checks who served it and what arrived.
import { Agent, request, type IncomingMessage } from 'node:http';
import { type Arrival, hashBody } from './fake-model-server.ts';

/** The header by which a request tells the scripted picker whom to choose. */
export const wishHeader = 'x-test-wish';

export interface PromptsOptions {
  readonly port: number;
  /** `ip:port` of those that may be wished for. */
  readonly endpoints: readonly string[];
  readonly count: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came of them. */
export interface PromptsResult {
  /** By the endpoint that served. */
  readonly served: ReadonlyMap<string, number>;
  readonly bytes: number;
  /** What was not as it should be: a status, another endpoint, another body. */
  readonly problems: readonly string[];
}

/** Sends all at once and resolves when all are answered. The model servers' names are their endpoints. */
export async function sendPrompts(options: PromptsOptions): Promise<PromptsResult> {
  const { port, endpoints, count, minBytes, maxBytes } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const served = new Map<string, number>();
  const problems: string[] = [];
  let bytes = 0;
  const sendOne = async (index: number): Promise<void> => {
    const wish = endpoints[index % endpoints.length]!;
    // Evenly on a logarithmic scale: as many of some kilobytes as of some hundred.
    const size = Math.round(minBytes * (maxBytes / minBytes) ** (index / Math.max(1, count - 1)));
    const body = makePrompt(index, size);
    bytes += body.length;
    const answer = await post(agent, port, wish, body, options.headers);
    if (answer.status !== 200) {
      problems.push(`request ${index}: ${answer.status} ${answer.text.slice(0, 200)}`);
      return;
    }
    const arrival = JSON.parse(answer.text) as Arrival;
    served.set(arrival.served_by, (served.get(arrival.served_by) ?? 0) + 1);
    if (arrival.served_by !== wish) problems.push(`request ${index}: ${arrival.served_by} in place of ${wish}`);
    if (arrival.body_bytes !== body.length || arrival.body_sha256 !== hashBody(body))
      problems.push(`request ${index}: ${arrival.body_bytes} of ${body.length} bytes arrived, or others`);
  };
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      sendOne(index).catch((error: unknown) => void problems.push(`request ${index}: ${String(error)}`)),
    ),
  );
  agent.destroy();
  return { served, bytes, problems };
}

/** JSON of exactly so many bytes, different for every request. */
function makePrompt(index: number, size: number): Buffer {
  const frame = { model: 'test', stream: false, messages: [{ role: 'user', content: `${index} ` }] };
  const missing = Math.max(0, size - JSON.stringify(frame).length);
  const filling = `${index} lorem ipsum dolor `;
  frame.messages[0]!.content += filling.repeat(Math.ceil(missing / filling.length)).slice(0, missing);
  return Buffer.from(JSON.stringify(frame));
}

function post(
  agent: Agent,
  port: number,
  wish: string,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const message = request(
      {
        host: '127.0.0.1',
        port,
        agent,
        method: 'POST',
        path: '/v1/chat/completions',
        headers: {
          'content-type': 'application/json',
          'content-length': body.length,
          [wishHeader]: wish,
          ...headers,
        },
      },
      (response: IncomingMessage) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode!, text }));
        response.on('error', reject);
      },
    );
    message.on('error', reject);
    message.end(body);
  });
}
