// The servers of federations as the controller is told of them: what is down at once, what is back when it has stayed for a while. A server that comes and goes is
// down, and is told once.
import { create } from '@bufbuild/protobuf';
import { cutText } from '../base/cut-text.ts';
import { redactText } from '../base/redact.ts';
import type { FederationState } from '../gateway/mcp/federation/federation-state.ts';
import { type TargetHealth, TargetHealthSchema } from '../ir/gen/report_pb.ts';
import { maxReportedTargets } from '../xds/connected-gateway.ts';

/** A server that was down has to be up this long. */
const calmMs = 5_000;
/** How often another error of a server that stays down is told. */
const errorMs = 60_000;
const maxErrorLength = 256;

interface Known {
  readonly message: TargetHealth;
  /** When its error was noted. */
  readonly errorAt: number;
  /** Since when it answers again; undefined: it is up, or does not. */
  readonly backSince: number | undefined;
}

/** Remembers what was told. */
export class ReportedTargets {
  #known: ReadonlyMap<string, Known> = new Map();

  /** Those that have been asked. A message that did not change is the same object. */
  get targets(): readonly TargetHealth[] {
    const all = Array.from(this.#known.values(), ({ message }) => message);
    if (all.length <= maxReportedTargets) return all;
    return [...all.filter(({ down }) => down), ...all.filter(({ down }) => !down)].slice(0, maxReportedTargets);
  }

  /** Takes how they are now. */
  take(states: readonly FederationState[], nowMs: number): void {
    const next = new Map<string, Known>();
    for (const { backend, targets } of states) {
      for (const { name, health, lastFailure } of targets) {
        if (health === 'unknown') continue;
        const key = `${backend}\n${name}`;
        const error = health === 'up' ? '' : describeError(lastFailure?.detail);
        next.set(key, follow(this.#known.get(key), { backend, target: name, error }, health === 'down', nowMs));
      }
    }
    this.#known = next;
  }
}

type Seen = Pick<TargetHealth, 'backend' | 'target' | 'error'>;

function follow(known: Known | undefined, seen: Seen, isDown: boolean, nowMs: number): Known {
  if (known === undefined || (isDown && !known.message.down)) return begin(seen, isDown, nowMs);
  if (!known.message.down) return known;
  if (!isDown) {
    const { backSince = nowMs } = known;
    return nowMs - backSince >= calmMs ? begin(seen, false, backSince) : { ...known, backSince };
  }
  const isNews = seen.error !== known.message.error && nowMs - known.errorAt >= errorMs;
  if (!isNews) return known.backSince === undefined ? known : { ...known, backSince: undefined };
  const { since } = known.message;
  return { message: create(TargetHealthSchema, { ...seen, down: true, since }), errorAt: nowMs, backSince: undefined };
}

function begin(seen: Seen, down: boolean, sinceMs: number): Known {
  const message = create(TargetHealthSchema, { ...seen, down, since: Math.floor(sinceMs / 1_000) });
  return { message, errorAt: sinceMs, backSince: undefined };
}

/** What servers say is not trusted: it is shown on terminals. */
function describeError(detail = 'it could not be reached'): string {
  return cutText(redactText(detail.replaceAll(/\p{Cc}+/gu, ' ')), maxErrorLength);
}
