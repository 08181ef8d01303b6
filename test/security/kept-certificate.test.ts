// A listener whose Secret is missing or broken for a while keeps its last good certificate. That must not keep what was taken away on purpose, nor give one name the
// certificate of another.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { findFreePorts } from '../kit/free-ports.ts';
import { createReadMarker } from '../kit/read-marker.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createCertificate, type TestCertificate } from '../self-signed-certificate.ts';

const certificates = {
  first: createCertificate({ names: ['first.test'] }),
  second: createCertificate({ names: ['second.test'] }),
  next: createCertificate({ names: ['first.test'] }),
};
type CertificateName = keyof typeof certificates;

const marker = createReadMarker();
let plainPort: number;
let gateway: GatewayRun;

/** What differs from the resources in which all is well. */
interface Difference {
  /** The content of the Secret of each listener; undefined: there is no such Secret. */
  readonly first?: TestCertificate | undefined;
  readonly second?: TestCertificate | undefined;
  /** Whether the Gateway may use the Secret of its first listener. */
  readonly isGranted?: boolean;
  /** Whether the first listener is there. */
  readonly hasFirst?: boolean;
  /** Names the Secret of the first listener. */
  readonly refersTo?: string;
}

const gatewayApi = 'gateway.networking.k8s.io';

function createResources(port: number, difference: Difference = {}): readonly object[] {
  const { isGranted = true, hasFirst = true, refersTo = 'first' } = difference;
  const { first, second } = { first: certificates.first, second: certificates.second, ...difference };
  const https = (name: string, reference: object): object => ({
    name,
    protocol: 'HTTPS',
    port,
    hostname: `${name}.test`,
    tls: { certificateRefs: [reference] },
  });
  const secret = (name: string, content: TestCertificate | undefined): readonly object[] =>
    content === undefined
      ? []
      : [
          {
            apiVersion: 'v1',
            kind: 'Secret',
            metadata: { name, namespace: name === 'first' ? 'certificates' : 'default' },
            type: 'kubernetes.io/tls',
            stringData: { 'tls.crt': content.cert, 'tls.key': content.key },
          },
        ];
  return [
    {
      apiVersion: `${gatewayApi}/v1`,
      kind: 'Gateway',
      metadata: { name: 'test' },
      spec: {
        gatewayClassName: 'proxy',
        addresses: [{ value: '127.0.0.1' }],
        listeners: [
          { name: 'plain', protocol: 'HTTP', port: plainPort },
          ...(hasFirst ? [https('first', { name: refersTo, namespace: 'certificates' })] : []),
          https('second', { name: 'second' }),
        ],
      },
    },
    ...(isGranted
      ? [
          {
            apiVersion: `${gatewayApi}/v1beta1`,
            kind: 'ReferenceGrant',
            metadata: { name: 'gateways', namespace: 'certificates' },
            spec: {
              from: [{ group: gatewayApi, kind: 'Gateway', namespace: 'default' }],
              to: [{ group: '', kind: 'Secret' }],
            },
          },
        ]
      : []),
    ...secret('first', first),
    ...secret('second', second),
  ];
}

/** Puts other resources in force. */
async function change(difference?: Difference): Promise<void> {
  gateway.write(createResources(gateway.port, difference));
  await marker.waitUntilRead(gateway);
}

/** The certificate that a name gets; undefined: the handshake is refused. */
function readCertificate(servername: string): Promise<CertificateName | 'another' | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: gateway.port, servername, rejectUnauthorized: false }, () => {
      const shown = socket.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '').toLowerCase();
      const found = Object.entries(certificates).find(([, { cert }]) => digest(cert) === shown);
      socket.destroy();
      resolve((found?.[0] as CertificateName | undefined) ?? 'another');
    });
    socket.on('error', () => resolve(undefined));
  });
}

function digest(pem: string): string {
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  return createHash('sha256').update(der).digest('hex');
}

const readBoth = async (): Promise<readonly (string | undefined)[]> => [
  await readCertificate('first.test'),
  await readCertificate('second.test'),
];

before(async () => {
  [plainPort] = (await findFreePorts(1)) as [number];
  gateway = await runGateway({ resources: (port) => createResources(port), flags: marker.flags });
});
after(async () => {
  await gateway.stop();
  marker.remove();
});

describe('a Secret that is missing or broken', () => {
  test('keeps its certificate, and the log and the admin port say so, until the next one is there', async () => {
    assert.deepEqual(await readBoth(), ['first', 'second']);
    await change({ first: undefined });
    assert.deepEqual(await readBoth(), ['first', 'second']);
    assert.match(gateway.readOutput(), /the certificate of a listener is missing or unusable; the last good one stays/);
    const overview = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/`)).text();
    assert.match(overview, /keeps serving its last good certificate since .* until it expires at/);

    await change({ first: { ...certificates.next, key: certificates.first.key } });
    assert.deepEqual(await readBoth(), ['first', 'second'], 'a key that does not belong to it');
    await change({ first: { cert: 'nonsense', key: 'nonsense' } });
    assert.deepEqual(await readBoth(), ['first', 'second'], 'nonsense');
    await change({ first: certificates.next });
    assert.deepEqual(await readBoth(), ['next', 'second']);
  });

  test('is never replaced by that of another listener', async () => {
    await change({ first: undefined, second: undefined });
    await change({ first: undefined, second: certificates.second });
    assert.notEqual(await readCertificate('first.test'), 'second');
    await change({ first: undefined, refersTo: 'elsewhere' });
    assert.deepEqual(await readBoth(), [undefined, 'second'], 'the listener names another Secret now');
  });
});

describe('what is taken away on purpose is closed at once', () => {
  test('the ReferenceGrant, whether the Secret is there or not, and what was kept is not there when it is given again', async () => {
    await change();
    await change({ isGranted: false });
    assert.deepEqual(await readBoth(), [undefined, 'second']);
    await change();
    assert.deepEqual(await readBoth(), ['first', 'second']);

    await change({ first: undefined });
    assert.deepEqual(await readBoth(), ['first', 'second']);
    await change({ first: undefined, isGranted: false });
    assert.deepEqual(await readBoth(), [undefined, 'second']);
    await change({ first: undefined });
    assert.deepEqual(await readBoth(), [undefined, 'second']);
  });

  test('the listener', async () => {
    await change();
    await change({ first: undefined });
    await change({ first: undefined, hasFirst: false });
    assert.deepEqual(await readBoth(), [undefined, 'second']);
    await change({ first: undefined });
    assert.deepEqual(await readBoth(), [undefined, 'second']);
    await change();
    assert.deepEqual(await readBoth(), ['first', 'second']);
  });
});

test('a gateway that starts without the Secret has nothing to serve for it, and another name is not given away', async (t) => {
  const first = gateway;
  [plainPort] = (await findFreePorts(1)) as [number];
  const other = await runGateway({ resources: (port) => createResources(port, { first: undefined }) });
  t.after(() => other.stop());
  gateway = other;
  try {
    assert.deepEqual(await readBoth(), [undefined, 'second']);
    assert.match(other.readOutput(), /this process never had a good one, and handshakes are refused/);
  } finally {
    gateway = first;
  }
});
