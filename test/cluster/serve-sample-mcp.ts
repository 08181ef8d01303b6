// The sample MCP server as a container's program, on port 8080 of the pod.
import { startSampleServer } from '../../src/demo/sample-mcp-server.ts';

const server = await startSampleServer({ host: '0.0.0.0', port: 8080 });
console.log(`listening at ${server.url}`);
process.on('SIGTERM', () => void server.close().then(() => process.exit(0)));
