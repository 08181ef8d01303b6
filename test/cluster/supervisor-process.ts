// Starts the supervisor of a test cluster inside new namespaces, and asks it things.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { machinePath } from './machine.ts';
import type { SupervisorCommands, SupervisorMessage } from './supervisor-commands.ts';

/** Thrown when the supervisor reports a problem or ends. */
export class SupervisorError extends Error {
  readonly code = 'SUPERVISOR_ERROR';
}

/**
 * Keeps the cluster and cleans up after a test process that was killed. Whoever in this chain dies, the kernel kills the one below:
 * the test process -> this shell -> `unshare` -> the first process of the cluster's process namespace, and with that one all others.
 * That first process is a shell too: it buries orphans, which Node would not.
 */
const keeper = `
  folder=$0
  setpriv --pdeathsig KILL unshare --mount --net --pid --ipc --uts --fork --mount-proc --kill-child=KILL \\
    sh -c '"$0" "$@"; exit $?' "$@" &
  child=$!
  trap 'kill -9 $child; wait $child; rm -rf "$folder"; exit 0' TERM
  wait $child`;

interface Waiter {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The supervisor, as its parent sees it. */
export class SupervisorProcess {
  readonly #child: ChildProcess;
  readonly #waiters = new Map<number, Waiter>();
  readonly #exited: Promise<unknown>;
  readonly #started = Promise.withResolvers<void>();
  #lastId = 0;
  #isOver = false;

  /** Starts it; its own log goes to `supervisor.log` in the folder of the run. */
  constructor(folder: string) {
    const log = openSync(join(folder, 'supervisor.log'), 'a');
    const main = join(import.meta.dirname, 'supervisor', 'main.ts');
    const program = [process.execPath, '--import', join(import.meta.dirname, '..', 'keep-compiled-code.mjs'), main];
    this.#child = spawn('setpriv', ['--pdeathsig', 'TERM', 'sh', '-c', keeper, folder, ...program], {
      stdio: ['ignore', log, log, 'ipc'],
      // Ctrl-C must not tear the cluster down under a test that is about to stop it.
      detached: true,
      env: { ...process.env, PATH: machinePath },
    });
    closeSync(log);
    this.#child.on('message', (message: SupervisorMessage) => this.#hear(message));
    this.#exited = once(this.#child, 'exit').then(
      () => this.#fail(`The supervisor of the cluster ended. Its log: ${join(folder, 'supervisor.log')}`),
      (error: unknown) => this.#fail(`The supervisor of the cluster cannot be started: ${String(error)}`),
    );
    this.#started.promise.catch(() => undefined);
  }

  /** The process in the cluster's namespaces whose end is the end of them all; undefined before it is there and after that. */
  get pid(): number | undefined {
    try {
      const children = readFileSync(`/proc/${this.#child.pid}/task/${this.#child.pid}/children`, 'utf8').trim();
      return children === '' ? undefined : Number(children);
    } catch {
      return undefined;
    }
  }

  /** Whether this process stays for as long as the supervisor does. */
  setBinding(isBound: boolean): void {
    for (const handle of [this.#child, this.#child.channel]) {
      if (isBound) handle?.ref();
      else handle?.unref();
    }
  }

  /** Resolves when it can be asked. */
  waitStarted(): Promise<void> {
    return this.#started.promise;
  }

  /** Asks, and waits for the answer. */
  async call<Name extends keyof SupervisorCommands>(
    command: Name,
    ...params: Parameters<SupervisorCommands[Name]>
  ): Promise<Awaited<ReturnType<SupervisorCommands[Name]>>> {
    if (this.#isOver) throw new SupervisorError('The cluster has been stopped.');
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiters.set(id, { resolve, reject });
    // A supervisor that does not take it any more is about to end, and whoever asked is told then.
    this.#child.send({ id, command, params: params[0] }, () => undefined);
    return (await promise) as Awaited<ReturnType<SupervisorCommands[Name]>>;
  }

  /** Ends it and all that is in its namespaces, and waits for that. */
  async stop(): Promise<void> {
    const { pid } = this;
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    else if (!this.#isOver) this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #hear(message: SupervisorMessage): void {
    if ('started' in message) return this.#started.resolve();
    const waiter = this.#waiters.get(message.id);
    this.#waiters.delete(message.id);
    if (message.error === undefined) waiter?.resolve(message.result);
    else waiter?.reject(new SupervisorError(message.error));
  }

  #fail(text: string): void {
    this.#isOver = true;
    const error = new SupervisorError(text);
    this.#started.reject(error);
    for (const waiter of this.#waiters.values()) waiter.reject(error);
    this.#waiters.clear();
  }
}
