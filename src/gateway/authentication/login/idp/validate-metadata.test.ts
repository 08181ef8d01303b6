import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type MetadataRules, validateMetadata } from './validate-metadata.ts';

const document = {
  issuer: 'https://idp.example.com',
  authorization_endpoint: 'https://idp.example.com/authorize',
  token_endpoint: 'https://idp.example.com/token',
};
const rules: MetadataRules = { issuer: 'https://idp.example.com', acceptsIssuer: undefined, allowInsecureHttp: false };
const findProblem = (members: object, changed: Partial<MetadataRules> = {}): string => {
  const verdict = validateMetadata({ ...document, ...members }, { ...rules, ...changed });
  return verdict.ok ? 'none' : verdict.problem;
};

describe('validateMetadata', () => {
  test('keeps members that it does not know', () => {
    const verdict = validateMetadata({ ...document, x_unknown: { a: [1] } }, rules);
    assert.deepEqual(verdict, { ok: true, metadata: { ...document, x_unknown: { a: [1] } } });
  });

  test('demands the very issuer', () => {
    assert.match(findProblem({ issuer: undefined }), /names no issuer/);
    assert.match(findProblem({ issuer: 7 }), /names no issuer/);
    assert.match(findProblem({ issuer: 'https://evil.example' }), /"https:\/\/evil\.example" and not/);
    assert.match(findProblem({ issuer: 'https://idp.example.com/' }), /a trailing slash matters/);
    assert.match(findProblem({ issuer: 'https://IDP.example.com' }), /and not/);
  });

  test('accepts another name where the preset does', () => {
    const acceptsIssuer = (configured: string, found: string): boolean => found === `${configured}/v2.0`;
    assert.equal(findProblem({ issuer: 'https://idp.example.com/v2.0' }, { acceptsIssuer }), 'none');
    assert.notEqual(findProblem({ issuer: 'https://idp.example.com/v3.0' }, { acceptsIssuer }), 'none');
  });

  test('refuses endpoints that are no http(s) URLs, wherever they are', () => {
    for (const url of [
      'javascript:alert(1)',
      'file:///etc/passwd',
      'data:text/html,x',
      'ftp://a/b',
      '$(calc)',
      7,
      {},
      '',
    ]) {
      assert.notEqual(findProblem({ authorization_endpoint: url }), 'none', JSON.stringify(url));
      assert.notEqual(findProblem({ x_other_endpoint: url }), 'none', JSON.stringify(url));
      assert.notEqual(findProblem({ jwks_uri: url }), 'none', JSON.stringify(url));
      assert.notEqual(findProblem({ mtls_endpoint_aliases: { token_endpoint: url } }), 'none', JSON.stringify(url));
    }
    assert.notEqual(findProblem({ token_endpoint: 'https://user:secret@idp.example.com/token' }), 'none');
  });

  test('refuses http unless it stays on the machine or in the cluster, or the operator accepts it', () => {
    assert.match(findProblem({ token_endpoint: 'http://idp.example.com/token' }), /not https/);
    assert.equal(findProblem({ token_endpoint: 'http://idp.example.com/token' }, { allowInsecureHttp: true }), 'none');
    for (const host of ['127.0.0.1:9000', 'localhost', '[::1]:1', 'idp.auth.svc', 'idp.auth.svc.cluster.local'])
      assert.equal(findProblem({ token_endpoint: `http://${host}/token` }), 'none', host);
  });

  test('needs the endpoints of a login', () => {
    assert.match(findProblem({ token_endpoint: undefined }), /no token_endpoint|not a URL/);
    const { authorization_endpoint: _left, ...others } = document;
    const verdict = validateMetadata(others, rules);
    assert.ok(!verdict.ok && /has no authorization_endpoint/.test(verdict.problem));
  });

  test('leaves out lists that are none, and null', () => {
    const verdict = validateMetadata(
      {
        ...document,
        scopes_supported: null,
        grant_types_supported: 'authorization_code',
        code_challenge_methods_supported: ['S256', 1],
        registration_endpoint: null,
        authorization_response_iss_parameter_supported: 'yes',
      },
      rules,
    );
    assert.deepEqual(verdict, { ok: true, metadata: document });
  });
});
