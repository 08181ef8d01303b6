// The certificate selector behind a real TLS server: server names and protocol versions.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { connect, type ConnectionOptions, createServer, type Server } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import { compile } from '../../src/gateway/config/compile/compile.ts';
import { emptyConfiguration } from '../../src/ir/configuration.ts';
import { ListenerProtocol, ListenerSchema, SecretSchema } from '../../src/ir/gen/config_pb.ts';
import { createCertificate, type CertificateOptions } from '../self-signed-certificate.ts';

function createSecret(name: string, options: CertificateOptions) {
  const { cert: certificate, key: privateKey } = createCertificate(options);
  return create(SecretSchema, {
    key: name,
    value: { case: 'tls', value: { certificateChain: certificate, privateKey } },
  });
}

const { runtime, problems } = compile({
  ...emptyConfiguration,
  listeners: [
    create(ListenerSchema, {
      key: 'n/g/l',
      gateway: 'n/g',
      name: 'l',
      port: 443,
      protocol: ListenerProtocol.HTTPS,
      hostname: '*.example.com',
      certificates: ['wild', 'ec'],
    }),
  ],
  secrets: [
    createSecret('ec', { names: ['a.example.com'] }),
    createSecret('wild', { names: ['*.example.com'], keyType: 'rsa' }),
  ],
});
const { selectCertificate } = runtime.ports.get('|443')!;

describe('a TLS server with the certificates of a listener', () => {
  let server: Server;

  before(async () => {
    server = createServer({
      SNICallback: (serverName, callback) => {
        const context = selectCertificate!(serverName)?.context;
        if (context === undefined) callback(new Error('no certificate for this name'));
        else callback(null, context);
      },
    });
    server.on('tlsClientError', () => {});
    server.on('secureConnection', (socket) => socket.on('error', () => {}).end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  after(async () => {
    server.close();
    await once(server, 'close');
  });

  async function handshake(
    servername: string,
    options: ConnectionOptions = {},
  ): Promise<{ names: string | undefined; kind: string }> {
    const { port } = server.address() as AddressInfo;
    const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false, ...options });
    try {
      await once(socket, 'secureConnect');
      const certificate = socket.getPeerCertificate();
      return {
        names: certificate.subjectaltname,
        kind: 'asn1Curve' in certificate && certificate.asn1Curve !== undefined ? 'ec' : 'rsa',
      };
    } finally {
      socket.destroy();
    }
  }

  test('was configured without a problem', () => assert.deepEqual(problems, []));

  test('serves a name with the certificate of its own', async () => {
    assert.deepEqual(await handshake('a.example.com'), { names: 'DNS:a.example.com', kind: 'ec' });
    assert.deepEqual(await handshake('a.example.com', { maxVersion: 'TLSv1.2' }), {
      names: 'DNS:a.example.com',
      kind: 'ec',
    });
  });

  test('serves another name with the certificate that covers it', async () => {
    assert.deepEqual(await handshake('b.example.com'), { names: 'DNS:*.example.com', kind: 'rsa' });
  });

  test('refuses a name that no listener has', async () => {
    await assert.rejects(handshake('other.test'));
  });

  test('refuses TLS 1.1', async () => {
    await assert.rejects(
      handshake('a.example.com', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
    );
  });
});
