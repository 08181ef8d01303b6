// Collects what is not as it should be while resources are described: the same words for every kind.
import type { ConditionSubject } from '../../translate/conditions.ts';
import { adviseController, adviseUntouched, findAdvice } from './advice.ts';
import type { JudgedConditions } from './judge-conditions.ts';
import type { StatusProblem } from './status-report.ts';

/** Which resource a problem is of. */
interface ProblemSubject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly part: string;
  /** The Gateway that it is about, namespace/name. */
  readonly gateway?: string | undefined;
}

/** Reasons that only sum up what parts of the resource say themselves. */
const summaries: ReadonlySet<string> = new Set(['ListenersNotValid', 'ListenersNotResolved']);

/** The problems so far. */
export class ProblemList {
  readonly #problems: StatusProblem[] = [];
  readonly #controllerNamespace: string;

  constructor(controllerNamespace: string) {
    this.#controllerNamespace = controllerNamespace;
  }

  /** In the order in which they were found, but first policies that miss a target: what they were to protect may be open. */
  list(): readonly StatusProblem[] {
    return this.#problems.toSorted((left, right) => Number(mayLeaveOpen(right)) - Number(mayLeaveOpen(left)));
  }

  /** A problem that no condition tells of. */
  add(
    { kind, namespace, name, part }: ProblemSubject,
    message: string,
    advice: string,
    state: StatusProblem['state'] = 'unwell',
  ): void {
    this.#problems.push({ kind, namespace, name, part, state, condition: null, message, advice });
  }

  /** What is wrong with conditions. Of several with the same message the first is enough. `saysMore`: its parts have problems of their own. */
  addConditions(
    subject: ProblemSubject,
    of: ConditionSubject,
    { state, conditions }: JudgedConditions,
    saysMore = false,
  ): void {
    const controller = this.#controllerNamespace;
    if (state === 'well') return;
    if (state === 'untouched') {
      this.add(subject, 'No controller has said anything about it.', adviseUntouched(controller), state);
      return;
    }
    if (state === 'stale') {
      // Old conditions may be outdated: fixed already, or true only now.
      this.add(subject, 'The controller has not seen the latest change yet.', adviseController(controller), state);
      return;
    }
    const said = new Set<string>();
    const bad = conditions.filter(({ good }) => !good);
    for (const { type, status, reason, message } of bad) {
      const isSummary =
        (saysMore && summaries.has(reason)) ||
        (type === 'Programmed' && reason === 'Invalid' && (saysMore || bad.length > 1));
      if (said.has(message) || isSummary) continue;
      said.add(message);
      const { gateway, ...place } = subject;
      const advice = findAdvice(of, type, reason, gateway);
      this.#problems.push({ ...place, state, condition: { type, status, reason }, message, advice });
    }
    if (bad.length === 0) {
      const types = conditions.map(({ type }) => type).join(', ');
      const message = `The controller has not said everything yet, only ${types}.`;
      this.add(subject, message, adviseController(controller), 'stale');
    }
  }
}

function mayLeaveOpen({ kind, condition }: StatusProblem): boolean {
  return kind === 'ProxyPolicy' && condition?.reason === 'TargetNotFound';
}
