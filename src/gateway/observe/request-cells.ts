// The numbers that requests are counted in, looked up by their labels once and kept: a request compares a few values that it has at hand. What is
// kept here is a memory and bounded; the numbers themselves, and how many there may be, are those of metrics.ts.
import { copyText } from '../../base/cut-text.ts';
import type { CounterCell, HistogramCell } from '../../base/metrics.ts';
import type { Decision } from '../request/decision.ts';
import type { Reason } from '../http/reasons.ts';

/** Places and policies that are remembered; all are forgotten when there are more. */
const maxRemembered = 1_000;
/** The same for how requests ended at one place, and for what one policy decided. */
const maxOutcomes = 32;

/** A listener and a route; empty where a request got to none. */
interface PlaceLabels {
  readonly listener: string;
  readonly route: string;
}

/** Looks numbers up by their labels. */
export interface RequestCellSource {
  findRequests(place: PlaceLabels, method: string, status: number, reason: Reason | undefined): CounterCell;
  findDuration(place: PlaceLabels): HistogramCell;
  findUpstream(place: PlaceLabels): HistogramCell;
  findDecisions(decision: Decision): CounterCell;
}

interface Ending {
  readonly method: string;
  readonly status: number;
  readonly reason: Reason | undefined;
  readonly cell: CounterCell;
}

/** What is counted at one place. */
export class PlaceCells {
  readonly labels: PlaceLabels;
  readonly duration: HistogramCell;
  readonly #source: RequestCellSource;
  readonly #endings: Ending[] = [];
  #upstream: HistogramCell | undefined;

  constructor(labels: PlaceLabels, source: RequestCellSource) {
    this.labels = labels;
    this.#source = source;
    this.duration = source.findDuration(labels);
  }

  /** Made when it is needed: a place that never calls an upstream does not have it. */
  get upstream(): HistogramCell {
    return (this.#upstream ??= this.#source.findUpstream(this.labels));
  }

  findRequests(method: string, status: number, reason: Reason | undefined): CounterCell {
    for (const ending of this.#endings) {
      if (ending.status === status && ending.reason === reason && ending.method === method) return ending.cell;
    }
    const cell = this.#source.findRequests(this.labels, method, status, reason);
    if (this.#endings.length >= maxOutcomes) this.#endings.length = 0;
    // Clients invent methods; what is kept is a text of its own.
    this.#endings.push({ method: copyText(method), status, reason, cell });
    return cell;
  }
}

/** Finds what is counted at a place. */
export function createPlaceFinder(source: RequestCellSource): (listener: string, route: string) => PlaceCells {
  const byListener = new Map<string, Map<string, PlaceCells>>();
  let count = 0;
  return (listener, route) => {
    const known = byListener.get(listener)?.get(route);
    if (known !== undefined) return known;
    if (count >= maxRemembered) {
      byListener.clear();
      count = 0;
    }
    const place = new PlaceCells({ listener, route }, source);
    const byRoute = byListener.get(listener) ?? new Map<string, PlaceCells>();
    byListener.set(listener, byRoute.set(route, place));
    count += 1;
    return place;
  };
}

/** Finds where a decision is counted. */
export function createDecisionFinder(source: RequestCellSource): (decision: Decision) => CounterCell {
  const byPolicy = new Map<string, (Omit<Decision, 'detail' | 'decidedBy' | 'rules'> & { cell: CounterCell })[]>();
  return (decision) => {
    const { policy, step, mode, outcome, reason } = decision;
    const known = byPolicy.get(policy);
    if (known !== undefined) {
      for (const each of known) {
        if (each.outcome === outcome && each.reason === reason && each.step === step && each.mode === mode)
          return each.cell;
      }
    }
    const cell = source.findDecisions(decision);
    if (known === undefined && byPolicy.size >= maxRemembered) byPolicy.clear();
    const kept = known ?? [];
    if (kept.length >= maxOutcomes) kept.length = 0;
    kept.push({ policy, step, mode, outcome, reason, cell });
    byPolicy.set(policy, kept);
    return cell;
  };
}
