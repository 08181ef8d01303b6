import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FetchFailureCode, FetchOutcome } from '../../../../base/fetch-json.ts';
import { DocumentEgress } from './document-egress.ts';

const minute = 60_000;
const answered: FetchOutcome = { ok: true, status: 404, headers: new Map(), body: '' };
const failed = (code: FetchFailureCode): FetchOutcome => ({ ok: false, code, message: 'x' });

test('the first failure closes it, so that the next attempt of the same client registers', () => {
  for (const code of ['unreachable', 'timeout'] as const) {
    const egress = new DocumentEgress();
    assert.equal(egress.isOpen(0), true);
    assert.equal(egress.note(failed(code), 0), 'closed');
    assert.equal(egress.isOpen(1), false);
    assert.equal(egress.note(failed(code), 1), undefined, 'told once');
  }
});

test('any answer opens it: the way out is there, whatever the document is like', () => {
  for (const outcome of [answered, failed('redirect'), failed('too_large'), failed('broken')]) {
    const egress = new DocumentEgress();
    egress.note(failed('unreachable'), 0);
    assert.equal(egress.note(outcome, 1), 'opened');
    assert.equal(egress.isOpen(1), true);
  }
});

test('addresses that the gateway does not call say nothing', () => {
  const egress = new DocumentEgress();
  assert.equal(egress.note(failed('blocked'), 0), undefined);
  assert.equal(egress.isOpen(0), true);
});

test('where documents were fetched within the hour, somebody who names hosts that do not exist needs three in a row', () => {
  const egress = new DocumentEgress();
  egress.note(answered, 0);
  assert.equal(egress.note(failed('unreachable'), 1), undefined);
  assert.equal(egress.note(failed('unreachable'), 2), undefined);
  assert.equal(egress.note(answered, 3), undefined);
  assert.equal(egress.note(failed('unreachable'), 4), undefined);
  assert.equal(egress.note(failed('unreachable'), 5), undefined);
  assert.equal(egress.isOpen(5), true);
  assert.equal(egress.note(failed('unreachable'), 6), 'closed');
  const later = new DocumentEgress();
  later.note(answered, 0);
  assert.equal(later.note(failed('timeout'), 61 * minute), 'closed');
});

test('it is tried again after ten minutes, and closed by the next failure', () => {
  const egress = new DocumentEgress();
  egress.note(failed('timeout'), 0);
  assert.equal(egress.isOpen(10 * minute - 1), false);
  assert.equal(egress.isOpen(10 * minute), true);
  assert.equal(egress.note(failed('timeout'), 10 * minute), undefined);
  assert.equal(egress.isOpen(10 * minute), false);
});
