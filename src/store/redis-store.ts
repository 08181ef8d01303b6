// The store in Valkey or Redis: every gateway with the same server sees the same entries. Needs GETDEL (Redis 6.2) and scripts. What has to be one step is a
// script of one key.
import type { Log } from '../base/log.ts';
import { readLifetime } from './lifetime.ts';
import type { OpenedStore } from './open-outcome.ts';
import { RedisConnection, RedisRefusal, type RedisReply, type RedisSettings } from './redis-connection.ts';
import { describeRedisError } from './redis-errors.ts';
import { formatRedisAddress } from './store-address.ts';
import type { Store, StoreResult } from './store.ts';

interface RedisStoreOptions extends RedisSettings {
  readonly log: Log;
  /** Tells several gateways on one server apart that must not see each other's entries; empty: none. */
  readonly scope?: string;
  /** How long a connection, and a command, may take. */
  readonly timeoutMs?: number;
  /** A server that refuses is a store that is down, and is tried again. */
  readonly startsAnyway?: boolean;
}

/** All keys begin with it: the pattern of an ACL. */
const prefix = 'mcp-gatehouse:';
const probeLifetimeMs = 60_000;

const countScript = `local sum = redis.call('INCR', KEYS[1])
if sum == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return sum`;

// An expected value, and a next one, are optional: each stands behind 1 or 0.
const compareAndSetScript = `local value = redis.call('GET', KEYS[1])
if ARGV[1] == '1' then
  if value ~= ARGV[2] then return 0 end
elseif value then return 0 end
if ARGV[3] == '1' then redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
else redis.call('DEL', KEYS[1]) end
return 1`;

const addMemberScript = `redis.call('SADD', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`;

/**
 * Connects. A server that cannot be reached is no reason not to start: the store is down until it is there. What only a person can change is a problem: a wrong
 * password, a wrong CA, a server that evicts.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<OpenedStore> {
  const place = formatRedisAddress(options.address);
  const scope = options.scope === undefined || options.scope === '' ? '' : `${options.scope}:`;
  const commands = createCommands(`${prefix}${scope}`);
  let isWarned = false;
  const warnOnce = (message: string): void => {
    if (!isWarned) options.log.warn({ store: place }, message);
    isWarned = true;
  };
  const connection = new RedisConnection({
    settings: options,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    async check(send) {
      await checkEviction(send, warnOnce);
      // Whether the user may do all of it shows now, not at the first login.
      for (const command of commands.listAll()) await send(command);
    },
  });
  const problem = await connection.open({ isPatient: options.startsAnyway === true });
  if (problem?.isFinal === true && options.startsAnyway !== true) {
    connection.close();
    return { ok: false, problem: `the store ${place} cannot be used: ${problem.detail}` };
  }
  return { ok: true, store: createStore(connection, commands, place) };
}

/** Evicted entries would make used ones usable again. Throws when the server evicts; warns when it does not say. */
async function checkEviction(
  send: (command: readonly string[]) => Promise<RedisReply>,
  warn: (message: string) => void,
): Promise<void> {
  const policy =
    (await readPolicy(send, ['CONFIG', 'GET', 'maxmemory-policy'])) ?? (await readPolicy(send, ['INFO', 'memory']));
  if (policy === undefined) {
    warn(
      'the store does not tell its maxmemory-policy. Make sure that it is noeviction: an evicted entry can make a used token usable again. With the right to run INFO it is checked',
    );
    return;
  }
  if (policy === 'noeviction') return;
  throw new RedisRefusal(
    `its maxmemory-policy is ${policy}, and an evicted entry can make a used token usable again. Set maxmemory-policy to noeviction`,
  );
}

/** Undefined: the server does not say, or not to this user. */
async function readPolicy(
  send: (command: readonly string[]) => Promise<RedisReply>,
  command: readonly string[],
): Promise<string | undefined> {
  let reply: RedisReply;
  try {
    reply = await send(command);
  } catch (error) {
    const isDenied = error instanceof Error && /^(?:NOPERM|ERR) /.test(error.message);
    if (isDenied) return undefined;
    throw error;
  }
  const text = Array.isArray(reply) ? reply[1] : reply;
  if (typeof text !== 'string') return undefined;
  return command[0] === 'INFO' ? /^maxmemory_policy:([\w-]+)/m.exec(text)?.[1] : text;
}

/** The commands, as lists of words. Values, counters and sets do not share keys. */
function createCommands(space: string) {
  const value = (key: string): string => `${space}v:${key}`;
  const counter = (key: string): string => `${space}c:${key}`;
  const set = (key: string): string => `${space}s:${key}`;
  const optional = (text: string | undefined): string[] => (text === undefined ? ['0', ''] : ['1', text]);
  const commands = {
    put: (key: string, text: string, ms: number) => ['SET', value(key), text, 'PX', `${ms}`],
    get: (key: string) => ['GET', value(key)],
    take: (key: string) => ['GETDEL', value(key)],
    count: (key: string, ms: number) => ['EVAL', countScript, '1', counter(key), `${ms}`],
    compareAndSet: (key: string, expected: string | undefined, next: string | undefined, ms: number) => [
      'EVAL',
      compareAndSetScript,
      '1',
      value(key),
      ...optional(expected),
      ...optional(next),
      `${ms}`,
    ],
    addMember: (key: string, member: string, ms: number) => ['EVAL', addMemberScript, '1', set(key), member, `${ms}`],
    removeMember: (key: string, member: string) => ['SREM', set(key), member],
    listMembers: (key: string, limit: number) => ['SRANDMEMBER', set(key), `${limit}`],
    /** Each of them once, with every command inside the scripts; nothing of it stays. */
    listAll: (): readonly (readonly string[])[] => {
      const key = `probe-${process.pid}-${Date.now()}`;
      return [
        commands.put(key, 'probe', probeLifetimeMs),
        commands.compareAndSet(key, 'probe', 'next', probeLifetimeMs),
        commands.get(key),
        commands.compareAndSet(key, 'next', undefined, probeLifetimeMs),
        commands.take(key),
        commands.count(key, 1),
        commands.addMember(key, 'probe', probeLifetimeMs),
        commands.listMembers(key, 1),
        commands.removeMember(key, 'probe'),
      ];
    },
  };
  return commands;
}

function createStore(connection: RedisConnection, commands: ReturnType<typeof createCommands>, place: string): Store {
  const run = async <T>(command: readonly string[], read: (reply: RedisReply) => T): Promise<StoreResult<T>> => {
    let reply: RedisReply;
    try {
      reply = await connection.send(command);
    } catch (error) {
      const detail = error instanceof RedisRefusal ? error.message : describeRedisError(error).detail;
      return { ok: false, detail: `${place}: ${detail}` };
    }
    return { ok: true, value: read(reply) };
  };
  const ignore = (): undefined => undefined;
  const readText = (reply: RedisReply): string | undefined => (typeof reply === 'string' ? reply : undefined);
  return {
    kind: 'redis',
    reach: 'shared',
    put: async (key, value, lifetimeMs) => run(commands.put(key, value, readLifetime(lifetimeMs)), ignore),
    get: (key) => run(commands.get(key), readText),
    take: (key) => run(commands.take(key), readText),
    count: async (key, windowMs) => run(commands.count(key, readLifetime(windowMs)), Number),
    compareAndSet: async (key, expected, next, lifetimeMs) =>
      run(commands.compareAndSet(key, expected, next, readLifetime(lifetimeMs)), (reply) => reply === 1),
    addMember: async (key, member, lifetimeMs) =>
      run(commands.addMember(key, member, readLifetime(lifetimeMs)), ignore),
    removeMember: (key, member) => run(commands.removeMember(key, member), ignore),
    listMembers: (key, limit) =>
      run(commands.listMembers(key, limit), (reply) => (Array.isArray(reply) ? reply.map(String) : [])),
    // A write: a server that is full, or a replica, answers everything else.
    probe: () => run(commands.put(`probe-${process.pid}`, '', probeLifetimeMs), ignore),
    async close() {
      connection.close();
    },
  };
}
