// What tests start: the launcher, as users do. It takes the program that `npm run build` has made when that is of the sources that are there, and
// otherwise the sources, and keeps what Node compiles from one start to the next: hundreds of gateways are started in a run of the tests.
import { fileURLToPath } from 'node:url';

/** The file to give to Node, before the command. */
export const program = fileURLToPath(new URL('../../bin/mcp-gatehouse.mjs', import.meta.url));

/** In its place, for a test that looks at which of the sources are loaded. */
export const sources = fileURLToPath(new URL('../../src/cmd/main.ts', import.meta.url));
