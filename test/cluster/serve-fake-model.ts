// The fake model server as a container's program, on port 8000 of the pod, with the metrics by which endpoint pickers judge a vLLM server. Its name in
// answers is $POD_NAME. After /hold tokens wait, and each /release lets one go; /go lets all go, and those after them.
import { connect, createServer } from 'node:net';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { startModelServer } from '../inference/fake-model-server.ts';

const waiting: (() => void)[] = [];
let isHeld = false;
let scrapes = 0;

const server = await startModelServer({
  name: process.env['POD_NAME'] ?? 'model',
  pace: async () => {
    if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
  },
});

const metrics = (): string =>
  [
    // Without the one that asks.
    `vllm:num_requests_running{model_name="test"} ${server.openRequests - 1}`,
    'vllm:num_requests_waiting{model_name="test"} 0',
    'vllm:kv_cache_usage_perc{model_name="test"} 0',
    'vllm:lora_requests_info{max_lora="0",running_lora_adapters="",waiting_lora_adapters=""} 1',
    'vllm:cache_config_info{block_size="16",num_gpu_blocks="1024"} 1',
  ]
    .flatMap((line) => [`# TYPE ${line.slice(0, line.search(/[ {]/))} gauge`, line])
    .join('\n');

const answers: Readonly<Record<string, () => string>> = {
  '/metrics': () => {
    scrapes += 1;
    return `${metrics()}\n`;
  },
  '/hold': () => String((isHeld = true)),
  '/release': () => {
    waiting.shift()?.();
    return String(waiting.length);
  },
  '/go': () => {
    isHeld = false;
    for (const release of waiting.splice(0)) release();
    return 'true';
  },
};
for (const [path, answer] of Object.entries(answers))
  server.handle(path, (_, response) => void (response as ServerResponse).end(answer()));

// The server itself listens on loopback only.
const front = createServer({ allowHalfOpen: true }, (socket) => {
  const inner = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  pipeline(socket, inner, socket, () => {});
});
front.listen(8000, '0.0.0.0', () => console.log('listening on port 8000'));

// Told to end, it serves until nobody has asked for a while, as model servers with a preStop hook do: not everybody knows at once that it goes.
const quietMs = 1_000;
process.on('SIGTERM', () => {
  let [asked, since] = [-1, 0];
  setInterval(() => {
    const now = server.hits - scrapes;
    if (now !== asked) [asked, since] = [now, performance.now()];
    else if (server.openRequests === 0 && performance.now() - since > quietMs) process.exit(0);
  }, 50);
});
