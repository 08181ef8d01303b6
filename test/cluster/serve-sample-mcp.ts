// The sample MCP server, or the part of it that the argument names, as a container's program, on port 8080 of the pod.
import { type SamplePart, startSampleServer } from '../../src/demo/sample-mcp-server.ts';

const part = process.argv[2] as SamplePart | undefined;
const server = await startSampleServer({ host: '0.0.0.0', port: 8080, ...(part === undefined ? {} : { part }) });
console.log(`listening at ${server.url}`);
process.on('SIGTERM', () => void server.close().then(() => process.exit(0)));
