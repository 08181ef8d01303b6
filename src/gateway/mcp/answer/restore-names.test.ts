import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { RawHeaders } from '../../http/exchange.ts';
import type { AnswerTreatment, FilterAnswer } from '../../http/answer-filter.ts';
import { restoreNames } from './restore-names.ts';

const sent = 'qwertzuiopasdfgh';
const parts = [{ sent, asked: 'delete "all"' }];
const pass: FilterAnswer = () => ({ kind: 'pass' });

function treat(headers: RawHeaders, status = 200, filter = pass): AnswerTreatment {
  return restoreNames(filter, parts, 100)(status, headers);
}

/** What a client gets of an answer in chunks. */
function stream(chunks: readonly string[]): string[] {
  const treatment = treat(['content-type', 'application/json']);
  assert.ok(treatment.kind === 'stream');
  const { filter } = treatment;
  const results = [...chunks.map((chunk) => filter.push(Buffer.from(chunk))), filter.flush()];
  return results.map((result) => {
    assert.ok(result.ok);
    return Buffer.from(result.bytes).toString();
  });
}

describe('answers to a message under another name', () => {
  test('of a known length are read whole', () => {
    const treatment = treat(['content-length', '50']);
    assert.ok(treatment.kind === 'collect');
    const filtered = treatment.filter(Buffer.from(`{"message":"Unknown tool: ${sent}"}`));
    assert.ok(filtered.ok);
    assert.equal(Buffer.from(filtered.changed!.body).toString(), '{"message":"Unknown tool: delete \\"all\\""}');
    const other = treatment.filter(Buffer.from('{}'));
    assert.ok(other.ok);
    assert.equal(other.changed, undefined);
  });

  test('of an unknown length stream, and only the beginning of a name waits', () => {
    assert.deepEqual(stream(['a', 'b qwe', 'r', `tzuiopasdfgh. ${sent}${sent}`, 'qwe']), [
      'a',
      'b ',
      '',
      String.raw`delete \"all\". delete \"all\"delete \"all\"`,
      '',
      'qwe',
    ]);
  });

  test('property: however it is cut', () => {
    const piece = fc.constantFrom(sent, 'qwertz', 'q', 'x', sent.slice(3), 'data: ');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fc.array(fc.nat(15), { maxLength: 20 }), (pieces, cuts) => {
        const text = pieces.join('');
        const chunks: string[] = [];
        let at = 0;
        for (const cut of cuts) chunks.push(text.slice(at, (at += cut)));
        chunks.push(text.slice(at));
        assert.equal(stream(chunks).join(''), text.replaceAll(sent, String.raw`delete \"all\"`));
      }),
    );
  });

  test('what the filter says comes first', () => {
    const refuse: AnswerTreatment = { kind: 'refuse', detail: 'no' };
    assert.equal(
      treat([], 200, () => refuse),
      refuse,
    );
    const collected = treat([], 200, () => ({
      kind: 'collect',
      maxBytes: 5,
      filter: () => ({ ok: true, changed: { body: Buffer.from(sent), isNew: true }, note: 'n' }),
    }));
    assert.ok(collected.kind === 'collect');
    assert.deepEqual(collected.filter(Buffer.from('')), {
      ok: true,
      changed: { body: Buffer.from(String.raw`delete \"all\"`), isNew: true },
      note: 'n',
    });
  });

  test('without a body, compressed, too long', () => {
    assert.equal(treat([], 204).kind, 'pass');
    assert.equal(treat(['content-encoding', 'gzip']).kind, 'refuse');
    assert.equal(treat(['content-length', '101']).kind, 'refuse');
  });
});
