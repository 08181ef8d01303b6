// `mcp-gatehouse probe`: from inside of a cluster, is a controller ready and does it serve xDS? What `helm test` runs; the image has no shell for it.
import { readFile } from 'node:fs/promises';
import { probeXdsServer } from '../xds/probe-server.ts';
import { defineCommand, refuse } from './command.ts';
import { keepProbing, type ProbeTimes } from './probe/keep-probing.ts';
import { probeReadiness } from './probe/probe-readiness.ts';
import type { CommandIo } from './process-host.ts';

interface Check {
  readonly name: string;
  readonly good: string;
  readonly probe: (signal: AbortSignal) => Promise<string | undefined>;
}

const attemptMs = 5_000;
const pauseMs = 250;

export const probeCommand = defineCommand({
  name: 'probe',
  usage: '[--ready URL] [--xds HOST:PORT [--ca FILE]] [--timeout DURATION]',
  summary: `Checks a controller from where gateways are, and prints one line per check. It asks again until all is well, or the time is over.

Exit code: 0 all is well; 1 something is not; 2 wrong usage.`,
  flags: {
    ready: { type: 'string', placeholder: 'URL', help: 'A readiness page, which must answer with 200' },
    xds: {
      type: 'string',
      placeholder: 'HOST:PORT',
      help: 'The port for gateways: it must speak xDS, and refuse a peer without a token as unauthenticated',
    },
    ca: {
      type: 'string',
      placeholder: 'FILE',
      help: 'With --xds: speak TLS, and trust the authorities in this file (PEM)',
    },
    timeout: { type: 'duration', default: 30_000, min: 1, help: 'How long to wait until all is well' },
  },
  examples: [
    'mcp-gatehouse probe --ready http://proxy.proxy-system.svc:9093/readyz --xds proxy.proxy-system.svc:9978',
    'mcp-gatehouse probe --xds proxy.proxy-system.svc:9978 --ca /etc/mcp-gateway/xds-ca/ca.crt --timeout 1m',
  ],
  async run({ ready, xds, ca, timeout }, io) {
    const problems: string[] = [];
    if (ready === undefined && xds === undefined) problems.push('say what to check: --ready URL, --xds HOST:PORT');
    if (ready !== undefined && !/^https?:$/.test(URL.parse(ready)?.protocol ?? ''))
      problems.push(
        `--ready must be a URL such as http://proxy.proxy-system.svc:9093/readyz, not ${JSON.stringify(ready)}`,
      );
    const server = xds === undefined ? undefined : formatServer(xds, ca !== undefined);
    if (xds !== undefined && server === undefined)
      problems.push(`--xds must be a host and a port such as proxy.proxy-system.svc:9978, not ${JSON.stringify(xds)}`);
    if (ca !== undefined && xds === undefined) problems.push('--ca goes with --xds');
    if (problems.length > 0) return refuse(...problems);

    const checks: Check[] = [];
    if (ready !== undefined)
      checks.push({ name: `ready ${ready}`, good: 'yes', probe: (signal) => probeReadiness(ready, signal) });
    if (xds !== undefined && server !== undefined)
      checks.push({
        name: `xds ${xds}`,
        good: `served ${ca === undefined ? 'without TLS' : 'over TLS'}, and peers without a token are refused`,
        probe: (signal) => probeXds(server, ca, signal),
      });
    const outcomes = await runChecks(checks, { timeoutMs: timeout, attemptMs, pauseMs }, io);
    return outcomes.every(Boolean) ? 0 : 1;
  },
});

/** All at once; the lines come in the order of the checks. */
async function runChecks(checks: readonly Check[], times: ProbeTimes, io: CommandIo): Promise<readonly boolean[]> {
  const running = checks.map(({ probe }) => keepProbing(probe, times));
  const outcomes: boolean[] = [];
  for (const [index, { name, good }] of checks.entries()) {
    const problem = await running[index];
    if (problem === undefined) io.stdout(`${name}: ${good}\n`);
    else io.stderr(`${name}: ${problem}\n`);
    outcomes.push(problem === undefined);
  }
  return outcomes;
}

/** The file is read each time: a Secret may come later. */
async function probeXds(server: string, file: string | undefined, signal: AbortSignal): Promise<string | undefined> {
  let ca: string | undefined;
  try {
    ca = file === undefined ? undefined : await readFile(file, 'utf8');
  } catch (error) {
    return `${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`;
  }
  return probeXdsServer({ server, ca, signal });
}

function formatServer(text: string, hasTls: boolean): string | undefined {
  const scheme = hasTls ? 'https' : 'http';
  const url = /:\d+$/.test(text) ? URL.parse(`${scheme}://${text}`) : null;
  // A port that the scheme has by itself is left out of a URL.
  return url === null || url.pathname !== '/' || url.username !== '' || url.search !== '' ? undefined : url.origin;
}
