// Server-side request forgery through the URLs of OAuth: those that a client chooses, and those that an identity provider names.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { startQuirky } from '../idp/auth-setups.ts';
import { ask, FlowClient, listTools, postMcp } from '../idp/flow-client.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';

let upstream: RecordingUpstream;
let gateway: ProtectedGateway;
let client: FlowClient;
const idps: QuirkyIdp[] = [];
/** Listens where a forged request would arrive. */
let trap: Server;
let trapPort: number;
let caught = 0;

const named: Record<string, (port: number) => Record<string, unknown>> = {
  'JWKS at the metadata service of a cloud': () => ({ jwks_uri: 'http://169.254.169.254/latest/meta-data/' }),
  'JWKS at the metadata service, in another spelling': () => ({ jwks_uri: 'http://[::ffff:169.254.169.254]/' }),
  'JWKS at the metadata service, as a number': () => ({ jwks_uri: 'http://2852039166/' }),
  'JWKS at a link-local address': () => ({ jwks_uri: 'http://[fe80::1]/' }),
  'JWKS that is no http (CVE-2025-6514)': () => ({ jwks_uri: 'file:///etc/passwd' }),
  'an authorization endpoint that reaches a shell (CVE-2025-6514)': () => ({ authorization_endpoint: 'a:$(calc.exe)' }),
  'a token endpoint that is no http': (port) => ({ token_endpoint: `gopher://127.0.0.1:${port}/` }),
  'a registration endpoint that is no http': (port) => ({ registration_endpoint: `dict://127.0.0.1:${port}/` }),
};

before(async () => {
  trap = createServer((socket) => {
    caught += 1;
    socket.destroy();
  });
  trap.listen(0, '127.0.0.1');
  await once(trap, 'listening');
  trapPort = (trap.address() as AddressInfo).port;
  upstream = await startMcpUpstream();
  const policies: Record<string, unknown>[] = [];
  const start = async (metadataMembers: Record<string, unknown>): Promise<void> => {
    const { quirky, authentication } = await startQuirky({ metadataMembers }, {});
    idps.push(quirky);
    policies.push(authentication);
  };
  await start({ authorization_response_iss_parameter_supported: true });
  for (const members of Object.values(named)) await start(members(trapPort));
  gateway = await startProtectedGateway({
    backends: policies.map((authentication, index) => ({ path: `/mcp-${index}`, port: upstream.port, authentication })),
  });
  client = new FlowClient(gateway.urlOf('/mcp-0'));
  await client.prepare();
});
after(async () => {
  await gateway?.stop();
  await Promise.all(idps.map((idp) => idp.close()));
  await upstream?.close();
  trap?.close();
});

describe('SSRF through OAuth URLs (CVE-2026-45609): a client_id that is a URL', () => {
  test('is advertised', () => assert.equal(client.server!['client_id_metadata_document_supported'], true));

  const addresses: Record<string, () => string> = {
    loopback: () => `https://127.0.0.1:${trapPort}/client.json`,
    'loopback by name': () => `https://localhost:${trapPort}/client.json`,
    'loopback, IPv6': () => `https://[::1]:${trapPort}/client.json`,
    'loopback, mapped': () => `https://[::ffff:127.0.0.1]:${trapPort}/client.json`,
    'loopback, mapped in hexadecimal': () => `https://[::ffff:7f00:1]:${trapPort}/client.json`,
    'loopback, as a number': () => `https://2130706433:${trapPort}/client.json`,
    'loopback, short': () => `https://127.1:${trapPort}/client.json`,
    'loopback, octal': () => `https://0177.0.0.1:${trapPort}/client.json`,
    'this host': () => `https://0.0.0.0:${trapPort}/client.json`,
    'the metadata service of a cloud': () => 'https://169.254.169.254/client.json',
    'a private network': () => 'https://10.0.0.1/client.json',
    'another private network': () => 'https://192.168.1.1/client.json',
    'a unique local address': () => 'https://[fd00::1]/client.json',
    'NAT64 to loopback': () => `https://[64:ff9b::7f00:1]:${trapPort}/client.json`,
    http: () => `http://127.0.0.1:${trapPort}/client.json`,
    'a user in front': () => `https://example.com@127.0.0.1:${trapPort}/client.json`,
    'no path': () => `https://localhost:${trapPort}`,
    'dots in the path': () => `https://localhost:${trapPort}/a/../client.json`,
    'a fragment': () => `https://localhost:${trapPort}/client.json#x`,
  };
  for (const [name, address] of Object.entries(addresses)) {
    test(`${name} -> an error page, and no request is sent`, async () => {
      const answer = await ask(client.formatAuthorizationUrl({ client_id: address() }));
      assert.equal(answer.status, 400, answer.body);
      assert.equal(answer.headers['location'], undefined);
      assert.equal(caught, 0);
    });
  }
});

describe('SSRF through OAuth URLs: what the metadata of an identity provider names', () => {
  for (const [index, name] of Object.keys(named).entries()) {
    test(`${name} -> blocked, and nothing passes`, async () => {
      upstream.forget();
      const url = gateway.urlOf(`/mcp-${index + 1}`);
      const token = await idps[index + 1]!.issueAccessToken({ resource: url });
      const answer = await postMcp(url, listTools, { authorization: `Bearer ${token}` });
      assert.equal(answer.status, 503, answer.body);
      assert.equal(upstream.headCount, 0);
      assert.equal(caught, 0);
      assert.doesNotMatch(answer.body, /169\.254|passwd|calc|gopher|dict/);
    });
  }
});
