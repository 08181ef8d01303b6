// The results of a test run: counts, failures with their output, and the cost of each file.
import type { FileCost, TestEnd } from './lane-messages.ts';

/** A test that failed, or a process that broke off. */
export interface Failure {
  readonly file: string;
  readonly title: string;
  readonly error: string;
}

/** Told as it happens. */
export interface ResultsListener {
  finished(file: string, cost: FileCost | undefined, hasFailed: boolean): void;
}

export class TestResults {
  readonly counts = { tests: 0, suites: 0, passed: 0, failed: 0, skipped: 0, 'to do': 0 };
  readonly failures: Failure[] = [];
  /** The output of the tests of a failed file. */
  readonly outputs = new Map<string, string>();
  readonly costs = new Map<string, FileCost>();
  readonly ends: TestEnd[] = [];
  readonly #running = new Map<string, string>();
  readonly #listener: ResultsListener;

  constructor(listener: ResultsListener) {
    this.#listener = listener;
  }

  begin(file: string): void {
    this.#running.set(file, '');
  }

  /** A test has begun, or is about to be told about: node tells tests in their order. */
  reach(file: string, path: readonly string[]): void {
    if (this.#running.has(file)) this.#running.set(file, ` > ${path.join(' > ')}`);
  }

  /** Files that have begun and not ended, with the last test that was heard of. */
  listRunning(): readonly string[] {
    return [...this.#running].map(([file, at]) => file + at);
  }

  add(end: TestEnd): void {
    this.ends.push(end);
    if (end.isSuite) this.counts.suites += 1;
    else {
      this.counts.tests += 1;
      this.counts[end.outcome] += 1;
    }
    if (end.outcome === 'failed')
      this.failures.push({ file: end.file, title: end.path.join(' > '), error: end.error ?? '' });
  }

  addCost(file: string, cost: FileCost): void {
    this.costs.set(file, cost);
  }

  finish(file: string, output: string): void {
    this.#running.delete(file);
    const hasFailed = this.failures.some((failure) => failure.file === file);
    if (hasFailed) this.outputs.set(file, output);
    this.#listener.finished(file, this.costs.get(file), hasFailed);
  }

  /** The runner complains: a test that goes on after its end, for instance. Such a run is not reliable. */
  warn(text: string, file: string | undefined): void {
    this.failures.push({ file: file ?? '', title: 'a warning of the test runner', error: text });
  }

  /** A process has ended that should not have, in this file or after its last one. */
  breakOff(file: string | undefined, how: number | string, output: string): void {
    // It ends with 1 when tests fail, which is known already.
    if (file === undefined && how === 1 && this.failures.length > 0) return;
    const error = `The process of the tests ended with ${how}.\n${output}`;
    this.failures.push({
      file: file ?? '',
      title: file === undefined ? 'after the last test' : '(the file itself)',
      error,
    });
    if (file !== undefined) this.#listener.finished(file, undefined, true);
  }

  get hasFailed(): boolean {
    return this.failures.length > 0;
  }
}
