// One connection to a Valkey or Redis server: connects, checks the server before anything is kept there, notices when it hangs, and connects again. While there is
// no connection, commands fail at once: nothing waits in a queue. Loaded only with such a store, and the client library with it.
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { createClient } from '@redis/client';
import { type Backoff, createBackoff } from '../base/backoff.ts';
import { describeRedisError, type RedisProblem, RedisTimeoutError } from './redis-errors.ts';
import type { RedisAddress } from './store-address.ts';

/** How to get there. Files are read again for every connection: passwords and CAs rotate. */
export interface RedisSettings {
  readonly address: RedisAddress;
  readonly username: string | undefined;
  readonly passwordFile: string | undefined;
  readonly caFile: string | undefined;
}

/** An answer, as far as the commands in use have one. */
export type RedisReply = string | number | null | readonly RedisReply[];

type SendCommand = (command: readonly string[]) => Promise<RedisReply>;

interface ConnectionOptions {
  readonly settings: RedisSettings;
  /** Runs on every new connection, before others may use it. Throws when the server cannot be used. */
  readonly check: (send: SendCommand) => Promise<void>;
  readonly timeoutMs?: number;
}

/** What is needed of the library. */
interface Client {
  connect(): Promise<unknown>;
  sendCommand<T>(command: readonly string[]): Promise<T>;
  destroy(): void;
  unref(): void;
  on(event: 'error' | 'end', listener: (error?: unknown) => void): unknown;
}

/** The server cannot be used as it is, in words. */
export class RedisRefusal extends Error {
  readonly code = 'redis_refused';
}

/** How long a connection, and a command, may take. */
const defaultTimeoutMs = 1_500;
/** Commands that wait for an answer. */
const maxPending = 1_000;

/** See above. */
export class RedisConnection {
  readonly #options: ConnectionOptions;
  readonly #timeoutMs: number;
  readonly #backoff: Backoff = createBackoff({ firstMs: 100, maxMs: 5_000, random: Math.random, jitter: [0.5, 1] });
  #client: Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Why there is no connection. */
  #problem: RedisProblem = { isFinal: false, detail: 'there is no connection yet' };

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  }

  /** Tries once. Undefined: connected. After a problem it goes on trying, unless it is final; `isPatient`: also then. */
  async open({ isPatient }: { readonly isPatient: boolean }): Promise<RedisProblem | undefined> {
    const problem = await this.#connect();
    if (problem !== undefined && (isPatient || !problem.isFinal)) this.#connectLater();
    return problem;
  }

  /** The answer; throws an error that describeRedisError knows. */
  async send(command: readonly string[]): Promise<RedisReply> {
    const client = this.#client;
    if (client === undefined) throw new RedisRefusal(this.#problem.detail);
    try {
      return await this.#within(client.sendCommand<RedisReply>(command));
    } catch (error) {
      // The answer may still come, or never: the connection cannot be used for anything else.
      if (error instanceof RedisTimeoutError) this.#lose(client, error);
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    const client = this.#client;
    this.#client = undefined;
    this.#problem = { isFinal: true, detail: 'it is closed' };
    client?.destroy();
  }

  async #connect(): Promise<RedisProblem | undefined> {
    let client: Client | undefined;
    try {
      const made = await this.#createClient();
      client = made;
      made.on('error', (error) => this.#lose(made, error));
      made.on('end', () => this.#lose(made, undefined));
      await this.#within(made.connect());
      made.unref();
      await this.#options.check((command) => this.#within(made.sendCommand<RedisReply>(command)));
      if (this.#isClosed) {
        made.destroy();
        return this.#problem;
      }
      this.#client = made;
      this.#backoff.reset();
      return undefined;
    } catch (error) {
      client?.destroy();
      if (this.#isClosed) return this.#problem;
      this.#problem =
        error instanceof RedisRefusal ? { isFinal: true, detail: error.message } : describeRedisError(error);
      return this.#problem;
    }
  }

  async #createClient(): Promise<Client> {
    const { address, username, passwordFile, caFile } = this.#options.settings;
    const [password, ca] = await Promise.all([
      readSetting(passwordFile, '--store-password-file'),
      readSetting(caFile, '--store-ca-file'),
    ]);
    const { host, port } = address;
    const common = { host, port, connectTimeout: 2 * this.#timeoutMs, reconnectStrategy: false } as const;
    return createClient({
      RESP: 2,
      socket: address.isTls
        ? {
            ...common,
            tls: true,
            ...(ca !== undefined && { ca }),
            // For an IP address there is no name to send; the certificate is compared with the address.
            ...(isIP(host) === 0 && { servername: host }),
          }
        : common,
      ...(password !== undefined && { password }),
      ...(username !== undefined && { username }),
      database: address.database,
      disableOfflineQueue: true,
      commandsQueueMaxLength: maxPending,
      // Commands that a minimal ACL would have to allow.
      disableClientInfo: true,
      maintNotifications: 'disabled',
    });
  }

  #lose(client: Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    if (error !== undefined) this.#problem = describeRedisError(error);
    else this.#problem = { isFinal: false, detail: 'it closed the connection' };
    client.destroy();
    this.#connectLater();
  }

  #connectLater(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      void this.#connect().then((problem) => {
        // Also after one that is final at the start: somebody may be changing the password.
        if (problem !== undefined) this.#connectLater();
      });
    }, this.#backoff.next());
    this.#retry.unref();
  }

  /** The result, or a RedisTimeoutError. Connections do not keep the process alive, so whoever waits for an answer has to: the timer does. */
  async #within<T>(promise: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      // If this process was busy for so long, the answer may be there and not be read yet: sockets come after timers.
      timer = setTimeout(() => {
        setImmediate(() => reject(new RedisTimeoutError('no answer in time')));
      }, this.#timeoutMs);
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The content of a file; a RedisRefusal when it cannot be used. */
async function readSetting(path: string | undefined, flag: string): Promise<string | undefined> {
  if (path === undefined) return undefined;
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new RedisRefusal(`the file ${path} of ${flag} cannot be read (${code})`, { cause: error });
  }
  if (text === '') throw new RedisRefusal(`the file ${path} of ${flag} is empty`);
  return text;
}
