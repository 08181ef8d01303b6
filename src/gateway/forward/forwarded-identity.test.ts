import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TokenLocation } from '../authentication/token/find-token.ts';
import type { JwtAdmission, McpAdmission } from '../request/admission.ts';
import { combineIdentity, type ForwardedIdentity } from './forwarded-identity.ts';
import { readForwardedQuery } from '../request/forwarded-query.ts';

const authorization = { kind: 'header', name: 'authorization', prefix: 'Bearer ' } as const;

function admit(forwardToken: boolean, location: TokenLocation = authorization, isVerified = true): JwtAdmission {
  const isKept = !forwardToken || !isVerified;
  return {
    config: { location, message: { forwardToken } },
    token: undefined,
    removedHeaders: new Set(['x-team', 'x-user', ...(isKept && location.kind === 'header' ? [location.name] : [])]),
    addedHeaders: isVerified ? ['x-team', 'route', 'X-User', 'route'] : [],
    removedCookie: isKept && location.kind === 'cookie' ? location.name : undefined,
    removedQueryParameter: isKept && location.kind === 'queryParameter' ? location.name : undefined,
  } as unknown as JwtAdmission;
}

function authenticate(forwardToken: boolean, addedHeaders = ['x_user', 'backend']): McpAdmission {
  return {
    removedHeaders: new Set(['authorization', 'x-user']),
    addedHeaders: [...addedHeaders, ...(forwardToken ? ['authorization', 'Bearer t'] : [])],
  } as unknown as McpAdmission;
}

const combine = (jwt: JwtAdmission | undefined, backend: McpAdmission | undefined): ForwardedIdentity =>
  combineIdentity(jwt, backend, undefined);

describe('what goes upstream of who is asking', () => {
  test('is nothing where nobody asked', () => {
    assert.deepEqual(combine(undefined, undefined), {
      removed: undefined,
      removedCookie: undefined,
      added: [],
    });
  });

  test('is what the one says who asked', () => {
    assert.deepEqual(combine(admit(false), undefined), {
      removed: new Set(['x-team', 'x-user', 'authorization']),
      removedCookie: undefined,
      added: ['x-team', 'route', 'X-User', 'route'],
    });
    assert.deepEqual(combine(undefined, authenticate(true)), {
      removed: new Set(['authorization', 'x-user']),
      removedCookie: undefined,
      added: ['x_user', 'backend', 'authorization', 'Bearer t'],
    });
  });

  test('is what both say; of the same header what the backend says', () => {
    const { removed, added } = combine(admit(false), authenticate(false));
    assert.deepEqual(removed, new Set(['x-team', 'x-user', 'authorization']));
    assert.deepEqual(added, ['x-team', 'route', 'x_user', 'backend']);
    // A header that is the backend's own is not filled in by another issuer.
    assert.deepEqual(combine(admit(false), authenticate(false, [])).added, ['x-team', 'route']);
  });

  test('has the token only when everyone who read it there wants it to', () => {
    const hasToken = (jwt: JwtAdmission, backend: McpAdmission): boolean =>
      combine(jwt, backend).added.includes('authorization');
    assert.equal(hasToken(admit(true), authenticate(true)), true);
    assert.equal(hasToken(admit(false), authenticate(true)), false);
    assert.equal(hasToken(admit(true), authenticate(false)), false);
    assert.ok(combine(admit(true), authenticate(false)).removed?.has('authorization'));
    // The route looked elsewhere, or knows nothing about the token that the backend verified.
    assert.equal(hasToken(admit(false, { kind: 'cookie', name: 'session' }), authenticate(true)), true);
    assert.equal(hasToken(admit(true, authorization, false), authenticate(true)), true);
    assert.equal(hasToken(admit(false, authorization, false), authenticate(true)), false);
  });

  test('has nothing under the names of policies that have no say either', () => {
    const overridden = new Set(['x-role', 'x-user']);
    const ofRoute = combineIdentity(admit(true), undefined, overridden);
    assert.deepEqual(ofRoute.removed, new Set(['x-team', 'x-user', 'x-role']));
    // What the gateway adds itself is its own business.
    assert.deepEqual(ofRoute.added, ['x-team', 'route', 'X-User', 'route']);
    const ofBoth = combineIdentity(admit(false), authenticate(false), overridden);
    assert.deepEqual(ofBoth.removed, new Set(['x-team', 'x-user', 'authorization', 'x-role']));
    assert.deepEqual(ofBoth.added, ['x-team', 'route', 'x_user', 'backend']);
    assert.deepEqual(combineIdentity(undefined, undefined, overridden).removed, overridden);
  });

  test('has no cookie of the token', () => {
    const cookie = { kind: 'cookie', name: 'session' } as const;
    assert.equal(combine(admit(false, cookie), authenticate(true)).removedCookie, 'session');
    assert.equal(combine(admit(false, cookie), undefined).removedCookie, 'session');
    assert.equal(combine(admit(true, cookie), undefined).removedCookie, undefined);
  });

  test('has no query parameter of the token', () => {
    const parameter = { kind: 'queryParameter', name: 'jwt' } as const;
    const query = '?a=%41&j%77t=t&b';
    assert.equal(readForwardedQuery({ query, jwt: undefined }), query);
    assert.equal(readForwardedQuery({ query, jwt: admit(true, parameter) }), query);
    assert.equal(readForwardedQuery({ query, jwt: admit(false, parameter) }), '?a=%41&b');
  });
});
