import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type ClientMetadata, isKnownMember, pickShownMembers, readClientMetadata } from './client-metadata.ts';

const redirect = 'https://app.example/callback';
const read = (members: object, allowed: readonly string[] = []): string => {
  const result = readClientMetadata(JSON.stringify(members), allowed);
  return result.ok ? 'ok' : `${result.error}: ${result.description}`;
};
function accept(members: object, allowed: readonly string[] = []): ClientMetadata {
  const result = readClientMetadata(JSON.stringify({ redirect_uris: [redirect], ...members }), allowed);
  assert.ok(result.ok, JSON.stringify(result));
  return result.client;
}

describe('what is no registration', () => {
  test('is refused at once, whatever it is', () => {
    const deep = `{"redirect_uris":["${redirect}"],"jwks":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
    for (const body of [
      '',
      'x',
      '[]',
      '"a"',
      '7',
      'null',
      '{',
      '[{"redirect_uris": ["https://a"]}]',
      deep,
      `{"__proto__": {"x": 1}, "redirect_uris": ["${redirect}"]}`,
      `{"jwks": {"\\u005f_proto__": 1}, "redirect_uris": ["${redirect}"]}`,
    ]) {
      const result = readClientMetadata(body, []);
      assert.ok(!result.ok && result.error === 'invalid_client_metadata', body.slice(0, 40));
    }
  });

  test('10,000 redirect URIs, and none', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `https://app.example/${index}`);
    assert.match(read({ redirect_uris: many }), /^invalid_redirect_uri: .*32 entries/);
    for (const redirects of [undefined, [], {}, 'https://app.example', null, [7], [null], [['https://a']]])
      assert.match(read({ redirect_uris: redirects }), /^invalid_redirect_uri/);
  });

  test('property: nothing throws, and only known members get through', () => {
    fc.assert(fc.property(fc.string(), (text) => void readClientMetadata(text, [])));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (members) => {
        const result = readClientMetadata(JSON.stringify({ ...members, redirect_uris: [redirect] }), []);
        if (result.ok) assert.ok(Object.keys(result.client.members).every(isKnownMember));
      }),
    );
  });
});

describe('redirect URIs', () => {
  test('https anywhere and http on loopback', () => {
    for (const uri of [redirect, 'http://127.0.0.1:33418/cb', 'http://[::1]/cb', 'http://localhost:1/'])
      assert.equal(read({ redirect_uris: [uri] }), 'ok', uri);
    for (const uri of [
      'http://app.example/cb',
      'javascript:alert(1)',
      'data:text/html,x',
      'https://a.example/#f',
      'https://u:p@a.example/',
      'a/b',
      '',
      'https://',
      'cursor://x/cb',
      'https://a.example/\u0000',
      'http://127.0.0.1.evil.example/',
    ])
      assert.match(read({ redirect_uris: [redirect, uri] }), /^invalid_redirect_uri/, uri);
  });

  test('only those that the operator allows; a custom scheme has to be among them', () => {
    const allowed = ['https://app.example/callback', 'http://127.0.0.1/cb', 'cursor://x/cb'];
    for (const uri of [redirect, 'http://127.0.0.1:5555/cb', 'cursor://x/cb'])
      assert.equal(read({ redirect_uris: [uri] }, allowed), 'ok', uri);
    for (const uri of ['https://app.example/callback2', 'http://127.0.0.1:5555/other', 'vscode://x/cb'])
      assert.match(read({ redirect_uris: [uri] }, allowed), /^invalid_redirect_uri/, uri);
  });

  test('each once', () => {
    assert.deepEqual(accept({ redirect_uris: [redirect, redirect] }).redirectUris, [redirect]);
  });
});

describe('members', () => {
  test('what the client chose for itself is dropped', () => {
    const client = accept({
      client_id: 'admin',
      client_secret: 's',
      registration_access_token: 't',
      software_statement: 'x.y.z',
      x_other: 1,
      client_name: 'A',
    });
    assert.deepEqual(client, { redirectUris: [redirect], name: 'A', scope: undefined, members: {} });
  });

  test('that describe a client go on, null counts as absent', () => {
    const members = {
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      client_uri: 'https://app.example',
      'tos_uri#de': 'https://app.example/agb',
      contacts: ['a@app.example'],
      software_id: 's',
      software_version: '1',
      policy_uri: null,
    };
    const { policy_uri: _left, ...kept } = members;
    assert.deepEqual(accept(members).members, kept);
  });

  test('that the IdP would fetch or trust do not, whatever is in them', () => {
    const members = {
      jwks: { keys: [{ kty: 'RSA' }] },
      jwks_uri: 'http://169.254.169.254/keys',
      request_uris: ['https://evil.example/request'],
      sector_identifier_uri: 'https://evil.example/sector',
      logo_uri: 'http://127.0.0.1:9093/logo',
      'logo_uri#de': 'http://127.0.0.1:9093/logo',
      initiate_login_uri: 'https://evil.example/login',
      post_logout_redirect_uris: ['https://evil.example/out'],
      backchannel_logout_uri: 'http://10.0.0.1/',
      backchannel_client_notification_endpoint: 'http://10.0.0.1/',
      software_statement: 'x.y.z',
      token_endpoint_auth_signing_alg: 'none',
      request_object_signing_alg: 'none',
      id_token_signed_response_alg: 'none',
      default_acr_values: ['x'],
      tls_client_auth_subject_dn: 'cn=x',
      authorization_details_types: ['x'],
    };
    assert.deepEqual(accept(members).members, {});
  });

  test('grants are those of a login, whatever is asked for', () => {
    const grantsOf = (grants: unknown): unknown => accept({ grant_types: grants }).members['grant_types'];
    const device = 'urn:ietf:params:oauth:grant-type:device_code';
    assert.deepEqual(grantsOf(['authorization_code', 'refresh_token', device]), [
      'authorization_code',
      'refresh_token',
    ]);
    assert.deepEqual(grantsOf(['client_credentials', 'authorization_code', 'password', 'implicit']), [
      'authorization_code',
    ]);
    assert.deepEqual(grantsOf([]), ['authorization_code']);
    assert.equal('grant_types' in accept({}).members, false);
    assert.deepEqual(accept({ response_types: ['token', 'code id_token'] }).members['response_types'], ['code']);
    for (const grants of [['client_credentials'], ['refresh_token'], ['Authorization_code'], ['implicit', 'password']])
      assert.match(
        read({ redirect_uris: [redirect], grant_types: grants }),
        /^invalid_client_metadata: grant_types must include authorization_code/,
      );
  });

  test('of the wrong kind are refused by name', () => {
    for (const [name, value] of Object.entries({
      client_name: 7, client_uri: 'javascript:alert(1)', policy_uri: 'data:image/png,x', tos_uri: 'x', scope: ['a'], grant_types: 'authorization_code', contacts: [7],
      application_type: true, software_id: 'x'.repeat(2_000), response_types: Array.from({ length: 100 }, () => 'code'),
    })) assert.match(read({ redirect_uris: [redirect], [name]: value }), new RegExp(`^invalid_client_metadata: ${name} must`), name); // prettier-ignore
    assert.match(read({ redirect_uris: [redirect], scope: 'a"b' }), /^invalid_client_metadata: scope/);
  });

  test('names are one line without invisible characters', () => {
    assert.equal(accept({ client_name: ' Evil\u202e\r\n\u200bName\t ' }).name, 'Evil Name');
    assert.equal(accept({ client_name: '\n' }).name, undefined);
    assert.equal(accept({ scope: ' ' }).scope, undefined);
    assert.equal(accept({ scope: 'a b' }).scope, 'a b');
  });

  test('application_type follows from the redirect URIs', () => {
    assert.equal(accept({}).members['application_type'], undefined);
    assert.equal(accept({ application_type: 'web' }).members['application_type'], 'web');
    assert.equal(
      accept({ redirect_uris: ['http://localhost/cb'], application_type: 'web' }).members['application_type'],
      'native',
    );
    assert.equal(accept({ redirect_uris: ['cursor://x/cb'] }, ['cursor://x/cb']).members['application_type'], 'native');
  });

  test('those for people are told apart', () => {
    assert.deepEqual(
      pickShownMembers({
        client_uri: 'https://a',
        'client_name#de': 'A',
        contacts: [],
        jwks: {},
        grant_types: [],
        application_type: 'native',
      }),
      { client_uri: 'https://a', 'client_name#de': 'A', contacts: [] },
    );
  });
});
