import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createSealer, createSealKey } from '../../../../base/sealed.ts';
import { digestClientId, openClient, type RegisteredClient, sealClient } from './client-envelope.ts';
import type { ClientPlace } from '../broker-urls.ts';

const place: ClientPlace = { issuer: 'https://idp.example.com', resource: 'https://mcp.example.com/mcp' };
const client: RegisteredClient = {
  idpClient: { clientId: '3f6c3a0e-8a54-4b0f-9f0c-0d3f6d5a7c11', authMethod: 'client_secret_basic', secret: 's3cret' },
  redirectUris: ['http://127.0.0.1:33418/callback', 'http://localhost:33418/callback'],
  name: 'An MCP client',
  scope: 'openid tickets:read',
};

describe('a sealed client', () => {
  test('comes back as it was, on another replica with the same keys', () => {
    const keys = [createSealKey()];
    const opened = openClient(createSealer(keys), place, sealClient(createSealer(keys), place, client));
    assert.deepEqual(opened, { ok: true, client });
  });

  test('comes back whatever is in it', () => {
    const sealer = createSealer([createSealKey()]);
    const text = fc.string({ minLength: 1, unit: 'grapheme' });
    fc.assert(
      fc.property(
        fc.record(
          {
            idpClient: fc.option(
              fc.record(
                {
                  clientId: text,
                  authMethod: fc.constantFrom('client_secret_basic', 'client_secret_post', 'client_secret_jwt'),
                  secret: text,
                },
                { noNullPrototype: true },
              ),
              { nil: undefined },
            ),
            redirectUris: fc.array(fc.webUrl(), { minLength: 1, maxLength: 20 }),
            name: fc.option(text, { nil: undefined }),
            scope: fc.option(text, { nil: undefined }),
          },
          { noNullPrototype: true },
        ),
        (any) =>
          assert.deepEqual(openClient(sealer, place, sealClient(sealer, place, any as RegisteredClient)), {
            ok: true,
            client: any,
          }),
      ),
      { numRuns: 50 },
    );
  });

  test('is good for its own resource and IdP only: its secret must not reach another IdP', () => {
    const sealer = createSealer([createSealKey()]);
    const clientId = sealClient(sealer, place, client);
    for (const other of [
      { ...place, issuer: 'https://evil.example' },
      { ...place, resource: 'https://mcp.example.com/other' },
    ])
      assert.deepEqual(openClient(sealer, other, clientId), { ok: false, problem: 'elsewhere' });
  });

  test('expires', () => {
    let now = 1000;
    const sealer = createSealer([createSealKey()], () => now);
    const clientId = sealClient(sealer, place, client, 2000);
    assert.equal(openClient(sealer, place, clientId).ok, true);
    now = 2000;
    assert.deepEqual(openClient(sealer, place, clientId), { ok: false, problem: 'expired' });
  });

  test('with any character changed is refused', () => {
    const sealer = createSealer([createSealKey()]);
    const clientId = sealClient(sealer, place, client);
    for (let at = 0; at < clientId.length; at += 1) {
      const other = clientId[at] === 'A' ? 'B' : 'A';
      assert.equal(openClient(sealer, place, `${clientId.slice(0, at)}${other}${clientId.slice(at + 1)}`).ok, false);
    }
  });

  test('survives the rotation of keys, and not their loss', () => {
    const [old, fresh, third] = [createSealKey(), createSealKey(), createSealKey()];
    const clientId = sealClient(createSealer([old]), place, client);
    assert.equal(openClient(createSealer([fresh, old]), place, clientId).ok, true);
    assert.deepEqual(openClient(createSealer([third, fresh]), place, clientId), { ok: false, problem: 'unknown_key' });
  });

  test('of another kind is refused', () => {
    const sealer = createSealer([createSealKey()]);
    assert.deepEqual(openClient(sealer, place, sealer.seal('code', {})), { ok: false, problem: 'other_purpose' });
    assert.deepEqual(openClient(sealer, place, 'not-sealed'), { ok: false, problem: 'malformed' });
    assert.deepEqual(openClient(sealer, place, sealer.seal('client', [2])), { ok: false, problem: 'malformed' });
  });
});

describe('the length of a client id', () => {
  const sealer = createSealer([createSealKey()]);
  const measure = (redirectUris: readonly string[]): number =>
    sealClient(sealer, place, { ...client, redirectUris }).length;

  test('stays small enough for URLs', () => {
    const common = [
      'http://127.0.0.1:33418/callback',
      'http://localhost:33418/callback',
      'https://vscode.dev/redirect',
      'https://claude.ai/api/mcp/auth_callback',
      'cursor://anysphere.cursor-mcp/oauth/callback',
    ];
    // Measured: 236, 267 and 684; the 32 URIs alone are 1,829 characters of JSON.
    assert.ok(measure(common.slice(0, 1)) < 300, String(measure(common.slice(0, 1))));
    assert.ok(measure(common) < 400, String(measure(common)));
    const many = Array.from({ length: 32 }, (_, n) => `https://tenant-${n}.app.example.com/oauth/${n * 7919}/callback`);
    assert.ok(measure(many) < 1000, String(measure(many)));
  });

  test('says nothing about the secret', () => {
    const withSecret = (secret: string): number =>
      sealClient(sealer, place, { ...client, name: 'abcdefgh'.repeat(8), idpClient: { ...client.idpClient!, secret } })
        .length;
    assert.equal(withSecret('abcdefgh'.repeat(8)), withSecret('q7#Zt0!x'.repeat(8)));
  });
});

test('a digest tells clients apart', () => {
  assert.notEqual(digestClientId('a'), digestClientId('b'));
  assert.equal(digestClientId('a'), digestClientId('a'));
  assert.equal(digestClientId('a').length, 22);
});
