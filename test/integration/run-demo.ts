// Starts the demo as `npm start` does: a process, with free ports for all of its parts.
import { type Child, startChild } from '../kit/child-process.ts';
import { program } from '../kit/gateway-program.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';

/** The flags that name ports, each with the part that listens there. */
export const demoPortFlags = {
  '--port': 'gateway',
  '--server-port': 'help desk',
  '--office-port': 'office server',
  '--idp-port': 'identity provider',
  '--admin-port': 'admin',
  '--metrics-port': 'metrics',
  '--readiness-port': 'readiness',
} as const;

/** Any of them. */
export type DemoPortFlag = keyof typeof demoPortFlags;

/** The process, and where everything is. */
export interface StartedDemo {
  readonly child: Child;
  readonly url: string;
  readonly ports: Readonly<Record<DemoPortFlag, number>>;
}

/** Starts the process; `taken` are ports to use in spite of everything. */
export async function startDemo(taken: Partial<Record<DemoPortFlag, number>> = {}): Promise<StartedDemo> {
  const names = Object.keys(demoPortFlags) as DemoPortFlag[];
  const free = await findFreePorts(names.length);
  const ports = Object.fromEntries(names.map((name, index) => [name, taken[name] ?? free[index]!])) as Record<
    DemoPortFlag,
    number
  >;
  const flags = names.flatMap((name) => [name, String(ports[name])]);
  const child = startChild({ command: process.execPath, args: [program, 'demo', ...flags] });
  return { child, ports, url: `http://127.0.0.1:${ports['--port']}` };
}

/** Starts the demo and waits until it says that it is ready. */
export async function runDemo(): Promise<StartedDemo> {
  const demo = await startDemo();
  await waitFor(() => {
    if (demo.child.exitCode() !== undefined) throw new Error(`the demo ended:\n${demo.child.readOutput()}`);
    return demo.child.readOutput().includes('The demo is ready');
  });
  return demo;
}
