// Opens the gateway's own ports: all of them, or an error that names all that cannot be opened. Ports that nobody chose move up when they are taken.
import { ListenFailedError, type PlainServer, PortInUseError } from '../gateway/admin/plain-server.ts';
import type { FlagOrigins, FlagTable } from './flags.ts';
import { PortsTakenError } from './start-error.ts';

/** The flags of the ports. */
export type OwnPort = 'readinessPort' | 'metricsPort' | 'adminPort';

/** A second gateway of the same person finds free ports; whatever holds twenty in a row is not that. */
const mostTries = 20;

/** One port to open. */
export interface PortStarter {
  readonly name: OwnPort;
  readonly port: number;
  readonly start: (port: number) => Promise<PlainServer>;
}

/** A port that is open. */
export interface OpenedPort extends PlainServer {
  /** The port that was wanted, when it was taken; undefined: it is the wanted one. */
  readonly takenPort: number | undefined;
}

/** The ports that neither a flag nor a variable names: they may move. */
export function listMovable<T extends FlagTable>(origins: FlagOrigins<T>): ReadonlySet<OwnPort> {
  const names: readonly OwnPort[] = ['readinessPort', 'metricsPort', 'adminPort'];
  return new Set(names.filter((name) => origins[name] === 'default'));
}

/** Opens them in order. Throws a PortsTakenError when one cannot be opened, and closes the others. */
export async function openOwnPorts(
  starters: readonly PortStarter[],
  movable: ReadonlySet<OwnPort>,
): Promise<readonly OpenedPort[]> {
  const opened: OpenedPort[] = [];
  const problems: string[] = [];
  for (const starter of starters) {
    try {
      opened.push(await openPort(starter, movable.has(starter.name) ? mostTries : 1));
    } catch (error) {
      if (!(error instanceof PortInUseError || error instanceof ListenFailedError)) {
        await closeAll(opened);
        throw error;
      }
      problems.push(error.message);
    }
  }
  if (problems.length === 0) return opened;
  await closeAll(opened);
  throw new PortsTakenError(problems.join('\n'));
}

async function openPort({ port, start }: PortStarter, tries: number): Promise<OpenedPort> {
  for (let step = 0; ; step += 1) {
    try {
      const server = await start(port + step);
      return { ...server, takenPort: step === 0 ? undefined : port };
    } catch (error) {
      if (!(error instanceof PortInUseError) || port === 0 || step + 1 >= tries) throw error;
    }
  }
}

async function closeAll(servers: readonly PlainServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.close()));
}
