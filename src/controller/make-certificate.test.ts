// The certificates that the controller makes: OpenSSL reads them, a TLS client trusts them for their names only, and our own check takes them.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { connect, createServer, type ConnectionOptions } from 'node:tls';
import { checkCertificate } from './check-certificate.ts';
import { makeCertificate } from './make-certificate.ts';

const now = Date.now();
const hour = 3_600_000;
const names = ['proxy.proxy-system.svc', 'proxy.proxy-system.svc.cluster.local', 'proxy.proxy-system', 'proxy'];
const made = makeCertificate({ names, validFrom: now - hour, validTo: now + hour });

test('an authority and a server certificate, P-256, with what RFC 5280 asks for', () => {
  const ca = new X509Certificate(made.ca);
  const leaf = new X509Certificate(made.certificateChain);
  assert.equal(ca.ca, true);
  assert.equal(leaf.ca, false);
  assert.ok(ca.checkIssued(ca) && ca.verify(ca.publicKey), 'signed by itself');
  assert.ok(leaf.checkIssued(ca) && leaf.verify(ca.publicKey), 'signed by the authority');
  assert.equal(leaf.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
  assert.equal(leaf.subjectAltName, names.map((name) => `DNS:${name}`).join(', '));
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1'], 'serverAuth');
  assert.match(leaf.serialNumber, /^40[0-9A-F]{30}$/);
  assert.equal(leaf.validFromDate.getTime(), Math.floor((now - hour) / 1_000) * 1_000);
  assert.equal(leaf.validToDate.getTime(), Math.floor((now + hour) / 1_000) * 1_000);
});

test('our own check takes it, for its first name', () => {
  for (const name of names) assert.equal(checkCertificate(made, name, now).ok, true);
  assert.equal(checkCertificate(made, 'proxy.elsewhere.svc', now).ok, false);
});

test('two of them have nothing in common', () => {
  const other = makeCertificate({ names, validFrom: now - hour, validTo: now + hour });
  assert.notEqual(new X509Certificate(other.ca).subject, new X509Certificate(made.ca).subject);
  assert.equal(checkCertificate({ ...made, ca: other.ca }, names[0]!, now).ok, false);
});

test('dates after 2049 are written in their long form', () => {
  const late = makeCertificate({ names, validFrom: now - hour, validTo: Date.UTC(2051, 4, 6, 7, 8, 9) });
  assert.equal(new X509Certificate(late.ca).validToDate.toISOString(), '2051-05-06T07:08:09.000Z');
});

test('a client that trusts the authority connects, also when it trusts others; one that does not is refused', async (context) => {
  const other = makeCertificate({ names, validFrom: now - hour, validTo: now + hour });
  const server = createServer({ cert: made.certificateChain, key: made.privateKey }, (socket) => socket.end());
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  context.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const handshake = (options: ConnectionOptions): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', ...options }, () => {
        resolve('trusted');
        socket.destroy();
      });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
  const servername = names[0]!;
  assert.equal(await handshake({ servername, ca: made.ca }), 'trusted');
  assert.equal(await handshake({ servername, ca: `${other.ca}${made.ca}` }), 'trusted');
  assert.notEqual(await handshake({ servername, ca: other.ca }), 'trusted');
  assert.equal(await handshake({ servername: 'proxy.elsewhere.svc', ca: made.ca }), 'ERR_TLS_CERT_ALTNAME_INVALID');
});
