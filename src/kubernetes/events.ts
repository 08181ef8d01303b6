// Events (events.k8s.io/v1) about objects, as `kubectl describe` shows them. A repeated Event is counted in its series instead
// of written anew, each object has a budget, and callers never wait for an Event.
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError, type KubernetesClient } from './client.ts';
import { formatMicroTime } from './micro-time.ts';
import { formatApiVersion, resourceTypes } from './resource-type.ts';

/** The object that an Event is about. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped kinds: their Events are in `default`. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid?: string | undefined;
}

/** An Event to record. */
export interface EventRecord {
  readonly subject: EventSubject;
  readonly type: 'Normal' | 'Warning';
  /** Why, in one word: `Rejected`. */
  readonly reason: string;
  /** What was being done: `Program`. */
  readonly action: string;
  /** For people; cut to the length that Kubernetes accepts. */
  readonly note: string;
}

interface EventRecorderOptions {
  readonly client: Pick<KubernetesClient, 'create' | 'mergePatch'>;
  readonly log: Log;
  readonly clock: Clock;
  /** `gateway.proxy/controller` */
  readonly controller: string;
  /** The pod's name. */
  readonly instance: string;
}

export interface EventRecorder {
  /** Returns at once. An Event that cannot be written is dropped. */
  record(record: EventRecord): void;
  /** Writes pending Events, for at most a second, and stops. */
  stop(): Promise<void>;
}

interface Series {
  readonly name: string;
  readonly namespace: string;
  count: number;
  seenAt: number;
  writtenAt: number;
  writtenCount: number;
  isWriting: boolean;
}

// As client-go has them: a series ends after six minutes of silence; an object may have 25 Events at once, and one more every five minutes.
const seriesMs = 6 * 60_000;
const budget = 25;
const refillMs = 5 * 60_000;
/** How often the count of a series is written. */
const updateMs = 60_000;
const maxSeries = 4_096;
const maxOpen = 64;
// Limits of the API server, in bytes.
const maxNote = 1_024;
const maxInstance = 128;
const stopMs = 1_000;

/** Starts to record. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, log, clock } = options;
  const series = new Map<string, Series>();
  const budgets = new Map<string, { tokens: number; at: number }>();
  const open = new Set<Promise<void>>();
  const abort = new AbortController();
  let dropped = 0;
  let lastProblem: string | undefined;

  const send = (call: () => Promise<unknown>): void => {
    if (open.size >= maxOpen) {
      dropped += 1;
      if (dropped % 100 === 1) log.debug({ dropped }, 'events were dropped: the API server is too slow for them');
      return;
    }
    const work = (async () => {
      try {
        await call();
        lastProblem = undefined;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (abort.signal.aborted) return;
        if (error instanceof ApiError && error.status.isNamespaceTerminating === true) {
          log.debug({ reason: message }, 'an event was dropped: the namespace is being deleted');
          return;
        }
        if (message !== lastProblem) log.warn({ reason: message }, 'an event could not be written');
        lastProblem = message;
      }
    })().finally(() => open.delete(work));
    open.add(work);
  };

  const mayCreate = (subject: string): boolean => {
    const now = clock.now();
    const known = budgets.get(subject) ?? { tokens: budget, at: now };
    const tokens = Math.min(known.tokens + (now - known.at) / refillMs, budget);
    setBounded(budgets, subject, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    return tokens >= 1;
  };

  const update = (known: Series): void => {
    if (known.isWriting || known.count === known.writtenCount) return;
    known.isWriting = true;
    known.writtenAt = clock.now();
    send(async () => {
      const { count, namespace, name } = known;
      const lastObservedTime = formatMicroTime(known.seenAt);
      try {
        await client.mergePatch(
          resourceTypes.Event,
          { namespace, name },
          { series: { count, lastObservedTime } },
          abort.signal,
        );
        known.writtenCount = count;
      } finally {
        known.isWriting = false;
      }
    });
  };

  return {
    record(record) {
      if (abort.signal.aborted) return;
      const now = clock.now();
      const note = cutBytes(record.note, maxNote);
      const { subject, type, reason, action } = record;
      const about = JSON.stringify([subject.apiVersion, subject.kind, subject.namespace, subject.name, subject.uid]);
      const key = JSON.stringify([about, type, reason, action, note]);
      const known = series.get(key);
      if (known !== undefined && now - known.seenAt < seriesMs) {
        known.count += 1;
        known.seenAt = now;
        if (now - known.writtenAt >= updateMs) update(known);
        return;
      }
      if (!mayCreate(about)) return;
      const namespace = subject.namespace ?? 'default';
      const name = formatEventName(subject.name, key, now);
      const created: Series = {
        name,
        namespace,
        count: 1,
        seenAt: now,
        writtenAt: now,
        writtenCount: 1,
        isWriting: false,
      };
      setBounded(series, key, created);
      send(() =>
        client.create(
          resourceTypes.Event,
          {
            apiVersion: formatApiVersion(resourceTypes.Event),
            kind: 'Event',
            metadata: { name, namespace },
            eventTime: formatMicroTime(now),
            reportingController: options.controller,
            reportingInstance: cutBytes(options.instance, maxInstance),
            action,
            reason,
            regarding: subject,
            note,
            type,
          },
          abort.signal,
        ),
      );
    },
    async stop() {
      for (const known of series.values()) update(known);
      const stopTimer = clock.setTimer(() => abort.abort(), stopMs);
      await Promise.all(open);
      stopTimer();
      abort.abort();
    },
  };
}

/** A unique and valid name, whatever the object's name is. */
function formatEventName(name: string, key: string, now: number): string {
  const hash = createHash('sha256').update(`${key}\n${now}`).digest('hex').slice(0, 16);
  return `${name.slice(0, 200).replace(/[^a-z0-9]+$/, '')}.${hash}`;
}

/** Evicts the oldest entry when there are too many. */
function setBounded<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > maxSeries) map.delete(map.keys().next().value!);
}

/** Cuts a text to `max` bytes; a cut text ends with dots. */
function cutBytes(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text;
  let cut = text.slice(0, max - 3);
  while (Buffer.byteLength(cut) > max - 3) cut = cut.slice(0, -Math.ceil((Buffer.byteLength(cut) - max + 3) / 4));
  return `${cut.toWellFormed().replace(/\uFFFD$/, '')}...`;
}
