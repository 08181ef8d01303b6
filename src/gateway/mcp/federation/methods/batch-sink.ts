// The messages of a batch (2025-03-26) are answered together: as one array, or on one stream as soon as anything comes before the last answer.
import type { ClientAnswer } from './client-answer.ts';
import type { MessageSink } from './federated-request.ts';

export class BatchSink {
  readonly #answer: ClientAnswer;
  readonly #takesEvents: boolean;
  readonly #answers: string[] = [];
  #missing: number;

  /** `requests`: how many answers there will be. */
  constructor(answer: ClientAnswer, requests: number, takesEvents: boolean) {
    this.#answer = answer;
    this.#missing = requests;
    this.#takesEvents = takesEvents;
  }

  /** For one request of the batch. */
  open(): MessageSink {
    return { tell: (json) => this.#tell(json), answer: (json) => this.#add(json), stream: undefined };
  }

  #tell(json: string): boolean {
    if (!this.#takesEvents) return true;
    if (!this.#answer.isStreaming) {
      this.#answer.openStream();
      for (const early of this.#answers) this.#answer.send(early);
    }
    return this.#answer.send(json);
  }

  #add(json: string): void {
    this.#missing -= 1;
    if (this.#answer.isStreaming) this.#answer.send(json);
    else this.#answers.push(json);
    if (this.#missing > 0) return;
    if (this.#answer.isStreaming) this.#answer.end();
    else this.#answer.respond(`[${this.#answers.join(',')}]`);
  }
}
