// TLS towards the picker: none, not verified, verified with the right and the wrong certificates.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pick } from '../inference/picker-scripts.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import {
  caKey,
  type InferenceGatewayOptions,
  readArrival,
  readReason,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilIdle,
} from './inference-fixture.ts';

const options = { timeout: 180_000 };
const authority = createAuthority();
const serverName = 'picker.default.svc';
const signed = createCertificate({ names: [serverName], issuer: authority });
const selfSigned = createCertificate({ names: ['anything.example'] });

type Settings = Pick<InferenceGatewayOptions, 'pickerTls' | 'ca'>;

async function ask(
  t: Parameters<typeof startModel>[0],
  certificate: typeof signed | undefined,
  settings: Settings,
): Promise<string> {
  const server = await startModel(t);
  const picker = await startPicker(t, {
    script: pick({ endpoints: server.endpoint }),
    ...(certificate === undefined ? {} : { certificate }),
  });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    timeoutMs: 5_000,
    ...settings,
  });
  const answer = await gateway.ask({ method: 'POST' }, 'x'.repeat(100_000));
  await waitUntilIdle(gateway, [picker], [server]);
  if (answer.status !== 200) {
    assert.deepEqual([picker.calls.length, server.hits], [0, 0], 'nobody else was told of the request');
    return `${readReason(answer)}: ${gateway.finished[0]!.detail}`;
  }
  assert.equal(readArrival(answer).served_by, server.name);
  assert.equal(picker.calls.length, 1);
  return 'served';
}

const unverified: Settings = { pickerTls: { insecureSkipVerify: true, serverName } };
const verified: Settings = { pickerTls: { serverName, ca: caKey }, ca: authority.cert };

test('plaintext', options, async (t) => assert.equal(await ask(t, undefined, {}), 'served'));

test('a self-signed certificate, not verified', options, async (t) => {
  assert.equal(await ask(t, selfSigned, unverified), 'served');
  assert.equal(await ask(t, selfSigned, { pickerTls: { insecureSkipVerify: true } }), 'served');
});

test('a certificate of the right CA, verified', options, async (t) => {
  assert.equal(await ask(t, signed, verified), 'served');
  const other = createCertificate({ names: ['epp.example'], issuer: authority });
  const settings: Settings = { pickerTls: { serverName: 'epp.example', ca: caKey }, ca: authority.cert };
  assert.equal(await ask(t, other, settings), 'served');
});

test('a certificate that does not hold is refused, and no word of the request is said', options, async (t) => {
  const cases: Readonly<Record<string, typeof signed>> = {
    'signed by itself': selfSigned,
    'signed by itself, with the right name': createCertificate({ names: [serverName] }),
    'of another CA': createCertificate({ names: [serverName], issuer: createAuthority('Other CA') }),
    'for another name': createCertificate({ names: ['other.default.svc'], issuer: authority }),
    expired: createCertificate({
      names: [serverName],
      issuer: authority,
      notBefore: new Date(Date.now() - 20 * 86_400_000),
      notAfter: new Date(Date.now() - 86_400_000),
    }),
  };
  for (const [what, certificate] of Object.entries(cases))
    assert.match(
      await ask(t, certificate, verified),
      /^503 picker_unavailable: 127\.0\.0\.1:\d+: .*certificate/i,
      what,
    );
});

test('TLS to a picker that speaks plaintext, and plaintext to one that speaks TLS', options, async (t) => {
  assert.match(await ask(t, undefined, unverified), /^503 picker_unavailable: /);
  assert.match(await ask(t, signed, {}), /^503 picker_unavailable: /);
});
