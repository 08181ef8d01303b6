// The set of open ports: follows the configuration and keeps connections wherever possible.
import type { AddressInfo } from 'node:net';
import type { Log } from '../../base/log.ts';
import type { PortConfig } from '../config/runtime-config.ts';
import { type BoundPort, bindPort } from './bound-port.ts';
import { ConnectionBudget } from './connection-budget.ts';
import type { ExchangeHandler, ListenEvent, PortContext } from './port-context.ts';
import type { ListenLimits } from './limits.ts';
import { createHttp1Server } from './http1-server.ts';
import { findSuccessor, formatPlace, standIn } from './port-successor.ts';

/** Dependencies and settings of the set. */
export interface ListenersOptions {
  readonly handler: ExchangeHandler;
  readonly limits: ListenLimits;
  readonly log: Log;
  /** For metrics and the inspector. */
  readonly onEvent?: (event: ListenEvent) => void;
  /** How long requests and streams of a removed port may go on. */
  readonly drainMs?: number;
  /** Other processes of this gateway listen on the same ports. Default false: this process owns its ports. */
  readonly reusePort?: boolean;
  /** Ports that somebody else has: they are not opened, and whoever knows of them reports them. None when absent. */
  readonly isBlocked?: (bindKey: string) => boolean;
}

/** A port that could not be bound. It is tried again at the next reconcile. */
export interface BindProblem {
  readonly bindKey: string;
  /** EADDRINUSE, EACCES, EADDRNOTAVAIL... */
  readonly code: string;
  readonly message: string;
}

/** The open ports of one process. */
export interface Listeners {
  /** Opens and closes ports as the configuration says. Ports whose configuration changed keep their connections. */
  reconcile(ports: ReadonlyMap<string, PortConfig>): Promise<BindProblem[]>;
  /** The actual addresses of the open ports, by bind key. */
  addresses(): ReadonlyMap<string, AddressInfo>;
  /** Open client connections over all ports, also those of ports that are closing. */
  connectionCount(): number;
  /** Closes only the listening sockets. Called before several processes on the same ports drain, so that no client reconnects to one that is about to close. */
  stopAccepting(): Promise<void>;
  /** While true, clients have to connect anew for their next requests, so that a load balancer can choose another process. */
  sendClientsAway(isOn: boolean): void;
  /** Shuts down gracefully; connections that outlive the timeout are aborted. Resolves when all is closed. */
  drain(options: { readonly timeoutMs: number }): Promise<void>;
}

interface OpenPort {
  readonly context: { config: PortConfig } & PortContext;
  readonly bound: BoundPort;
}

const defaultDrainMs = 30_000;

/** Creates the set, with no port open yet. */
export function createListeners(options: ListenersOptions): Listeners {
  const { handler, limits, log } = options;
  const onEvent = options.onEvent ?? (() => {});
  const drainMs = options.drainMs ?? defaultDrainMs;
  const budget = new ConnectionBudget(limits.maxConnections);
  const http1 = createHttp1Server(limits);
  const open = new Map<string, OpenPort>();
  const closing = new Set<{ readonly bound: BoundPort; readonly done: Promise<void> }>();
  let queue: Promise<unknown> = Promise.resolve();
  let sendsAway = false;
  let drained: Promise<void> | undefined;

  const startClosing = (bindKey: string, timeoutMs: number): void => {
    const port = open.get(bindKey);
    if (port === undefined) return;
    open.delete(bindKey);
    const entry = { bound: port.bound, done: port.bound.drain(timeoutMs) };
    closing.add(entry);
    void entry.done.finally(() => closing.delete(entry));
    log.info({ bindKey }, 'port closed');
  };

  const bind = async (config: PortConfig): Promise<BindProblem | undefined> => {
    const { bindKey } = config;
    const context = { bindKey, config, handler, limits, log, onEvent, reusePort: options.reusePort ?? false };
    try {
      const bound = await bindPort(context, http1, budget);
      bound.sendClientsAway(sendsAway);
      open.set(bindKey, { context, bound });
      log.info({ bindKey, address: bound.address.address, port: bound.address.port }, 'port open');
      return undefined;
    } catch (error) {
      return describeBindProblem(config, error);
    }
  };

  const reconcile = async (ports: ReadonlyMap<string, PortConfig>): Promise<BindProblem[]> => {
    if (drained !== undefined) return [];
    const missing = [...ports.values()].filter(
      ({ bindKey, protocol }) => open.get(bindKey)?.context.config.protocol !== protocol,
    );
    const moving = new Map<string, PortConfig>();
    for (const [bindKey, port] of open) {
      const { config: former } = port.context;
      const config = ports.get(bindKey);
      const successor = config === undefined ? findSuccessor(former, missing) : undefined;
      if (successor !== undefined) moving.set(bindKey, successor);
      else if (config === undefined || config.protocol !== former.protocol) startClosing(bindKey, drainMs);
      else port.context.config = config;
    }
    await Promise.all([...closing].map(({ bound }) => bound.stopAccepting()));
    const isBlocked = options.isBlocked ?? (() => false);
    const free = missing.filter(({ bindKey }) => !isBlocked(bindKey));
    const problems = (await Promise.all(free.map((config) => bind(config)))).filter((problem) => problem !== undefined);
    for (const [bindKey, successor] of moving) {
      const port = open.get(bindKey)!;
      if (open.has(successor.bindKey)) startClosing(bindKey, drainMs);
      else port.context.config = standIn(port.context.config, successor);
    }
    await Promise.all([...closing].map(({ bound }) => bound.stopAccepting()));
    return problems.map((problem) => nameStandIns(problem, moving, (bindKey) => open.get(bindKey)?.context.config));
  };

  const enqueue = <T>(work: () => Promise<T>): Promise<T> => {
    const result = queue.then(work);
    queue = result.catch(() => {});
    return result;
  };

  return {
    reconcile: (ports) => enqueue(() => reconcile(ports)),
    addresses: () => new Map([...open].map(([bindKey, { bound }]) => [bindKey, bound.address])),
    connectionCount: () => budget.taken,
    stopAccepting: () =>
      enqueue(async () => {
        await Promise.all([...open.values()].map(({ bound }) => bound.stopAccepting()));
      }),
    sendClientsAway(isOn) {
      sendsAway = isOn;
      for (const { bound } of open.values()) bound.sendClientsAway(isOn);
    },
    drain({ timeoutMs }) {
      drained ??= enqueue(async () => {
        for (const bindKey of open.keys()) startClosing(bindKey, timeoutMs);
        const time = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref());
        // Ports that were removed earlier have their own timeout; a shutdown does not wait longer for them than for the others.
        const before = [...closing];
        void time.then(() => Promise.all(before.map(({ bound }) => bound.drain(0))));
        await Promise.all(before.map(({ done }) => done));
        http1.close();
      });
      return drained;
    },
  };
}

/** Adds to a problem which ports stay open in the place of the one that could not be opened. */
export function nameStandIns(
  problem: BindProblem,
  moving: ReadonlyMap<string, PortConfig>,
  findConfig: (bindKey: string) => PortConfig | undefined,
): BindProblem {
  const places = [...moving].flatMap(([bindKey, successor]) => {
    const config = successor.bindKey === problem.bindKey ? findConfig(bindKey) : undefined;
    return config === undefined ? [] : [formatPlace(config)];
  });
  if (places.length === 0) return problem;
  return { ...problem, message: `${problem.message} Until then ${places.join(', ')} stays open in its place.` };
}

/** Explains to the operator why a port is not open. */
export function describeBindProblem(config: PortConfig, error: unknown): BindProblem {
  const code = (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN';
  const where = formatPlace(config);
  const explanations: Record<string, string> = {
    EADDRINUSE: `Cannot listen on ${where}: another process or listener already uses it. End that one, or choose another port.`,
    EACCES: `Cannot listen on ${where}: this process has no permission. Ports below 1024 usually need extra rights; choose another, such as 8080.`,
    EADDRNOTAVAIL: `Cannot listen on ${where}: this machine does not have that address. Use one that it has, or none for all of them.`,
    ENOTFOUND: `Cannot listen on ${where}: the address cannot be resolved.`,
  };
  const message =
    explanations[code] ?? `Cannot listen on ${where}: ${error instanceof Error ? error.message : String(error)}.`;
  return { bindKey: config.bindKey, code, message };
}
