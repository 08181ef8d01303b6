// When the controller makes, prepares and changes the certificate that it made, and what it leaves alone.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAuthority, createCertificate } from '../../test/self-signed-certificate.ts';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { isMadeByController, readCertificateFiles, renderMadeCertificate } from './certificate-secret.ts';
import { splitCertificates } from './check-certificate.ts';
import { makeCertificate, type MadeCertificate } from './make-certificate.ts';
import { backdateMs, joinAuthorities, overlapMs, planCertificate, validityMs } from './plan-certificate.ts';

const start = Date.UTC(2026, 0, 1);
const day = 86_400_000;
const serverName = 'proxy.proxy-system.svc';
const makeAt = (now: number, name = serverName): MadeCertificate =>
  makeCertificate({ names: [name], validFrom: now - backdateMs, validTo: now + validityMs });
const render = (made: MadeCertificate, next?: MadeCertificate): KubernetesObject =>
  renderMadeCertificate(made, 'proxy-system', undefined, next);
const plan = (secret: KubernetesObject | undefined, now: number): string =>
  planCertificate(secret, serverName, now).step;

function change(secret: KubernetesObject, entries: Readonly<Record<string, string>>): KubernetesObject {
  const encoded = Object.entries(entries).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return { ...secret, data: { ...(secret['data'] as object), ...Object.fromEntries(encoded) } };
}

describe('the plan', () => {
  const made = makeAt(start);

  test('makes one where there is none', () => {
    assert.equal(plan(undefined, start), 'make');
  });

  test('waits until two thirds of its validity are over, then announces the next one', () => {
    const secret = render(made);
    const waiting = planCertificate(secret, serverName, start);
    assert.equal(waiting.step, 'wait');
    const until = waiting.step === 'wait' ? waiting.until! : 0;
    assert.ok(Math.abs(until - start - 60 * day) < day, new Date(until).toISOString());
    assert.equal(plan(secret, until - 1), 'wait');
    assert.equal(plan(secret, until), 'prepare');
  });

  test('uses the next one a day after it was announced', () => {
    const prepared = start + 60 * day;
    const next = makeAt(prepared);
    const secret = render({ ...made, ca: joinAuthorities(next.ca, made.ca, prepared) }, next);
    assert.equal(plan(secret, prepared), 'wait');
    assert.equal(plan(secret, prepared + overlapMs - 1_000), 'wait');
    assert.equal(plan(secret, prepared + overlapMs), 'switch');
  });

  test('after a long absence there is no time for an announcement', () => {
    const late = start + 91 * day;
    assert.equal(plan(render(made), late), 'replace');
    const next = makeAt(start + 60 * day);
    const both = { ...made, ca: joinAuthorities(next.ca, made.ca, start + 60 * day) };
    assert.equal(plan(render(both, next), late), 'switch');
  });

  test('replaces its own that gateways would refuse: another name of the Service, a key that was lost', () => {
    assert.equal(plan(render(makeAt(start, 'other.proxy-system.svc')), start), 'replace');
    assert.equal(plan(change(render(made), { 'tls.key': 'lost' }), start), 'replace');
  });

  test('announces anew what cannot be used next', () => {
    const now = start + 61 * day;
    const stranger = makeAt(now);
    assert.equal(plan(render(made, stranger), now), 'prepare', 'its authority is not among those that gateways have');
  });

  test('leaves alone what somebody else made or changed', () => {
    const issuer = createAuthority();
    const foreign = createCertificate({ names: [serverName], issuer, notAfter: new Date(start + day) });
    const theirs = { 'tls.crt': foreign.cert, 'tls.key': foreign.key, 'ca.crt': issuer.cert };
    const secret = render(made);
    assert.equal(isMadeByController(secret), true);
    for (const changed of [
      change(secret, theirs),
      change(secret, { 'ca.crt': issuer.cert }),
      change(secret, { 'tls.crt': 'broken' }),
      { ...secret, metadata: { ...secret.metadata, annotations: {} } },
    ]) {
      assert.equal(isMadeByController(changed), false);
      assert.deepEqual(planCertificate(changed, serverName, start + 80 * day), { step: 'wait', until: undefined });
    }
  });
});

describe('authorities', () => {
  test('the new one comes first, those that have expired or cannot be read go, and none is there twice', () => {
    const [first, second, third] = [makeAt(start), makeAt(start + 60 * day), makeAt(start + 120 * day)];
    const two = joinAuthorities(second.ca, first.ca, start + 60 * day);
    assert.deepEqual(splitCertificates(two), [second.ca.trim(), first.ca.trim()]);
    assert.equal(joinAuthorities(second.ca, two, start + 60 * day), two);
    const later = joinAuthorities(third.ca, two, start + 120 * day);
    assert.deepEqual(splitCertificates(later), [third.ca.trim(), second.ca.trim()]);
    assert.equal(joinAuthorities(first.ca, 'hello', start), first.ca);
  });

  test('what is rendered is what is read', () => {
    const made = makeAt(start);
    assert.deepEqual(readCertificateFiles(render(made)), made);
  });
});
