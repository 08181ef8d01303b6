// The store in a file, through SQLite, which is a part of Node: for one machine. All its processes see the same entries, and a restart finds them again. Its calls
// block the process for as long as the disk needs: nothing on the path of an MCP request may use it.
import { setTimeout as delay } from 'node:timers/promises';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { findBackoffDelay } from '../base/backoff.ts';
import { readLifetime } from './lifetime.ts';
import type { OpenedStore } from './open-outcome.ts';
import { findPrivateFileProblem } from './private-file.ts';
import type { Store, StoreResult } from './store.ts';

interface SqliteStoreOptions {
  readonly now?: () => number;
  /** The most pages of 4 KiB that the file may have. */
  readonly maxPages?: number;
  /** How long a call waits for another process that writes. */
  readonly patienceMs?: number;
  /** Node's SQLite; undefined: this Node has none. */
  readonly loadSqlite?: () => typeof import('node:sqlite') | undefined;
}

/** Says whose file it is: the letters "mcpg". */
const applicationId = 0x6d637067;
const schemaVersion = 1;
/** 1 GiB: enough for millions of logins, and no way to fill a disk. */
const defaultMaxPages = 262_144;
/** How long opening may block this process because another one writes. */
const busyTimeoutMs = 500;
/** While another process writes, which may wait for its disk, a call waits for so long, without blocking this process. */
const defaultPatienceMs = 3_000;
const pauses = { firstMs: 2, maxMs: 50, random: Math.random, jitter: [0.5, 1] } as const;
const openTries = 5;
const sweepEveryMs = 60_000;
/** What one sweep removes at most from each table, so that it does not block for long. */
const sweepLimit = 1_000;

const codes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  noDatabase: 26,
};

const schema = `
  CREATE TABLE entry (key TEXT PRIMARY KEY, value TEXT NOT NULL, ends_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX entry_ends_at ON entry (ends_at);
  CREATE TABLE counter (key TEXT PRIMARY KEY, count INTEGER NOT NULL, ends_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX counter_ends_at ON counter (ends_at);
  CREATE TABLE member_set (key TEXT PRIMARY KEY, ends_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX member_set_ends_at ON member_set (ends_at);
  CREATE TABLE member (
    key TEXT NOT NULL REFERENCES member_set (key) ON DELETE CASCADE, member TEXT NOT NULL, PRIMARY KEY (key, member)
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
`;

/** Opens the file, and makes it when there is none. `path` is absolute. */
export async function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<OpenedStore> {
  const sqlite = (options.loadSqlite ?? loadSqlite)();
  if (sqlite === undefined) {
    const problem = `the store ${path} needs a Node with SQLite inside (22.13 or newer), and this is Node ${process.versions.node}`;
    return { ok: false, problem };
  }
  const fileProblem = findPrivateFileProblem(path);
  if (fileProblem !== undefined) return { ok: false, problem: fileProblem };
  for (let tries = 1; ; tries += 1) {
    let database: DatabaseSync | undefined;
    try {
      database = new sqlite.DatabaseSync(path, { timeout: busyTimeoutMs });
      const problem = prepareDatabase(database, path, options.maxPages ?? defaultMaxPages);
      if (problem === undefined) return { ok: true, store: createStore(database, options) };
      database.close();
      return { ok: false, problem };
    } catch (error) {
      closeQuietly(database);
      // Two processes that make the same file at once.
      if (readSqliteCode(error) === codes.busy && tries < openTries) {
        await delay(100);
        continue;
      }
      return { ok: false, problem: `the store ${path} cannot be opened: ${describeSqliteError(error)}` };
    }
  }
}

function loadSqlite(): typeof import('node:sqlite') | undefined {
  return process.getBuiltinModule('node:sqlite');
}

/** A sentence when the file is none of ours; nothing is changed in it then. */
function prepareDatabase(database: DatabaseSync, path: string, maxPages: number): string | undefined {
  const problem = findForeign(database, path);
  if (problem !== undefined) return problem;
  // What was answered must survive a power failure: a revoked login would be back.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF');
  database.exec(`PRAGMA max_page_count = ${maxPages}`);
  database.exec('BEGIN IMMEDIATE');
  if (readPragma(database, 'schema_version') === 0) database.exec(schema);
  database.exec('COMMIT');
  // From here on calls wait outside of SQLite.
  database.exec('PRAGMA busy_timeout = 0');
  return undefined;
}

function findForeign(database: DatabaseSync, path: string): string | undefined {
  // Nothing was ever written to it.
  if (readPragma(database, 'schema_version') === 0) return undefined;
  if (readPragma(database, 'application_id') !== applicationId)
    return `${path} is a database of another program; choose another file for the store`;
  const version = readPragma(database, 'user_version');
  return version === schemaVersion
    ? undefined
    : `the store ${path} was written by another version of mcp-gatehouse (format ${version}, this one has ${schemaVersion}); choose another file, or delete it: everybody logs in again then`;
}

function readPragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

function createStore(
  database: DatabaseSync,
  { now = Date.now, patienceMs = defaultPatienceMs }: SqliteStoreOptions,
): Store {
  const statements = prepareStatements(database);
  let sweptAtMs = Number.NEGATIVE_INFINITY;
  /** After a failed write, a probe has to write, too: reading goes on when the disk is full. */
  let hasFailed = false;

  const sweep = (): void => {
    if (now() - sweptAtMs < sweepEveryMs) return;
    sweptAtMs = now();
    try {
      for (const statement of statements.sweeps) statement.run(sweptAtMs, sweepLimit);
    } catch {
      // What was asked for is done; who asks next hears of it.
    }
  };
  const attempt = async <T>(run: () => T): Promise<StoreResult<T>> => {
    const until = performance.now() + patienceMs;
    for (let failures = 0; ; failures += 1) {
      try {
        return { ok: true, value: run() };
      } catch (error) {
        rollBack(database);
        if (isMistake(error)) throw error;
        if (readSqliteCode(error) === codes.busy && performance.now() < until) {
          await delay(findBackoffDelay(failures, pauses));
          continue;
        }
        hasFailed = true;
        return { ok: false, detail: `SQLite: ${describeSqliteError(error)}` };
      }
    }
  };
  const write = <T>(run: () => T): Promise<StoreResult<T>> =>
    attempt(() => {
      const value = run();
      hasFailed = false;
      sweep();
      return value;
    });
  const isChanged = ({ changes }: { readonly changes: number | bigint }): boolean => Number(changes) > 0;
  const readText = (row: Record<string, unknown> | undefined): string | undefined => {
    const value = row?.['value'];
    return typeof value === 'string' ? value : undefined;
  };
  const compareAndSet = (
    key: string,
    expected: string | undefined,
    next: string | undefined,
    endsAtMs: number,
  ): boolean => {
    const nowMs = now();
    if (expected === undefined && next === undefined) return statements.get.get(key, nowMs) === undefined;
    if (expected === undefined) return isChanged(statements.insert.run(key, next!, endsAtMs, nowMs));
    if (next === undefined) return isChanged(statements.deleteEqual.run(key, expected, nowMs));
    return isChanged(statements.replace.run(next, endsAtMs, key, expected, nowMs));
  };

  return {
    kind: 'sqlite',
    reach: 'machine',
    async put(key, value, lifetimeMs) {
      const endsAtMs = now() + readLifetime(lifetimeMs);
      return write(() => void statements.put.run(key, value, endsAtMs));
    },
    async get(key) {
      return attempt(() => readText(statements.get.get(key, now())));
    },
    async take(key) {
      return write(() => readText(statements.take.get(key, now())));
    },
    async count(key, windowMs) {
      const nowMs = now();
      const endsAtMs = nowMs + readLifetime(windowMs);
      return write(() => Number(statements.count.get({ key, endsAtMs, nowMs })?.['count']));
    },
    async compareAndSet(key, expected, next, lifetimeMs) {
      const endsAtMs = now() + readLifetime(lifetimeMs);
      return write(() => compareAndSet(key, expected, next, endsAtMs));
    },
    async addMember(key, member, lifetimeMs) {
      const nowMs = now();
      const endsAtMs = nowMs + readLifetime(lifetimeMs);
      return write(() => {
        database.exec('BEGIN IMMEDIATE');
        statements.endSet.run(key, nowMs);
        statements.extendSet.run(key, endsAtMs);
        statements.addMember.run(key, member);
        database.exec('COMMIT');
        return undefined;
      });
    },
    async removeMember(key, member) {
      return write(() => void statements.removeMember.run(key, member));
    },
    async listMembers(key, limit) {
      return attempt(() => statements.listMembers.all(key, now(), limit).map((row) => String(row['member'])));
    },
    async probe() {
      return attempt(() => {
        if (hasFailed) {
          statements.put.run('probe', '', 0);
          hasFailed = false;
          sweptAtMs = Number.NEGATIVE_INFINITY;
        } else {
          // Asks for the right to write, and writes nothing.
          database.exec('BEGIN IMMEDIATE; ROLLBACK');
        }
        sweep();
        return undefined;
      });
    },
    async close() {
      closeQuietly(database);
    },
  };
}

function prepareStatements(database: DatabaseSync) {
  const prepare = (text: string): StatementSync => database.prepare(text);
  const sweepTable = (table: string): StatementSync =>
    prepare(`DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE ends_at <= ? LIMIT ?)`);
  return {
    put: prepare('INSERT OR REPLACE INTO entry (key, value, ends_at) VALUES (?, ?, ?)'),
    get: prepare('SELECT value FROM entry WHERE key = ? AND ends_at > ?'),
    take: prepare('DELETE FROM entry WHERE key = ? AND ends_at > ? RETURNING value'),
    insert: prepare(
      `INSERT INTO entry (key, value, ends_at) VALUES (?, ?, ?)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, ends_at = excluded.ends_at WHERE entry.ends_at <= ?`,
    ),
    replace: prepare('UPDATE entry SET value = ?, ends_at = ? WHERE key = ? AND value = ? AND ends_at > ?'),
    deleteEqual: prepare('DELETE FROM entry WHERE key = ? AND value = ? AND ends_at > ?'),
    count: prepare(
      `INSERT INTO counter (key, count, ends_at) VALUES (:key, 1, :endsAtMs)
        ON CONFLICT (key) DO UPDATE SET
          count = iif(ends_at > :nowMs, count + 1, 1), ends_at = iif(ends_at > :nowMs, ends_at, excluded.ends_at)
        RETURNING count`,
    ),
    endSet: prepare('DELETE FROM member_set WHERE key = ? AND ends_at <= ?'),
    extendSet: prepare(
      'INSERT INTO member_set (key, ends_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET ends_at = excluded.ends_at',
    ),
    addMember: prepare('INSERT OR IGNORE INTO member (key, member) VALUES (?, ?)'),
    removeMember: prepare('DELETE FROM member WHERE key = ? AND member = ?'),
    listMembers: prepare('SELECT member FROM member JOIN member_set USING (key) WHERE key = ? AND ends_at > ? LIMIT ?'),
    sweeps: ['entry', 'counter', 'member_set'].map(sweepTable),
  };
}

/** Ends a transaction that failed half way. */
function rollBack(database: DatabaseSync): void {
  if (!database.isOpen || !database.isTransaction) return;
  try {
    database.exec('ROLLBACK');
  } catch {
    // SQLite has done it itself.
  }
}

function closeQuietly(database: DatabaseSync | undefined): void {
  try {
    if (database?.isOpen === true) database.close();
  } catch {
    // It is not used any more.
  }
}

function readSqliteCode(error: unknown): number | undefined {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  // Extended codes have the primary one in their lowest byte.
  return typeof code === 'number' ? code & 0xff : undefined;
}

/** Of the program, not of the file: neither a code of SQLite nor a store that is closed. */
function isMistake(error: unknown): boolean {
  const isClosed = error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE';
  return readSqliteCode(error) === undefined && !isClosed;
}

/** In words; never with a value in them. */
function describeSqliteError(error: unknown): string {
  switch (readSqliteCode(error)) {
    case codes.busy:
    case codes.locked:
      return 'the file is locked by another process';
    case codes.readOnly:
      return 'the file is read-only';
    case codes.inputOutput:
      return 'the disk reports an error';
    case codes.corrupt:
      return 'the file is damaged. Restore it, or delete it with the files beside it (-wal, -shm): everybody logs in again then';
    case codes.full:
      return 'the disk is full, or the file has reached its limit';
    case codes.cannotOpen:
      return 'the file cannot be opened';
    case codes.noDatabase:
      return 'the file is not a SQLite database';
    default:
      return error instanceof Error && 'errstr' in error ? String(error.errstr) : 'it is closed';
  }
}
