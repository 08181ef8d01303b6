// Limits the client connections of the process over all ports, and refuses those past the limit.
import type { Socket } from 'node:net';
import { endConnection } from './early-answer.ts';

/** Refused connections that are held open for a moment so that their answer arrives. More are cut at once. */
const maxLingering = 256;

/** Counts the open connections of all ports against one limit. */
export class ConnectionBudget {
  readonly #limit: number;
  #taken = 0;
  /** Connections past the limit that are still reading their refusal. */
  lingering = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get taken(): number {
    return this.#taken;
  }

  /** False: the limit is reached. */
  take(): boolean {
    if (this.#taken >= this.#limit) return false;
    this.#taken += 1;
    return true;
  }

  giveBack(): void {
    this.#taken -= 1;
  }
}

/** Gets rid of a connection past the limit: with an answer while there are few of them, without one in a flood. */
export function lingerPastBudget(budget: ConnectionBudget, socket: Socket, answer: string | undefined): void {
  if (answer === undefined || budget.lingering >= maxLingering) {
    socket.destroy();
    return;
  }
  budget.lingering += 1;
  socket.once('close', () => {
    budget.lingering -= 1;
  });
  endConnection(socket, answer);
}
