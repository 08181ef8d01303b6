// Ports of the demo that are taken: all of them at once, and the command that starts it on free ones. Asked before anything is opened.
import { createServer, type Server } from 'node:net';
import type { OwnPort } from './own-ports.ts';

interface DemoPort {
  readonly flag: string;
  readonly part: string;
  readonly address: string;
  readonly port: number;
}

/** The flags of the demo that name ports, and the address of two of them. */
interface DemoPortValues extends Readonly<Record<OwnPort | 'port' | 'serverPort' | 'officePort' | 'idpPort', number>> {
  readonly observabilityAddress: string;
}

/** How far above a port that is taken a free one is looked for. */
const mostTries = 50;

/** Says which ports are taken, and what to do: one line for one port, a last line for several. Own ports in `movable` find a free one by themselves. */
export async function findTakenDemoPorts(
  values: DemoPortValues,
  movable: ReadonlySet<OwnPort>,
): Promise<readonly string[]> {
  const loopback = '127.0.0.1';
  const address = values.observabilityAddress;
  const own = [
    ['adminPort', { flag: '--admin-port', part: 'the admin pages', address: loopback, port: values.adminPort }],
    ['metricsPort', { flag: '--metrics-port', part: 'metrics', address, port: values.metricsPort }],
    ['readinessPort', { flag: '--readiness-port', part: 'readiness', address, port: values.readinessPort }],
  ] as const;
  const ports: readonly DemoPort[] = [
    { flag: '--port', part: 'the gateway', address: loopback, port: values.port },
    { flag: '--server-port', part: 'the help desk', address: loopback, port: values.serverPort },
    { flag: '--office-port', part: 'the office server', address: loopback, port: values.officePort },
    { flag: '--idp-port', part: 'the identity provider', address: loopback, port: values.idpPort },
    ...own.filter(([name]) => !movable.has(name)).map(([, port]) => port),
  ];
  const held: Server[] = [];
  try {
    const taken: { readonly port: DemoPort; readonly by: DemoPort | undefined }[] = [];
    for (const port of ports) {
      const server = await holdPort(port.address, port.port);
      const by = ports.find((other) => other.port === port.port);
      if (server === undefined) taken.push({ port, by: by === port ? undefined : by });
      else held.push(server);
    }
    if (taken.length === 0) return [];
    const flags: string[] = [];
    for (const { port } of taken) {
      const free = await holdFreePort(port, new Set(ports.map((each) => each.port)));
      if (free === undefined) flags.push(`${port.flag} PORT`);
      else {
        held.push(free.server);
        flags.push(`${port.flag} ${free.port}`);
      }
    }
    const lines = taken.map(({ port, by }) =>
      by === undefined
        ? `port ${port.port} for ${port.part} is in use`
        : `port ${port.port} is used twice, for ${by.part} and for ${port.part}`,
    );
    const remedy = `mcp-gatehouse demo ${flags.join(' ')}`;
    return lines.length === 1 ? [`${lines[0]}; another is free: ${remedy}`] : [...lines, `others are free: ${remedy}`];
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => void server.close(resolve))));
  }
}

async function holdFreePort(
  { address, port }: DemoPort,
  wanted: ReadonlySet<number>,
): Promise<{ readonly server: Server; readonly port: number } | undefined> {
  for (let next = port + 1; next <= Math.min(port + mostTries, 65_535); next += 1) {
    const server = wanted.has(next) ? undefined : await holdPort(address, next);
    if (server !== undefined) return { server, port: next };
  }
  return undefined;
}

/** Undefined: the port is in use. Whatever else is wrong with it is said by who opens it for good. */
function holdPort(address: string, port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'EADDRINUSE' ? undefined : server.removeAllListeners()),
    );
    server.listen({ port, ...(address === '' ? {} : { host: address }) }, () => resolve(server));
  });
}
