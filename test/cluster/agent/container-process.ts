// One run of a container: a process in namespaces of its own, from its start to its end.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import type { ExecResult, ProcessUsage } from '../supervisor-commands.ts';
import { findTool } from '../machine.ts';
import { CommandFailedError, runCommand } from '../run-command.ts';
import { type ContainerPlan, formatContainerScript, launchDescriptor } from './container-script.ts';

/** How a container ended. */
export interface ContainerExit {
  readonly exitCode: number;
  readonly signal?: number;
  readonly finishedAt: Date;
}

const clockTicks = 100;

/** A container that runs or has run. */
export class ContainerProcess {
  readonly startedAt = new Date();
  /** Resolves when it has ended. */
  readonly exited: Promise<ContainerExit>;
  /** Resolves when its namespaces are complete and its program begins, or when it has ended before that. */
  readonly launched: Promise<void>;
  readonly #plan: ContainerPlan;
  readonly #child: ChildProcess;
  #hasEnded = false;

  /** Starts it in a pod's network namespace; its output is added to a file. */
  constructor(plan: ContainerPlan, networkNamespaceFile: string, logFile: string) {
    this.#plan = plan;
    mkdirSync(plan.scratch, { recursive: true });
    mkdirSync(dirname(logFile), { recursive: true });
    const script = `${plan.scratch}.sh`;
    writeFileSync(script, formatContainerScript(plan), { mode: 0o600 });
    const log = openSync(logFile, 'a');
    const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--propagation=private'];
    // A shell stays outside of the process namespace and tells how the container ended. `unshare --fork` would do, but takes
    // SIGKILL for exit code 1. What the shell itself says about it is no part of the log.
    const wait = ['sh', '-c', '(exec sh "$0" 2>&3 3>&-); exit $?', script];
    this.#child = spawn('nsenter', [`--net=${networkNamespaceFile}`, 'unshare', ...namespaces, ...wait], {
      stdio: ['ignore', log, 'ignore', log, 'pipe'],
    });
    closeSync(log);
    this.exited = this.#waitForExit();
    const launch = this.#child.stdio[launchDescriptor] as Readable;
    this.launched = Promise.race([once(launch, 'data'), this.exited]).then(() => void launch.destroy());
  }

  /** The container's first process, as the supervisor sees it; undefined before it is there and after its end. */
  get pid(): number | undefined {
    if (this.#hasEnded || this.#child.pid === undefined) return undefined;
    try {
      const children = readFileSync(`/proc/${this.#child.pid}/task/${this.#child.pid}/children`, 'utf8').trim();
      return children === '' ? undefined : Number(children.split(' ')[0]);
    } catch {
      return undefined;
    }
  }

  /** Sends a signal to the container's first process. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    const pid = await this.#waitForPid();
    if (pid === undefined) return;
    try {
      process.kill(pid, signal);
    } catch (error) {
      // It was faster: a process that has ended needs no signal.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Runs a command in the container, as its user and with its environment. */
  async exec(command: readonly string[], timeoutMs = 60_000): Promise<ExecResult> {
    const pid = await this.#waitForPid();
    if (pid === undefined) return { exitCode: 137, stdout: '', stderr: 'The container does not run.' };
    const enter = [`--target=${pid}`, '--mount', '--uts', '--ipc', '--net', '--pid', `--wd=/proc/${pid}/cwd`];
    const user = [`--setuid=${this.#plan.user}`, `--setgid=${this.#plan.group}`];
    const env = { ...this.#plan.environment };
    // The PATH is that of the container, and says nothing about where the machine has its tools.
    const nsenter = findTool('nsenter') ?? 'nsenter';
    try {
      const output = await runCommand(nsenter, [...enter, ...user, '--', ...command], { env, timeoutMs });
      return { exitCode: 0, ...output };
    } catch (error) {
      if (!(error instanceof CommandFailedError)) throw error;
      return { exitCode: error.exitCode ?? 137, stdout: error.stdout, stderr: error.stderr };
    }
  }

  /** What the kernel counts for the container's first process. */
  async readUsage(): Promise<ProcessUsage> {
    const pid = await this.#waitForPid();
    if (pid === undefined) throw new Error('The container does not run.');
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const kilobytes = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
    // After the program's name, which may contain anything: state is field 3, utime 14, stime 15.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return {
      residentBytes: kilobytes('VmRSS') * 1024,
      peakResidentBytes: kilobytes('VmHWM') * 1024,
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / clockTicks,
    };
  }

  /** Before the launch, signals would be lost on the script, and commands would see the machine. */
  async #waitForPid(): Promise<number | undefined> {
    await this.launched;
    return this.pid;
  }

  async #waitForExit(): Promise<ContainerExit> {
    let [code, signal] = [127 as number | null, null as NodeJS.Signals | null];
    try {
      [code, signal] = (await once(this.#child, 'close')) as [number | null, NodeJS.Signals | null];
    } catch {
      // `nsenter` itself could not be started: 127 is what a shell would say.
    }
    this.#hasEnded = true;
    await rm(`${this.#plan.scratch}.sh`, { force: true });
    const number = signal === null ? undefined : constants.signals[signal];
    return {
      exitCode: code ?? 128 + (number ?? 0),
      ...(number === undefined ? {} : { signal: number }),
      finishedAt: new Date(),
    };
  }
}
