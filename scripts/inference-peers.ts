// The upstreams of measure-inference.ts, in a separate process: model servers, and a picker that chooses the server that a request names.
// The first argument is how it lets bodies pass: plain or streamed.
import { wishHeader } from '../test/inference/concurrent-prompts.ts';
import { startFakePicker } from '../test/inference/fake-picker.ts';
import { startModelServer } from '../test/inference/fake-model-server.ts';
import { pick } from '../test/inference/picker-scripts.ts';

/** The message of the process once everything listens. */
export interface InferencePeers {
  readonly picker: number;
  readonly servers: readonly { readonly port: number; readonly endpoint: string }[];
}

const mode = process.argv[2] === 'streamed' ? 'streamed' : 'plain';
const servers = await Promise.all(Array.from({ length: 4 }, () => startModelServer()));
const picker = await startFakePicker({
  // As pickers that look at prompts do: the choice is made when all of it is there.
  script: pick({ endpoints: (call) => call.headers.get(wishHeader) ?? servers[0]!.endpoint, after: 'body', mode }),
  keeps: false,
  // The size to which gRPC servers grow their windows under load.
  connectionWindow: 16 * 1024 * 1024,
});
const peers: InferencePeers = {
  picker: picker.port,
  servers: servers.map(({ port, endpoint }) => ({ port, endpoint })),
};
process.send?.(peers);
process.on('disconnect', () => process.exit(0));
