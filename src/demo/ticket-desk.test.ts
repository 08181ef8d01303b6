import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { maximumTickets, TicketDesk } from './ticket-desk.ts';

describe('TicketDesk', () => {
  test('opens, finds and closes tickets', () => {
    const desk = new TicketDesk();
    const ticket = desk.open('The coffee is cold', 'high');
    assert.ok(ticket !== undefined);
    assert.deepEqual(desk.find(ticket.id), ticket);
    assert.deepEqual(desk.list().at(-1), ticket);
    const outcome = desk.close(ticket.id, 'Made a new one');
    assert.deepEqual(outcome, {
      kind: 'closed',
      ticket: { ...ticket, status: 'closed', resolution: 'Made a new one' },
    });
    assert.equal(
      desk.list('open').some(({ id }) => id === ticket.id),
      false,
    );
    assert.deepEqual(
      desk.list('closed').map(({ id }) => id),
      [ticket.id],
    );
    assert.equal(desk.close(ticket.id, 'again').kind, 'already-closed');
    assert.equal(desk.close('T-0', 'never was').kind, 'unknown');
  });

  test('a full desk forgets closed tickets first, and refuses when there are none', () => {
    const desk = new TicketDesk();
    while (desk.list('all').length < maximumTickets) desk.open('More', 'low');
    assert.equal(desk.open('One too many', 'high'), undefined);
    const oldest = desk.list()[0]!;
    desk.close(oldest.id, 'done');
    assert.ok(desk.open('Fits again', 'high') !== undefined);
    assert.equal(desk.find(oldest.id), undefined);
    assert.equal(desk.list('all').length, maximumTickets);
  });
});
