// Which certificate is shown: a good one of the Secret wins over everything; otherwise the last good one, until it expires.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CertificateCheck, UsableCertificate } from './check-certificate.ts';
import { chooseCertificate, describeCertificateState } from './choose-certificate.ts';

const now = Date.UTC(2026, 0, 1);
const day = 86_400_000;
const issued = (name: string, days: number, validDays = 90): UsableCertificate => ({
  certificateChain: name,
  privateKey: `${name} key`,
  ca: `${name} ca`,
  validFrom: now + days * day,
  expiresAt: now + (days + validDays) * day,
});
const ok = (certificate: UsableCertificate): CertificateCheck => ({ ok: true, certificate });
const bad: CertificateCheck = { ok: false, problem: 'tls.key does not match tls.crt' };
const old = issued('old', -20);
const young = issued('young', -10);
const expired = issued('expired', -100);

function choose(present: CertificateCheck, last?: UsableCertificate, copy?: CertificateCheck): string {
  const state = chooseCertificate({ present, last, copy }, now);
  if (state.state === 'none') return 'none';
  return `${state.state} ${state.certificate.certificateChain}`;
}

describe('choosing', () => {
  test('a good one of the Secret wins, also over a copy that was issued later', () => {
    assert.equal(choose(ok(old)), 'good old');
    assert.equal(choose(ok(old), old, ok(young)), 'good old');
  });

  test('otherwise the last good one, of this process or of the copy, whichever was issued later', () => {
    assert.equal(choose(bad, old), 'degraded old');
    assert.equal(choose(bad, undefined, ok(old)), 'degraded old');
    assert.equal(choose(bad, old, ok(young)), 'degraded young');
    assert.equal(choose(bad, young, ok(old)), 'degraded young');
    assert.equal(choose(bad, { ...old, ca: 'mine' }, ok(old)), 'degraded old');
    const same = chooseCertificate({ present: bad, last: { ...old, ca: 'mine' }, copy: ok(old) }, now);
    assert.equal(same.state === 'degraded' && same.certificate.ca, 'mine', 'of two of the same age its own');
  });

  test('what has expired is not good any more', () => {
    assert.equal(choose(bad, expired), 'none');
    assert.equal(choose(bad, expired, ok(old)), 'degraded old');
    assert.equal(choose(bad, old, ok(expired)), 'degraded old');
    assert.equal(choose(bad, expired, { ok: false, problem: 'broken' }), 'none');
    assert.equal(choose(bad), 'none');
  });
});

describe('words', () => {
  const place = 'Secret proxy-xds-cert';
  const describeChoice = (last?: UsableCertificate, copy?: CertificateCheck): string | undefined =>
    describeCertificateState(chooseCertificate({ present: bad, last, copy }, now), place);

  test('degraded: what is wrong, where, and until when all goes on', () => {
    assert.equal(
      describeChoice(old),
      'degraded: tls.key does not match tls.crt (Secret proxy-xds-cert); the last good certificate is served until 2026-03-12T00:00:00.000Z',
    );
    assert.match(describeChoice(undefined, ok(old))!, /is served, from its copy until 2026-03-12/);
  });

  test('none: also why the last good one does not serve', () => {
    assert.equal(describeChoice(), 'tls.key does not match tls.crt (Secret proxy-xds-cert)');
    assert.match(
      describeChoice(expired)!,
      /the last good certificate expired at 2025-12-22T.*, and gateways refuse it/,
    );
    assert.match(
      describeChoice(undefined, { ok: false, problem: 'tls.crt has expired' })!,
      /nor can the copy of the last good certificate be used: tls\.crt has expired/,
    );
  });

  test('nothing when all is well', () => {
    assert.equal(describeCertificateState({ state: 'good', certificate: old }, place), undefined);
  });
});
