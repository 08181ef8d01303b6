import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { test } from 'node:test';
import { getStandInCertificate } from './stand-in-certificate.ts';

test('the certificate and the key are good for everything that reads them', () => {
  const { certificate, key } = getStandInCertificate();
  const parsed = new X509Certificate(certificate);
  assert.equal(parsed.subject, 'CN=stand-in');
  assert.ok(parsed.checkPrivateKey(createPrivateKey(key)));
  assert.ok(parsed.verify(parsed.publicKey), 'it signs itself');
  assert.doesNotThrow(() => createSecureContext({ cert: certificate, key, ca: certificate, minVersion: 'TLSv1.2' }));
  assert.equal(getStandInCertificate(), getStandInCertificate());
});
