// What --store says: memory, sqlite:PATH, redis://host:port/db or rediss://...
import { resolve } from 'node:path';

/** A Valkey or Redis server. */
export interface RedisAddress {
  readonly kind: 'redis';
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly isTls: boolean;
}

export type StoreAddress =
  | { readonly kind: 'memory' }
  /** `path` is absolute. */
  | { readonly kind: 'sqlite'; readonly path: string }
  | RedisAddress;

/** The address, or what is wrong with the text, to be put after the name of the flag. */
type ReadAddress =
  | { readonly ok: true; readonly address: StoreAddress }
  | { readonly ok: false; readonly problem: string };

const forms = 'memory, sqlite:PATH, redis://host:port/db or rediss://host:port/db';
const defaultPort = 6379;
const maxDatabase = 100_000;

/** Reads --store. No problem repeats a password. */
export function readStoreAddress(text: string): ReadAddress {
  if (text === 'memory') return { ok: true, address: { kind: 'memory' } };
  if (text.startsWith('sqlite:')) return readSqlite(text.slice('sqlite:'.length));
  if (/^rediss?:/i.test(text)) return readRedis(text);
  if (/^valkeys?:/i.test(text))
    return refuse(`must begin with redis:// or rediss:// for Valkey, too: the protocol is the same`);
  // A URL of another scheme may have a password in it.
  return refuse(text.includes('@') ? `must be ${forms}` : `must be ${forms}, not ${JSON.stringify(text)}`);
}

function readSqlite(path: string): ReadAddress {
  if (path === '') return refuse('names no file: sqlite:PATH, such as sqlite:/var/lib/mcp-gatehouse/store.db');
  if (path === ':memory:') return refuse('names no file: use --store memory for a store that is not kept');
  if (path.startsWith('//')) return refuse('must be sqlite:PATH, without slashes in front of an absolute path');
  if (path.includes('\0') || path.endsWith('/')) return refuse(`must name a file, not ${JSON.stringify(path)}`);
  return { ok: true, address: { kind: 'sqlite', path: resolve(path) } };
}

function readRedis(text: string): ReadAddress {
  const url = URL.parse(text);
  if (url === null || url.hostname === '')
    return refuse('must be redis://host:port/db or rediss://host:port/db, such as redis://127.0.0.1:6379/0');
  if (url.password !== '')
    return refuse(
      'must not have a password in it, where others can see it: put it in a file, and name that with --store-password-file',
    );
  if (url.username !== '') return refuse('must not have a user in it: use --store-username');
  if (url.search !== '' || url.hash !== '') return refuse('must not have anything after the number of the database');
  const path = /^\/?(\d{0,6})$/.exec(url.pathname)?.[1];
  if (path === undefined || Number(path) > maxDatabase)
    return refuse(`must have the number of a database as its path, such as /0, not ${JSON.stringify(url.pathname)}`);
  return {
    ok: true,
    address: {
      kind: 'redis',
      // Of an IPv6 address without its brackets.
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? defaultPort : Number(url.port),
      database: Number(path),
      isTls: url.protocol.toLowerCase() === 'rediss:',
    },
  };
}

/** For people. There is nothing secret in it. */
export function formatStoreAddress(address: StoreAddress): string {
  if (address.kind === 'memory') return 'memory';
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : formatRedisAddress(address);
}

/** The same of a server. */
export function formatRedisAddress({ host, port, database, isTls }: RedisAddress): string {
  return `${isTls ? 'rediss' : 'redis'}://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}

function refuse(problem: string): ReadAddress {
  return { ok: false, problem };
}
