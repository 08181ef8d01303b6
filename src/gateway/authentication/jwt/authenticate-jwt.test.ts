// The step by itself, with real keys and tokens: every mode, every place, every kind of token, and what each costs.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GuardedFetcher } from '../../../base/fetch-json.ts';
import { silentLog } from '../../../base/log.ts';
import { AuthenticationMode, JwtAuthenticationSchema } from '../../../ir/gen/config_pb.ts';
import type { MatchedRoute, RouteConfig } from '../../config/runtime-config.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { createInlineKeySource, type KeySource } from '../token/key-source.ts';
import { createTestKey, signWithJose, type TestKey } from '../../../../test/kit/test-issuer.ts';
import { createContext, createResource, type FakeRequest, valueOf } from '../testing/auth-fixture.ts';
import type { Verdict } from '../../request/verdict.ts';
import { authenticateJwt } from './authenticate-jwt.ts';
import type { JwtAuthenticationConfig } from '../../config/jwt-authentication-config.ts';
import { JwtAuthenticationRegistry } from './jwt-authentication-registry.ts';

type Message = MessageInitShape<typeof JwtAuthenticationSchema>;
const { STRICT, OPTIONAL, PERMISSIVE } = AuthenticationMode;
const corp = 'https://corp.example';
const partner = 'https://partner.example';
const nowMs = Date.UTC(2026, 5, 1);
const exp = nowMs / 1_000 + 300;

// The same kid on both sides.
const corpKey = createTestKey('ES256', { kid: 'k' });
const partnerKey = createTestKey('ES256', { kid: 'k' });
const sign = (key: TestKey, claims: object): Promise<string> =>
  signWithJose(key, { alg: 'ES256', kid: 'k' }, { exp, ...claims });
const good = await sign(corpKey, { iss: corp, sub: 'alice', aud: 'api', team: 'blue' });
const expired = await sign(corpKey, { iss: corp, sub: 'alice', aud: 'api', exp: exp - 1_000 });

const bearer: Message['location'] = {
  location: { case: 'header', value: { name: 'authorization', prefix: 'Bearer ' } },
};
const cookie: Message['location'] = { location: { case: 'cookie', value: 'session' } };
const parameter = (value: string): Message['location'] => ({ location: { case: 'queryParameter', value } });

interface Keys {
  [issuer: string]: KeySource;
}

type Provider = NonNullable<Message['providers']>[number];

const inline = (issuer: string, document: string): Provider => ({
  name: new URL(issuer).hostname,
  issuer,
  keys: { source: { case: 'inline', value: document } },
});
const publish = ({ publicJwk }: TestKey): string => JSON.stringify({ keys: [publicJwk] });
const corpProvider: Provider = { ...inline(corp, publish(corpKey)), audiences: ['api'] };
const partnerProvider = inline(partner, publish(partnerKey));

function createRegistry(keys: Keys = {}): JwtAuthenticationRegistry {
  return new JwtAuthenticationRegistry({
    fetcher: {} as GuardedFetcher,
    log: silentLog,
    now: () => nowMs,
    openKeySource: (origin) => {
      assert.ok(origin.kind === 'inline');
      return keys[origin.document] ?? createInlineKeySource(origin.document);
    },
  });
}

/** `keys`: sources in place of an issuer's own. */
function configure(message: Message = {}, keys: Keys = {}, registry = createRegistry(keys)): JwtAuthenticationConfig {
  return registry.acquire({
    source: 'default/jwt',
    message: create(JwtAuthenticationSchema, {
      mode: STRICT,
      location: bearer,
      providers: [corp in keys ? { ...corpProvider, ...inline(corp, corp) } : corpProvider, partnerProvider],
      claimsToHeaders: [{ claim: 'sub', header: 'X-Auth-Subject' }],
      ...message,
    } as Message),
    providers: new Map(),
  });
}

interface Outcome {
  readonly verdict: Verdict;
  readonly context: RequestContext;
}

async function step(config: JwtAuthenticationConfig, request: FakeRequest = {}, cors = false): Promise<Outcome> {
  const { context } = createContext(request);
  const route = {
    policies: { 'traffic.jwtAuthentication': config, 'traffic.cors': cors ? {} : undefined },
    backends: { entries: [], totalWeight: 0 },
  } as unknown as RouteConfig;
  context.route = route;
  const matched: MatchedRoute = { route, matchedPrefix: '/mcp' };
  return { verdict: await authenticateJwt({ context, route, matched }), context };
}

/** "401 token_expired" would be the reason; "alice" whoever is let in. */
function describeOutcome({ verdict, context }: Outcome): string {
  if (verdict.kind === 'deny') return verdict.reason;
  return verdict.kind === 'continue' ? (context.jwt?.token?.subject ?? 'anonymous') : verdict.kind;
}

const withToken = (token: string): FakeRequest => ({ headers: ['Authorization', `Bearer ${token}`] });

describe('modes', () => {
  const requests = {
    none: {},
    'another scheme': { headers: ['authorization', 'Basic YTpi'] },
    valid: withToken(good),
    expired: withToken(expired),
    malformed: { headers: ['authorization', 'Bearer'] },
    ambiguous: { headers: ['authorization', `Bearer ${good}`, 'Authorization', `Bearer ${good}`] },
  } satisfies Record<string, FakeRequest>;
  const table = {
    none: ['missing_token', 'anonymous', 'anonymous'],
    'another scheme': ['missing_token', 'anonymous', 'anonymous'],
    valid: ['alice', 'alice', 'alice'],
    expired: ['token_expired', 'token_expired', 'anonymous'],
    malformed: ['token_malformed', 'token_malformed', 'anonymous'],
    ambiguous: ['invalid_request', 'invalid_request', 'anonymous'],
  } satisfies Record<keyof typeof requests, readonly string[]>;
  for (const [name, request] of Object.entries(requests) as [keyof typeof requests, FakeRequest][])
    for (const [index, mode] of [STRICT, OPTIONAL, PERMISSIVE].entries())
      test(`${['Strict', 'Optional', 'Permissive'][index]}, ${name}: ${table[name][index]}`, async () => {
        const outcome = await step(configure({ mode }), request);
        assert.equal(describeOutcome(outcome), table[name][index]);
        const { decisions } = outcome.context;
        assert.equal(decisions.length, 1);
        const { step: field, policy, mode: shown, outcome: decided, reason, detail } = decisions[0]!;
        if (name === 'another scheme') assert.equal(detail, 'the Authorization header has another scheme');
        if (name === 'none') assert.equal(detail, undefined);
        assert.deepEqual([field, policy], ['traffic.jwtAuthentication', 'default/jwt']);
        assert.equal(shown, ['Strict', 'Optional', 'Permissive'][index]);
        assert.equal(decided, outcome.verdict.kind === 'deny' ? 'deny' : 'allow');
        // Who passed anyway is told apart from who had a token.
        assert.equal(reason, name === 'valid' ? undefined : table[name][0]);
      });
});

describe('the provider', () => {
  test('is the one that the token names as its issuer, and only its keys count', async () => {
    const config = configure();
    assert.equal(describeOutcome(await step(config, withToken(await sign(partnerKey, { iss: partner, sub: 'bob' })))), 'bob');
    for (const [key, iss] of [[partnerKey, corp], [corpKey, partner]] as const)
      assert.equal(describeOutcome(await step(config, withToken(await sign(key, { iss, sub: 'mallory', aud: 'api' })))), 'token_bad_signature');
  }); // prettier-ignore

  test('is exact', async () => {
    for (const iss of [`${corp}/`, corp.toUpperCase(), 'https://other.example', '', ['x'], { corp }, undefined, '__proto__', 'constructor']) {
      const outcome = await step(configure(), withToken(await sign(corpKey, { iss, sub: 'alice', aud: 'api' })));
      assert.equal(describeOutcome(outcome), 'token_wrong_issuer', JSON.stringify(iss));
    }
  }); // prettier-ignore

  test('without audiences takes any, and one with them only its own', async () => {
    const config = configure();
    for (const aud of ['x', undefined, ['a', 'b'], { a: 1 }, 7]) {
      assert.equal(describeOutcome(await step(config, withToken(await sign(partnerKey, { iss: partner, sub: 'bob', aud })))), 'bob');
      assert.equal(describeOutcome(await step(config, withToken(await sign(corpKey, { iss: corp, sub: 'bob', aud })))), 'token_wrong_audience');
    }
  }); // prettier-ignore

  test('without keys has 503 and a time for its own tokens; others, and those without a token, are served', async () => {
    const failing = createInlineKeySource('{"keys":[]}');
    const config = configure({}, { [corp]: failing });
    const outcome = await step(config, withToken(good));
    assert.equal(describeOutcome(outcome), 'keys_unavailable');
    assert.ok(outcome.verdict.kind === 'deny');
    assert.deepEqual(outcome.verdict.responseHeaders, ['retry-after', '60']);
    assert.equal(outcome.verdict.detail, 'the inline key set is empty');
    assert.equal(describeOutcome(await step(config, withToken(await sign(partnerKey, { iss: partner, sub: 'bob' })))), 'bob');
    assert.equal(describeOutcome(await step(config)), 'missing_token');
    assert.equal(describeOutcome(await step(config, withToken('a.b.c'))), 'token_malformed');
    const permissive = configure({ mode: PERMISSIVE }, { [corp]: failing });
    assert.equal(describeOutcome(await step(permissive, withToken(good))), 'anonymous');
  }); // prettier-ignore

  test('whose keys are on their way is waited for', async () => {
    let isLoaded = false;
    const loaded = createInlineKeySource(JSON.stringify({ keys: [corpKey.publicJwk] }));
    const loading: KeySource = {
      ...loaded,
      getKeys: () => (isLoaded ? loaded.getKeys() : { ok: false, detail: 'not yet', retryAfterSeconds: 1 }),
      load: () => Promise.resolve().then(() => void (isLoaded = true)),
    };
    assert.equal(describeOutcome(await step(configure({}, { [corp]: loading }), withToken(good))), 'alice');
  });
});

describe('the answer', () => {
  const readDenial = async (message: Message, request: FakeRequest) => {
    const { verdict } = await step(configure(message), request);
    assert.ok(verdict.kind === 'deny', JSON.stringify(verdict));
    return { ...verdict, challenge: valueOf(verdict.responseHeaders, 'www-authenticate') };
  };

  test('without a token has no error, and says where the token belongs', async () => {
    for (const [location, place] of [
      [bearer, 'the Authorization header'],
      [{ location: { case: 'header', value: { name: 'x-token' } } }, 'the header x-token'],
      [cookie, 'the cookie session'],
      [parameter('jwt'), 'the query parameter jwt'],
    ] as const) {
      const { challenge, description } = await readDenial({ location }, {});
      assert.equal(challenge, 'Bearer');
      assert.equal(description, `This request needs a token. Send it in ${place}.`);
    }
  });

  test('to a bad token has the check that failed, and from where it was read when that is not the usual place', async () => {
    const usual = await readDenial({}, withToken(expired));
    assert.equal(usual.challenge, 'Bearer error="invalid_token", error_description="The token has expired."');
    assert.equal(usual.description, 'The token has expired.');
    assert.equal(usual.detail, 'The token has expired. (it expired 700 s ago)');
    const other = await readDenial({ location: cookie }, { headers: ['cookie', `session=${expired}`] });
    assert.equal(
      other.challenge,
      'Bearer error="invalid_token", error_description="The token has expired. It was read from the cookie session."',
    );
  });

  test('to several tokens is invalid_request', async () => {
    const twice = [...withToken(good).headers!, ...withToken(good).headers!];
    const usual = await readDenial({}, { headers: twice });
    assert.equal(
      usual.challenge,
      'Bearer error="invalid_request", error_description="Send exactly one token, in the Authorization header."',
    );
    assert.equal(usual.description, 'Send exactly one token, in the Authorization header.');
    assert.equal(usual.detail, 'several Authorization headers');
  });

  test('can be read by scripts', async () => {
    const origin = { headers: ['origin', 'https://app.example'] };
    const { responseHeaders } = await readDenial({}, origin);
    assert.equal(valueOf(responseHeaders, 'access-control-allow-origin'), '*');
    assert.equal(valueOf(responseHeaders, 'access-control-expose-headers'), 'WWW-Authenticate, Mcp-Session-Id');
    const { verdict } = await step(configure(), origin, true);
    assert.ok(verdict.kind === 'deny');
    assert.equal(valueOf(verdict.responseHeaders, 'access-control-allow-origin'), undefined, 'the settings decide');
  });

  test('to a preflight is given in Strict only', async () => {
    const preflight = {
      method: 'OPTIONS',
      headers: ['origin', 'https://app.example', 'access-control-request-method', 'PUT', 'access-control-request-headers', 'authorization'],
    }; // prettier-ignore
    const strict = await step(configure(), preflight);
    assert.ok(strict.verdict.kind === 'respond' && strict.verdict.status === 204);
    assert.equal(valueOf(strict.verdict.headers, 'access-control-allow-headers'), 'authorization');
    assert.equal(valueOf(strict.verdict.headers, 'access-control-allow-credentials'), undefined);
    assert.equal(strict.context.decisions[0]?.outcome, 'respond');
    assert.equal(describeOutcome(await step(configure({ mode: OPTIONAL }), preflight)), 'anonymous');
    assert.equal(describeOutcome(await step(configure(), { method: 'OPTIONS' })), 'missing_token');
  });
});

describe('the place', () => {
  test('is the one of the policy and no other', async () => {
    const elsewhere = { headers: ['authorization', `Bearer ${good}`, 'cookie', `x=${good}`], query: `?token=${good}` };
    for (const location of [
      cookie,
      parameter('jwt'),
      { location: { case: 'header', value: { name: 'x-token' } } },
    ] as const)
      assert.equal(describeOutcome(await step(configure({ location }), elsewhere)), 'missing_token');
    const headers = [...elsewhere.headers, 'cookie', `session=${good}`];
    assert.equal(describeOutcome(await step(configure({ location: cookie }), { ...elsewhere, headers })), 'alice');
    const query = `?jwt=${good}`;
    assert.equal(
      describeOutcome(await step(configure({ location: parameter('jwt') }), { ...elsewhere, query })),
      'alice',
    );
  });

  test('is one of the two of RFC 6750, and both are used: which is meant nobody knows', async () => {
    const both = { headers: ['authorization', `Bearer ${good}`], query: `?access%5Ftoken=${expired}` };
    for (const location of [bearer, parameter('access_token')]) {
      assert.equal(describeOutcome(await step(configure({ location }), both)), 'invalid_request');
      assert.equal(describeOutcome(await step(configure({ location, mode: OPTIONAL }), both)), 'invalid_request');
      assert.equal(describeOutcome(await step(configure({ location, mode: PERMISSIVE }), both)), 'anonymous');
    }
    // Alone it is just not where the policy looks.
    assert.equal(describeOutcome(await step(configure(), { query: `?access_token=${good}` })), 'missing_token');
  });

  test('may have another token in it', async () => {
    for (const [text, expected] of [
      [`${good}, ${good}`, 'invalid_request'],
      [`${good} ${good}`, 'invalid_request'],
      ['"x"', 'token_malformed'],
      ['x', 'token_malformed'],
      [`${good}x`, 'token_malformed'],
      ['x'.repeat(17 * 1_024), 'token_too_large'],
    ] as const)
      assert.equal(describeOutcome(await step(configure(), withToken(text))), expected);
  });
});

describe('what goes on', () => {
  const admit = async (message: Message, request: FakeRequest) => {
    const { verdict, context } = await step(configure(message), request);
    assert.equal(verdict.kind, 'continue');
    return context.jwt!;
  };

  test('has the claims, and nothing that a client made up', async () => {
    const { addedHeaders, removedHeaders } = await admit({}, withToken(good));
    assert.deepEqual(addedHeaders, ['X-Auth-Subject', 'alice']);
    assert.deepEqual(removedHeaders, new Set(['x-auth-subject', 'authorization']));
    const anonymous = await admit({ mode: PERMISSIVE }, withToken(expired));
    assert.deepEqual(anonymous.addedHeaders, []);
    assert.deepEqual(anonymous.removedHeaders, new Set(['x-auth-subject', 'authorization']));
  });

  test('has the token only when it is forwarded and was verified', async () => {
    const forwarded = await admit({ forwardToken: true }, withToken(good));
    assert.deepEqual(forwarded.removedHeaders, new Set(['x-auth-subject']));
    const unverified = await admit({ forwardToken: true, mode: PERMISSIVE }, withToken(expired));
    assert.ok(unverified.removedHeaders.has('authorization'));
    for (const forwardToken of [false, true]) {
      const inCookie = await admit({ forwardToken, location: cookie }, { headers: ['cookie', `session=${good}`] });
      assert.equal(inCookie.removedCookie, forwardToken ? undefined : 'session');
      const inQuery = await admit({ forwardToken, location: parameter('jwt') }, { query: `?jwt=${good}` });
      assert.equal(inQuery.removedQueryParameter, forwardToken ? undefined : 'jwt');
      assert.equal(inQuery.removedCookie, undefined);
    }
    const none = await admit({ forwardToken: true, mode: OPTIONAL, location: cookie }, {});
    assert.equal(none.removedCookie, 'session');
  });
});

describe('a token that was here before', () => {
  function count(config: JwtAuthenticationConfig): {
    readonly config: JwtAuthenticationConfig;
    readonly reads: unknown[];
  } {
    const reads: unknown[] = [];
    const providers = new Map(
      [...config.providers].map(([issuer, provider]) => [
        issuer,
        {
          ...provider,
          validator: {
            ...provider.validator,
            validate(...asked: Parameters<typeof provider.validator.validate>) {
              reads.push(asked[2]);
              return provider.validator.validate(...asked);
            },
          },
        },
      ]),
    );
    return { config: { ...config, providers }, reads };
  }

  test('is judged at once, without being taken apart again, and means the same', async () => {
    const { config, reads } = count(configure());
    const first = await step(config, withToken(good));
    const { context } = createContext(withToken(good));
    const route = { policies: { 'traffic.jwtAuthentication': config } } as unknown as RouteConfig;
    const verdict = authenticateJwt({ context, route, matched: { route, matchedPrefix: '' } });
    assert.ok(!(verdict instanceof Promise) && verdict.kind === 'continue');
    assert.equal(context.jwt?.token, first.context.jwt?.token);
    assert.deepEqual(context.jwt?.addedHeaders, ['X-Auth-Subject', 'alice']);
    assert.equal(reads.length, 1);
    assert.ok(reads[0] !== undefined, 'the first time it came in parts');
  });

  test('is judged all the same: bad ones are not remembered, and good ones not past their time or their keys', async () => {
    const { config, reads } = count(configure());
    await step(config, withToken(expired));
    await step(config, withToken(expired));
    assert.equal(reads.length, 2);
    let keys = createInlineKeySource(JSON.stringify({ keys: [corpKey.publicJwk] }));
    const rotating = configure({}, { [corp]: { ...keys, getKeys: () => keys.getKeys() } });
    assert.equal(describeOutcome(await step(rotating, withToken(good))), 'alice');
    keys = createInlineKeySource(JSON.stringify({ keys: [createTestKey('ES256', { kid: 'new' }).publicJwk] }));
    assert.equal(describeOutcome(await step(rotating, withToken(good))), 'token_unknown_key');
  });
});

test('a token that is good under one policy is judged anew under another', async () => {
  const registry = createRegistry();
  const [one, two] = [configure({}, {}, registry), configure({ providers: [partnerProvider] }, {}, registry)];
  assert.equal(describeOutcome(await step(one, withToken(good))), 'alice');
  assert.equal(describeOutcome(await step(two, withToken(good))), 'token_wrong_issuer');
  const strict = configure({ providers: [{ ...corpProvider, audiences: ['other'] }] }, {}, registry);
  assert.equal(describeOutcome(await step(strict, withToken(good))), 'token_wrong_audience');
  const named = configure({ claimsToHeaders: [{ claim: 'team', header: 'x-team' }] }, {}, registry);
  assert.deepEqual((await step(named, withToken(good))).context.jwt?.addedHeaders, ['x-team', 'blue']);
  assert.deepEqual((await step(one, withToken(good))).context.jwt?.addedHeaders, ['X-Auth-Subject', 'alice']);
});

describe('an MCP server with a login of its own behind it', () => {
  const resource = createResource({ message: { requiredScopes: ['tickets'] } });

  async function deny(
    message: Message,
    request: FakeRequest,
    weight = 1,
  ): Promise<Outcome & { challenge: string | undefined }> {
    const { context } = createContext(request);
    const entry = { backend: resource.backend, weight, policies: { 'backend.mcp.authentication': resource.config } };
    const config = configure(message);
    const route = {
      policies: { 'traffic.jwtAuthentication': config },
      backends: { entries: [{ backend: 'Service/default/other/80', weight: 1, policies: {} }, entry] },
    } as unknown as RouteConfig;
    const resources = new Map([['/mcp', resource]]);
    context.listener = { protection: { find: () => ({ resources }) } } as unknown as NonNullable<
      RequestContext['listener']
    >;
    context.route = route;
    const verdict = await authenticateJwt({ context, route, matched: { route, matchedPrefix: '/mcp' } });
    assert.ok(verdict.kind === 'deny');
    return { verdict, context, challenge: valueOf(verdict.responseHeaders, 'www-authenticate') };
  }

  const metadata = 'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"';

  test('has its challenge in the 401, so that a client can begin', async () => {
    const missing = await deny({}, { headers: ['origin', 'https://app.example'] });
    assert.equal(missing.challenge, `Bearer ${metadata}, scope="tickets"`);
    assert.ok(missing.verdict.kind === 'deny' && missing.verdict.description === undefined);
    assert.equal(valueOf(missing.verdict.responseHeaders, 'access-control-expose-headers'), 'WWW-Authenticate, Mcp-Session-Id');
    assert.deepEqual(missing.context.flowStep, { name: 'access', policy: 'default/policy', resource: '/mcp', flow: 'Broker' });
    const invalid = await deny({ mode: OPTIONAL }, withToken(expired));
    assert.equal(invalid.challenge, `Bearer error="invalid_token", ${metadata}, scope="tickets", error_description="The token has expired."`);
  }); // prettier-ignore

  test('but not where its login would bring a token to another place, or nothing leads to it', async () => {
    assert.equal((await deny({ location: cookie }, {})).challenge, 'Bearer');
    assert.equal((await deny({}, {}, 0)).challenge, 'Bearer');
  });
});
