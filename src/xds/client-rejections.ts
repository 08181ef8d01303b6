// The resources that a gateway rejects, and which rejections were sent on this stream. A NACK names resources of its response. The last answer to an
// update also reports other resources: a new Secret can break an unchanged policy, or repair it.
import type { ReceivedResponse } from './client-resources.ts';

/** One unusable resource. An empty reason: it can be used after all. */
export interface StatedRejection {
  readonly typeUrl: string;
  readonly name: string;
  readonly reason: string;
}

/** Reasons by type URL and name. */
export class ProblemTable {
  readonly #reasons = new Map<string, Map<string, string>>();

  /** A second problem of the same resource is appended to the first. */
  add({ typeUrl, name, reason }: StatedRejection): void {
    let ofType = this.#reasons.get(typeUrl);
    if (ofType === undefined) this.#reasons.set(typeUrl, (ofType = new Map()));
    const before = ofType.get(name);
    ofType.set(name, before === undefined ? reason : `${before}; ${reason}`);
  }

  get(typeUrl: string, name: string): string | undefined {
    return this.#reasons.get(typeUrl)?.get(name);
  }

  set(typeUrl: string, name: string, reason: string | undefined): void {
    if (reason === undefined) this.#reasons.get(typeUrl)?.delete(name);
    else {
      this.set(typeUrl, name, undefined);
      this.add({ typeUrl, name, reason });
    }
  }

  *list(): Generator<StatedRejection> {
    for (const [typeUrl, ofType] of this.#reasons) for (const [name, reason] of ofType) yield { typeUrl, name, reason };
  }
}

/** What the server of one stream knows. */
export class ToldRejections {
  /** Sent in the answer to a response with the resource: the server keeps it as long as that version is the latest. */
  readonly #lasting = new ProblemTable();

  /** The rejections for the answer to each of these responses, which together were put in force. */
  state(responses: readonly ReceivedResponse[], problems: ProblemTable): readonly (readonly StatedRejection[])[] {
    const stated = responses.map(({ typeUrl, names }) =>
      Array.from(names).flatMap((name) => {
        const reason = problems.get(typeUrl, name);
        this.#lasting.set(typeUrl, name, reason);
        return reason === undefined ? [] : [{ typeUrl, name, reason }];
      }),
    );
    const healed: StatedRejection[] = [];
    for (const { typeUrl, name } of this.#lasting.list()) {
      if (problems.get(typeUrl, name) === undefined) healed.push({ typeUrl, name, reason: '' });
    }
    for (const { typeUrl, name } of healed) this.#lasting.set(typeUrl, name, undefined);
    const others = [...problems.list()].filter(({ typeUrl, name, reason }) => {
      const told = this.#lasting.get(typeUrl, name);
      return told !== reason;
    });
    const last = stated.at(-1);
    last?.push(...others, ...healed);
    return stated;
  }
}
