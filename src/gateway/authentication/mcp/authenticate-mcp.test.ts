import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AuthenticationMode } from '../../../ir/gen/config_pb.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { AcceptedAudiences, TokenRefusal, VerifiedToken } from '../token/verified-token.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import { bearerHeader, checkTokenText, type FoundToken } from '../token/find-token.ts';
import { authenticateFor, findBearerToken } from './authenticate-mcp.ts';
import type { McpAdmission } from '../../request/admission.ts';
import type { Denial, GatewayAnswer } from '../../request/verdict.ts';
import { findBearerChallenge } from '../challenge.ts';
import {
  createContext,
  createResource,
  createRoute,
  createToken,
  createValidator,
  type FakeRequest,
  type ResourceOptions,
  valueOf,
} from '../testing/auth-fixture.ts';

const resourceMetadata = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';
const bearer = ['authorization', 'Bearer abc'];
const { STRICT, OPTIONAL, PERMISSIVE } = AuthenticationMode;

interface Setup extends ResourceOptions {
  readonly token?: Partial<VerifiedToken>;
  readonly refusal?: Partial<TokenRefusal>;
  readonly cors?: boolean;
}

/** What the step says, and what it leaves on the context where it goes on. */
type Outcome = ({ readonly kind: 'continue' } & McpAdmission) | GatewayAnswer | Denial;

async function authenticate(setup: Setup, request?: FakeRequest): Promise<Outcome> {
  return (await judge(setup, request)).verdict;
}

async function judge(
  setup: Setup,
  request: FakeRequest = { headers: bearer },
): Promise<{ readonly verdict: Outcome; readonly context: RequestContext }> {
  const verdict =
    setup.refusal === undefined
      ? { ok: true as const, token: createToken(setup.token) }
      : ({ ok: false, reason: 'token_expired', detail: 'The token has expired.', ...setup.refusal } as TokenRefusal);
  const { validator } = createValidator(verdict);
  const resource = createResource({ ...setup, idp: { validator, ...setup.idp } });
  const { context } = createContext({ method: 'POST', ...request });
  context.route = createRoute(setup.cors ?? false);
  const said = await authenticateFor(context, resource);
  return { verdict: said.kind === 'continue' ? { kind: 'continue', ...context.mcp! } : said, context };
}

const describeVerdict = (verdict: Outcome): string =>
  verdict.kind === 'deny'
    ? verdict.reason
    : verdict.kind === 'continue'
      ? `continue ${verdict.token?.subject ?? 'anonymous'}`
      : verdict.kind;

function readChallenge(verdict: Outcome): Readonly<Record<string, string>> | undefined {
  assert.equal(verdict.kind, 'deny');
  if (verdict.kind !== 'deny') return undefined;
  const text = valueOf(verdict.responseHeaders, 'www-authenticate');
  return text === undefined ? undefined : Object.fromEntries(findBearerChallenge(text)!.parameters);
}

function expectContinue(verdict: Outcome): McpAdmission {
  assert.ok(verdict.kind === 'continue', JSON.stringify(verdict));
  return verdict;
}

describe('no credentials', () => {
  test('Strict: 401 with where to begin and which scopes, and no error', async () => {
    const verdict = await authenticate({ message: { requiredScopes: ['a', 'b'] } }, {});
    assert.equal(describeVerdict(verdict), 'missing_token');
    assert.deepEqual(readChallenge(verdict), { resource_metadata: resourceMetadata, scope: 'a b' });
  });

  test('Optional and Permissive let them in', async () => {
    for (const mode of [OPTIONAL, PERMISSIVE])
      assert.equal(describeVerdict(await authenticate({ message: { mode } }, {})), 'continue anonymous');
  });

  test('another scheme counts as none', async () => {
    const verdict = await authenticate({}, { headers: ['authorization', 'Basic YTpi'] });
    assert.equal('error' in readChallenge(verdict)!, false);
    assert.ok(verdict.kind === 'deny');
    assert.equal(verdict.detail, 'the Authorization header has another scheme');
  });

  test('every method and content type is asked for a token', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])
      assert.equal(
        describeVerdict(await authenticate({}, { method, headers: ['content-type', 'text/plain'] })),
        'missing_token',
        method,
      );
  });

  test('a well-known path in the query or in forwarded headers opens nothing', async () => {
    const verdict = await authenticate(
      {},
      {
        query: '?x=/.well-known/oauth-protected-resource/mcp',
        headers: [
          'x-forwarded-uri',
          '/.well-known/oauth-protected-resource/mcp',
          'x-original-url',
          '/.oauth/mcp/token',
        ],
      },
    );
    assert.equal(describeVerdict(verdict), 'missing_token');
  });
});

describe('bad credentials', () => {
  test('Strict and Optional: 401 invalid_token, with the check that failed', async () => {
    for (const mode of [STRICT, OPTIONAL]) {
      const verdict = await authenticate({ message: { mode }, refusal: { operatorDetail: 'it expired 7 s ago' } });
      assert.equal(describeVerdict(verdict), 'token_expired');
      assert.deepEqual(readChallenge(verdict), {
        error: 'invalid_token',
        resource_metadata: resourceMetadata,
        error_description: 'The token has expired.',
      });
      assert.ok(verdict.kind === 'deny');
      assert.equal(verdict.detail, 'The token has expired. (it expired 7 s ago)');
      assert.equal(verdict.description, 'The token has expired.');
    }
  });

  test('Permissive never rejects', async () => {
    for (const headers of [bearer, ['authorization', 'Bearer'], [...bearer, ...bearer]])
      assert.equal(
        describeVerdict(await authenticate({ message: { mode: PERMISSIVE }, refusal: {} }, { headers })),
        'continue anonymous',
      );
    const short = {
      message: { mode: PERMISSIVE, requiredScopes: ['x'] },
      token: { scopes: undefined, subject: undefined },
    };
    assert.equal(expectContinue(await authenticate(short)).token?.issuer, 'https://idp.example.com');
  });

  test('two tokens, or one in the query: 400 invalid_request', async () => {
    for (const request of [{ headers: [...bearer, ...bearer] }, { headers: bearer, query: '?access_token=abc' }]) {
      const verdict = await authenticate({}, request);
      assert.equal(describeVerdict(verdict), 'invalid_request');
      assert.equal(readChallenge(verdict)!['error'], 'invalid_request');
    }
  });

  test('a Bearer without a token is a bad token', async () => {
    const verdict = await authenticate({}, { headers: ['authorization', 'Bearer'] });
    assert.equal(describeVerdict(verdict), 'token_malformed');
    assert.equal(readChallenge(verdict)!['error'], 'invalid_token');
  });
});

describe('scopes', () => {
  test('a missing one: 403 with all that are needed', async () => {
    const verdict = await authenticate({ message: { requiredScopes: ['tickets:read', 'tickets:write'] } });
    assert.equal(describeVerdict(verdict), 'insufficient_scope');
    assert.deepEqual(readChallenge(verdict), {
      error: 'insufficient_scope',
      resource_metadata: resourceMetadata,
      scope: 'tickets:read tickets:write',
    });
  });

  test('a token without any has its own reason and no challenge, so that nobody loops', async () => {
    const verdict = await authenticate({ message: { requiredScopes: ['a'] }, token: { scopes: undefined } });
    assert.equal(describeVerdict(verdict), 'token_without_scopes');
    assert.equal(readChallenge(verdict), undefined);
  });

  test('those that are there do', async () => {
    assert.equal(
      describeVerdict(await authenticate({ message: { requiredScopes: ['tickets:read'] } })),
      'continue alice',
    );
  });
});

describe('keys that were never loaded', () => {
  const problem: TokenRefusal = {
    ok: false,
    reason: 'keys_unavailable',
    detail: 'x',
    operatorDetail: 'ECONNREFUSED',
    retryAfterSeconds: 6.5,
  };

  test('close everything: 503 and when to come back', async () => {
    for (const mode of [STRICT, OPTIONAL])
      for (const request of [{}, { headers: bearer }]) {
        const verdict = await authenticate(
          { message: { mode }, idp: { hasKeys: false, loadKeys: () => Promise.resolve(problem) } },
          request,
        );
        assert.equal(describeVerdict(verdict), 'keys_unavailable');
        assert.ok(verdict.kind === 'deny');
        assert.equal(valueOf(verdict.responseHeaders, 'retry-after'), '7');
        assert.equal(verdict.detail, 'ECONNREFUSED');
        assert.equal(readChallenge(verdict), undefined);
      }
  });

  test('are waited for while they are on their way', async () => {
    const idp = { hasKeys: false, loadKeys: () => Promise.resolve(undefined) };
    assert.equal(describeVerdict(await authenticate({ idp })), 'continue alice');
    assert.equal(describeVerdict(await authenticate({ idp }, {})), 'missing_token');
  });

  test('and a validator that lost them says the same', async () => {
    const verdict = await authenticate({ refusal: problem });
    assert.equal(describeVerdict(verdict), 'keys_unavailable');
    assert.equal(readChallenge(verdict), undefined);
  });
});

describe('the audience', () => {
  const listAsked = async (setup: Setup, request: FakeRequest = {}): Promise<AcceptedAudiences> => {
    const { validator, asked } = createValidator({ ok: true, token: createToken() });
    const { context } = createContext({ headers: bearer, ...request });
    await authenticateFor(context, createResource({ ...setup, idp: { validator } }));
    return asked[0]!.audiences;
  };

  test("is the resource's own URL, with and without a slash at the end", async () => {
    assert.deepEqual(await listAsked({}), ['https://mcp.example.com/mcp', 'https://mcp.example.com/mcp/']);
    assert.deepEqual(await listAsked({ path: '' }), ['https://mcp.example.com', 'https://mcp.example.com/']);
    assert.deepEqual(await listAsked({ message: { resource: 'https://public.example/m/' } }), [
      'https://public.example/m/',
      'https://public.example/m',
    ]);
  });

  test('is not for the caller to choose: Host changes nothing', async () => {
    const own = ['https://mcp.example.com/mcp', 'https://mcp.example.com/mcp/'];
    for (const authority of ['other.example', 'other.example:8443', 'mcp.example.com:8443', 'mcp.example.com.'])
      assert.deepEqual(await listAsked({}, { authority }), own, authority);
  });

  test('is what the policy lists, and then nothing else', async () => {
    assert.deepEqual(await listAsked({ message: { audiences: ['a', 'b'] } }), ['a', 'b']);
  });
});

describe('what goes on to the backend', () => {
  const message = { claimsToHeaders: [{ claim: 'sub', header: 'X-Auth-Subject' }] };

  test('never has the token of the client, unless it is forwarded', async () => {
    const plain = expectContinue(await authenticate({}));
    assert.ok(plain.removedHeaders.has('authorization'));
    assert.deepEqual(plain.addedHeaders, []);
    const forwarding = expectContinue(await authenticate({ message: { forwardToken: true } }));
    assert.ok(forwarding.removedHeaders.has('authorization'));
    assert.deepEqual(forwarding.addedHeaders, ['authorization', 'Bearer abc']);
    const invalid = { message: { forwardToken: true, mode: PERMISSIVE }, refusal: {} };
    assert.deepEqual(expectContinue(await authenticate(invalid)).addedHeaders, []);
  });

  test('has claims as headers, and never those that a client made up', async () => {
    const verdict = expectContinue(await authenticate({ message }));
    assert.deepEqual(verdict.addedHeaders, ['X-Auth-Subject', 'alice']);
    assert.ok(verdict.removedHeaders.has('x-auth-subject'));
    const anonymous = expectContinue(
      await authenticate({ message: { ...message, mode: OPTIONAL } }, { headers: ['X_AUTH_SUBJECT', 'root'] }),
    );
    assert.deepEqual(anonymous.addedHeaders, []);
    assert.ok(anonymous.removedHeaders.has('x-auth-subject'));
  });
});

describe('session binding', () => {
  test('names issuer, subject and backend', async () => {
    const { session } = expectContinue(await authenticate({}));
    assert.equal(session?.issuer, 'https://idp.example.com');
    assert.equal(session.subject, 'alice');
    assert.equal(session.backend, 'ProxyBackend/default/tickets');
  });

  test('users without a name are refused, or they would share sessions', async () => {
    for (const subject of [undefined, '']) {
      const verdict = await authenticate({ token: { subject } });
      assert.equal(describeVerdict(verdict), 'missing_subject');
      assert.equal(readChallenge(verdict), undefined);
    }
    assert.equal(
      describeVerdict(await authenticate({ token: { subject: undefined }, message: { sessionBinding: false } })),
      'continue anonymous',
    );
  });

  test('requests without a token have an identity that is nobody', async () => {
    const anonymous = expectContinue(await authenticate({ message: { mode: OPTIONAL } }, {}));
    assert.deepEqual([anonymous.session?.issuer, anonymous.session?.subject], ['', '']);
    const nameless = expectContinue(
      await authenticate({ message: { mode: PERMISSIVE }, token: { subject: undefined } }),
    );
    assert.deepEqual([nameless.session?.issuer, nameless.session?.subject], ['', '']);
  });

  test('without a key fails closed; without binding needs none', async () => {
    const config = { sealer: undefined };
    assert.equal(describeVerdict(await authenticate({ config })), 'seal_key_missing');
    const unbound = expectContinue(await authenticate({ config, message: { sessionBinding: false } }));
    assert.equal(unbound.session, undefined);
  });
});

describe('browsers', () => {
  const origin = ['origin', 'https://app.example'];
  const preflight = {
    method: 'OPTIONS',
    headers: [
      ...origin,
      'access-control-request-method',
      'POST',
      'access-control-request-headers',
      'authorization,mcp-session-id',
    ],
  };

  test('can read the challenge of a denial', async () => {
    const open = await authenticate({}, { headers: origin });
    assert.ok(open.kind === 'deny');
    assert.equal(valueOf(open.responseHeaders, 'access-control-allow-origin'), '*');
    assert.equal(valueOf(open.responseHeaders, 'access-control-expose-headers'), 'WWW-Authenticate, Mcp-Session-Id');
    const settings = await authenticate({ cors: true }, { headers: origin });
    assert.ok(settings.kind === 'deny');
    assert.equal(
      valueOf(settings.responseHeaders, 'access-control-allow-origin'),
      undefined,
      'the settings of the route decide',
    );
    assert.equal(
      valueOf(settings.responseHeaders, 'access-control-expose-headers'),
      'WWW-Authenticate, Mcp-Session-Id',
    );
    const program = await authenticate({}, {});
    assert.ok(program.kind === 'deny' && valueOf(program.responseHeaders, 'access-control-allow-origin') === undefined);
  });

  test('need no token for a preflight, which does not reach the backend in Strict', async () => {
    assert.deepEqual(await authenticate({}, preflight), {
      kind: 'respond',
      status: 204,
      headers: [
        'access-control-allow-origin', '*', 'vary', 'Access-Control-Request-Headers',
        'access-control-allow-methods', 'POST', 'access-control-allow-headers', 'authorization,mcp-session-id',
      ],
      body: '',
    }); // prettier-ignore
    assert.equal(describeVerdict(await authenticate({ message: { mode: OPTIONAL } }, preflight)), 'continue anonymous');
    assert.equal(describeVerdict(await authenticate({}, { method: 'OPTIONS', headers: origin })), 'missing_token');
  });

  test('cannot put anything else into the answer', async () => {
    const verdict = await authenticate(
      {},
      {
        method: 'OPTIONS',
        headers: [...origin, 'access-control-request-method', 'P T', 'access-control-request-headers', 'a: b'],
      },
    );
    assert.ok(verdict.kind === 'respond');
    assert.equal(valueOf(verdict.headers, 'access-control-allow-methods'), undefined);
    assert.equal(valueOf(verdict.headers, 'access-control-allow-headers'), undefined);
  });
});

test('answers at once when the validator does', () => {
  const { validator } = createValidator({ ok: true, token: createToken() });
  const { context } = createContext({ headers: bearer });
  const verdict = authenticateFor(context, createResource({ idp: { validator } }));
  assert.equal(verdict instanceof Promise, false);
  assert.deepEqual(context.flowStep, { name: 'access', policy: 'default/policy', resource: '/mcp', flow: 'Broker' });
});

describe('every verdict is noted, once, for the log and the metrics', () => {
  /** Mode, outcome and reason of the one decision. */
  async function note(setup: Setup, request?: FakeRequest): Promise<string> {
    const { context } = await judge(setup, request);
    assert.equal(context.decisions.length, 1);
    const { step, policy, mode, outcome, reason, rules } = context.decisions[0]!;
    assert.deepEqual([step, policy, rules], ['backend.mcp.authentication', 'default/policy', []]);
    return `${mode} ${outcome} ${reason ?? '-'}`;
  }

  test('with its mode and its reason', async () => {
    const preflight = {
      method: 'OPTIONS',
      headers: ['origin', 'https://app.test', 'access-control-request-method', 'POST'],
    };
    const twice = { headers: [...bearer, ...bearer] };
    const modes = { Strict: STRICT, Optional: OPTIONAL, Permissive: PERMISSIVE };
    const expected: Record<keyof typeof modes, string[]> = {
      Strict: [
        'deny missing_token',
        'allow -',
        'deny token_expired',
        'deny invalid_request',
        'deny token_malformed',
        'deny insufficient_scope',
        'respond -',
      ],
      Optional: [
        'allow missing_token',
        'allow -',
        'deny token_expired',
        'deny invalid_request',
        'deny token_malformed',
        'deny insufficient_scope',
        'allow missing_token',
      ],
      Permissive: [
        'allow missing_token',
        'allow -',
        'allow token_expired',
        'allow invalid_request',
        'allow token_malformed',
        'allow -',
        'allow missing_token',
      ],
    };
    for (const [name, mode] of Object.entries(modes)) {
      const message = { mode };
      const noted = [
        await note({ message }, {}),
        await note({ message }),
        await note({ message, refusal: { reason: 'token_expired' } }),
        await note({ message }, twice),
        await note({ message }, { headers: ['authorization', 'Bearer'] }),
        await note({ message: { mode, requiredScopes: ['x'] }, token: { scopes: new Set(['y']) } }),
        await note({ message }, preflight),
      ];
      assert.deepEqual(
        noted,
        expected[name as keyof typeof modes].map((each) => `${name} ${each}`),
      );
    }
  });

  test('and with the caller, also when the token is not enough', async () => {
    const denied = await judge({
      message: { requiredScopes: ['x'] },
      token: { subject: 'bob', scopes: new Set(['y']) },
    });
    assert.equal(denied.context.caller?.subject, 'bob');
    const expired = await judge({ refusal: {} });
    assert.equal(expired.context.caller, undefined);
    assert.equal(expired.context.decisions[0]!.detail, 'The token has expired.');
  });
});

/** As the engine reads it. */
function readCredentials(headers: RawHeaders, query: string): FoundToken {
  const found = findBearerToken(headers, query);
  return found.kind === 'text' ? (checkTokenText(found.text, bearerHeader) ?? found) : found;
}

const read = (authorization: string, query = ''): string => {
  const found = readCredentials(['Authorization', authorization], query);
  return found.kind === 'text' ? `bearer ${found.text}` : found.kind;
};

describe('the bearer token of a request', () => {
  test('finds the one bearer token', () => {
    assert.equal(read('Bearer abc.def-_~+/=='), 'bearer abc.def-_~+/==');
    assert.equal(read('bearer   abc'), 'bearer abc');
    assert.equal(read('BEARER abc '), 'bearer abc');
  });

  test('takes another scheme for nothing', () => {
    assert.deepEqual(readCredentials([], ''), { kind: 'none' });
    for (const text of ['Basic YTpi', 'Bearerabc', 'Token abc', '', 'DPoP abc']) assert.equal(read(text), 'none', text);
  });

  test('knows a Bearer without a token', () => {
    for (const text of ['Bearer', 'Bearer ', 'Bearer "abc"', 'Bearer a=b', 'Bearer ä', 'Bearer ===='])
      assert.equal(read(text), 'malformed', text);
  });

  test('refuses to choose', () => {
    for (const text of ['Bearer a b', 'Bearer a, Bearer b', 'Bearer a,b']) assert.equal(read(text), 'ambiguous', text);
    assert.equal(readCredentials(['authorization', 'Bearer a', 'AUTHORIZATION', 'Bearer a'], '').kind, 'ambiguous');
    assert.equal(readCredentials(['authorization', 'Bearer a', 'Authorization', 'Basic b'], '').kind, 'ambiguous');
  });

  test('finds a token in the query, however it is spelled', () => {
    for (const query of ['?access_token=a', '?x=1&access_token=', '?%61ccess_token=a', '?access%5Ftoken=a'])
      assert.equal(readCredentials([], query).kind, 'ambiguous', query);
    assert.equal(read('Bearer a', '?access_token=b'), 'ambiguous');
    for (const query of ['', '?', '?token=a', '?x=access_token', '?access_tokens=a', '?a=%20'])
      assert.equal(readCredentials([], query).kind, 'none', query);
  });
});
