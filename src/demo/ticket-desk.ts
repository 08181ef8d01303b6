// The tickets that the sample MCP server looks after. They live in memory and are gone when the demo stops.

/** How urgent a ticket is. */
type TicketPriority = 'low' | 'normal' | 'high';

/** One ticket as a client sees it. */
interface Ticket {
  readonly id: string;
  readonly title: string;
  readonly priority: TicketPriority;
  readonly status: 'open' | 'closed';
  readonly resolution?: string;
}

/** The result of closing a ticket. */
type CloseOutcome =
  | { readonly kind: 'closed'; readonly ticket: Ticket }
  | { readonly kind: 'already-closed'; readonly ticket: Ticket }
  | { readonly kind: 'unknown' };

/** The most tickets kept; the oldest closed ones make room. */
export const maximumTickets = 500;

/** A list of tickets with the few operations that the tools offer. */
export class TicketDesk {
  readonly #tickets = new Map<string, Ticket>();
  #last = 100;

  constructor() {
    this.open('The printer on the second floor is out of toner', 'low');
    this.open('Sign-in page times out after lunch', 'high');
    this.open('Please add the new colleagues to the mailing list', 'normal');
  }

  /** Lists tickets in the order they were opened. */
  list(status: 'open' | 'closed' | 'all' = 'open'): Ticket[] {
    return [...this.#tickets.values()].filter((ticket) => status === 'all' || ticket.status === status);
  }

  /** Finds one ticket by its id. */
  find(id: string): Ticket | undefined {
    return this.#tickets.get(id);
  }

  /** Opens a ticket. Undefined when the desk is full of open ones. */
  open(title: string, priority: TicketPriority): Ticket | undefined {
    if (this.#tickets.size >= maximumTickets) {
      const closed = this.list('closed')[0];
      if (closed === undefined) return undefined;
      this.#tickets.delete(closed.id);
    }
    this.#last += 1;
    const ticket: Ticket = { id: `T-${this.#last}`, title, priority, status: 'open' };
    this.#tickets.set(ticket.id, ticket);
    return ticket;
  }

  /** Closes a ticket with a word on how it was resolved. */
  close(id: string, resolution: string): CloseOutcome {
    const ticket = this.#tickets.get(id);
    if (ticket === undefined) return { kind: 'unknown' };
    if (ticket.status === 'closed') return { kind: 'already-closed', ticket };
    const closed: Ticket = { ...ticket, status: 'closed', resolution };
    this.#tickets.set(id, closed);
    return { kind: 'closed', ticket: closed };
  }
}
