import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import type { FetchOutcome, GuardedRequest } from '../../../../base/fetch-json.ts';
import { createLog, type Log } from '../../../../base/log.ts';
import { createMemoryStore } from '../../../../store/memory-store.ts';
import type { Store } from '../../../../store/store.ts';
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import { openClient } from '../state/client-envelope.ts';
import { entra } from '../idp/entra.ts';
import type { OAuthAnswer, OAuthRequest } from '../oauth-endpoint.ts';
import { registerEndpoint } from './register.ts';
import {
  answerJson,
  type BrokerOptions,
  idpIssuer,
  listHeaders,
  resourceUrl,
  TestBroker,
} from '../../testing/broker-fixture.ts';

const place = { issuer: idpIssuer, resource: resourceUrl };
const good = {
  redirect_uris: ['http://127.0.0.1:1/cb'],
  client_name: 'Desk',
  scope: 'tickets',
  token_endpoint_auth_method: 'none',
};

interface Setup extends BrokerOptions {
  readonly flow?: 'Facade' | 'Broker';
  readonly initialAccessToken?: string;
  readonly clientCredentialsSecret?: string;
  readonly log?: Log;
  readonly registrationCounts?: Pick<Store, 'count'>;
}

/** Registers at an IdP that answers so. */
class Registrar {
  readonly broker: TestBroker;
  readonly asked: GuardedRequest[] = [];
  readonly #request: (body: string) => OAuthRequest;

  constructor(
    setup: Setup = {},
    answer: (request: GuardedRequest) => FetchOutcome = () => answerJson({ client_id: 'c' }, 201),
  ) {
    this.broker = new TestBroker({
      ...setup,
      fetch: (request) => {
        this.asked.push(request);
        return answer(request);
      },
    });
    const { config, resource } = this.broker;
    const idp = {
      ...config.idp,
      getFlow: () => ({ flow: setup.flow ?? ('Broker' as const), reason: 'test' }),
      ...(setup.log !== undefined && { log: setup.log }),
    };
    const { initialAccessToken, clientCredentialsSecret, registrationCounts } = setup;
    const own = {
      ...resource,
      config: { ...config, idp, initialAccessToken, clientCredentialsSecret, registrationCounts },
    };
    this.#request = (body) => ({ ...this.broker.request(registerEndpoint, { body }), resource: own });
  }

  async post(members: unknown = good): Promise<OAuthAnswer & { readonly json: Record<string, unknown> }> {
    const answer = await registerEndpoint.handle(
      this.#request(typeof members === 'string' ? members : JSON.stringify(members)),
    );
    return { ...answer, json: JSON.parse(answer.body) as Record<string, unknown> };
  }
}

describe('behind the broker', () => {
  test('the client gets a sealed id, and nothing of the IdP', async () => {
    const registrar = new Registrar({}, () =>
      answerJson(
        {
          client_id: 'idp-1',
          client_secret: 'idp-secret',
          token_endpoint_auth_method: 'client_secret_basic',
          registration_access_token: 'rat',
          registration_client_uri: 'https://idp.example.com/register/1',
        },
        201,
      ),
    );
    const answer = await registrar.post();
    assert.equal(answer.status, 201);
    assert.deepEqual(listHeaders(answer, 'cache-control'), ['no-store']);
    const { client_id: clientId, ...others } = answer.json;
    assert.deepEqual(others, {
      client_id_issued_at: registrar.broker.nowMs / 1_000,
      client_name: 'Desk',
      redirect_uris: ['http://127.0.0.1:1/cb'],
      scope: 'tickets',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
    assert.deepEqual(openClient(registrar.broker.sealer, place, clientId as string), {
      ok: true,
      client: {
        idpClient: { clientId: 'idp-1', authMethod: 'client_secret_basic', secret: 'idp-secret' },
        redirectUris: ['http://127.0.0.1:1/cb'],
        name: 'Desk',
        scope: 'tickets',
      },
    });
    for (const secret of ['idp-1', 'idp-secret', 'rat', '/register/1'])
      assert.equal(answer.body.includes(secret), false, secret);
  });

  test('the id ends with the secret in it', async () => {
    const registrar = new Registrar({}, () =>
      answerJson({
        client_id: 'c',
        client_secret: 's',
        client_secret_expires_at: 1_800_000_000,
        token_endpoint_auth_method: 'client_secret_basic',
      }),
    );
    const { json } = await registrar.post();
    assert.equal(openClient(registrar.broker.sealer, place, json['client_id'] as string).ok, true);
    registrar.broker.nowMs = 1_800_000_001_000;
    assert.deepEqual(openClient(registrar.broker.sealer, place, json['client_id'] as string), {
      ok: false,
      problem: 'expired',
    });
  });

  test('with Shared the IdP is not asked', async () => {
    const registrar = new Registrar({ registration: { mode: RegistrationMode.SHARED, clientId: 'one' } });
    const { status, json } = await registrar.post();
    assert.equal(status, 201);
    assert.equal(registrar.asked.length, 0);
    const opened = openClient(registrar.broker.sealer, place, json['client_id'] as string);
    assert.ok(opened.ok && opened.client.idpClient === undefined);
  });

  test('without a key nothing is registered anywhere', async () => {
    const registrar = new Registrar({ noSealer: true });
    const answer = await registrar.post();
    assert.deepEqual([answer.status, answer.json['error'], answer.reason], [500, 'server_error', 'seal_key_missing']);
    assert.equal(registrar.asked.length, 0);
  });

  test('an id that would be too long is refused before the IdP is asked', async () => {
    const registrar = new Registrar();
    // Digests do not compress.
    const long = Array.from({ length: 30 }, (_, index) => {
      const parts = Array.from({ length: 6 }, (__, part) =>
        createHash('sha256').update(`${index}.${part}`).digest('hex'),
      );
      return `https://app.example/${parts.join('')}`;
    });
    const answer = await registrar.post({ ...good, redirect_uris: long });
    assert.deepEqual([answer.status, answer.json['error']], [400, 'invalid_client_metadata']);
    assert.equal(registrar.asked.length, 0);
  });
});

describe('in the facade', () => {
  test('the client gets what the IdP says about it, and nothing that only the gateway may do', async () => {
    const registrar = new Registrar({ flow: 'Facade', initialAccessToken: 'iat' }, () =>
      answerJson({
        client_id: 'idp-1',
        client_id_issued_at: 7,
        token_endpoint_auth_method: 'none',
        client_secret: 'leak',
        client_secret_expires_at: 0,
        registration_access_token: 'rat',
        registration_client_uri: 'https://idp.example.com/r',
        client_name: 'Desk',
        x_internal: 'i',
        tos_uri: null,
      }),
    );
    const answer = await registrar.post();
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.json, {
      redirect_uris: ['http://127.0.0.1:1/cb'],
      client_id: 'idp-1',
      client_id_issued_at: 7,
      token_endpoint_auth_method: 'none',
      client_name: 'Desk',
    });
    assert.equal(registrar.asked[0]!.headers!['authorization'], 'Bearer iat');
  });

  test('a client gets a secret where the IdP insists on one, with its expiry', async () => {
    const registrar = new Registrar({ flow: 'Facade' }, () =>
      answerJson({ client_id: 'c', client_secret: 's', token_endpoint_auth_method: 'client_secret_post' }),
    );
    const { json } = await registrar.post({ ...good, token_endpoint_auth_method: 'client_secret_post' });
    assert.deepEqual([json['client_secret'], json['client_secret_expires_at']], ['s', 0]);
  });

  test('an IdP that says nothing about the method keeps its secret where none was asked for', async () => {
    const registrar = new Registrar({ flow: 'Facade' }, () => answerJson({ client_id: 'c', client_secret: 'leak' }));
    const { json } = await registrar.post();
    assert.equal('client_secret' in json, false);
  });

  test('needs no key', async () => {
    assert.equal((await new Registrar({ flow: 'Facade', noSealer: true }).post()).status, 201);
  });
});

describe('initial access tokens', () => {
  test('are fetched anew for every try, and told to nobody', async () => {
    let issued = 0;
    const registrar = new Registrar(
      {
        registration: { initialAccessTokenFrom: { clientId: 'registrar', scope: 'client.create' } },
        metadata: { scopes_supported: ['openid', 'tickets'] },
        clientCredentialsSecret: 'cc-secret',
      },
      (request) => {
        if (request.url.endsWith('/token')) return answerJson({ access_token: `iat-${(issued += 1)}` });
        const { scope } = JSON.parse(request.body!) as { scope?: string };
        return scope === undefined
          ? answerJson({ client_id: 'c', token_endpoint_auth_method: 'none' })
          : answerJson({ error: 'invalid_scope' }, 400);
      },
    );
    const answer = await registrar.post();
    assert.equal(answer.status, 201);
    const used = registrar.asked
      .filter(({ url }) => url.endsWith('/register'))
      .map(({ headers }) => headers!['authorization']);
    assert.deepEqual(used, ['Bearer iat-1', 'Bearer iat-2']);
    assert.doesNotMatch(answer.body + JSON.stringify(answer.headers), /iat-|cc-secret/);
  });

  test('that cannot be had: the credential is the operator’s, an outage is temporary', async () => {
    const registration = { initialAccessTokenFrom: { clientId: 'registrar', scope: '' } };
    const refused = await new Registrar({ registration }, () => answerJson({ error: 'invalid_client' }, 401)).post();
    assert.deepEqual([refused.status, refused.json['error']], [403, 'access_denied']);
    const down = await new Registrar({ registration }, () => ({ ok: false, code: 'timeout', message: 'slow' })).post();
    assert.deepEqual([down.status, down.json['error']], [503, 'temporarily_unavailable']);
  });
});

describe('what goes wrong', () => {
  test('at the IdP is mapped, and its own words and headers stay there', async () => {
    const challenge = {
      'www-authenticate': 'Bearer realm="internal"',
      'set-cookie': 'a=b',
      location: 'https://internal',
    };
    const cases: readonly (readonly [FetchOutcome, number, string, string])[] = [
      [
        answerJson({ error: 'invalid_redirect_uri', error_description: 'no wildcards' }, 400),
        400,
        'invalid_redirect_uri',
        'registration_refused',
      ],
      [
        answerJson({ error: 'access_denied', error_description: 'internal' }, 400),
        403,
        'access_denied',
        'registration_denied',
      ],
      [answerJson({ error: 'internal' }, 401, challenge), 403, 'access_denied', 'registration_denied'],
      [answerJson({ error: 'internal' }, 429), 403, 'access_denied', 'registration_denied'],
      [{ ok: false, code: 'redirect', message: 'internal' }, 403, 'access_denied', 'registration_denied'],
      [answerJson({ error: 'internal' }, 500, challenge), 503, 'temporarily_unavailable', 'idp_unavailable'],
      [
        { ok: true, status: 200, headers: new Map(), body: '<html>internal' },
        503,
        'temporarily_unavailable',
        'idp_unavailable',
      ],
      [{ ok: false, code: 'timeout', message: 'internal' }, 503, 'temporarily_unavailable', 'idp_unavailable'],
    ];
    for (const [outcome, status, error, reason] of cases) {
      const answer = await new Registrar({}, () => outcome).post({ ...good, scope: undefined });
      assert.deepEqual([answer.status, answer.json['error'], answer.reason], [status, error, reason]);
      assert.equal(typeof answer.json['request_id'], 'string');
      assert.doesNotMatch(answer.body + JSON.stringify(answer.headers), /internal/);
      assert.equal(listHeaders(answer, 'retry-after').length, status === 503 ? 1 : 0);
      assert.notEqual(answer.detail, undefined, 'the operator is told');
    }
  });

  test('with the client is told to it, and the IdP is not asked', async () => {
    const registrar = new Registrar();
    const answer = await registrar.post({ redirect_uris: ['http://app.example/cb'] });
    assert.deepEqual(
      [answer.status, answer.json['error'], answer.reason],
      [400, 'invalid_redirect_uri', 'invalid_redirect_uri'],
    );
    assert.match(answer.json['error_description'] as string, /https/);
    assert.equal((await registrar.post('[]')).json['error'], 'invalid_client_metadata');
    assert.equal(registrar.asked.length, 0);
  });

  test('without metadata, or without a place to register', async () => {
    const down = await new Registrar({ metadataState: { ok: false, detail: 'down', retryAfterSeconds: 7 } }).post();
    assert.deepEqual([down.status, listHeaders(down, 'retry-after')], [503, ['7']]);
    const nowhere = await new Registrar({ preset: entra }).post();
    assert.deepEqual([nowhere.status, nowhere.json['error']], [403, 'access_denied']);
    assert.match(nowhere.detail!, /Shared/);
  });

  test('too often: 429 and when to come back, whatever the body was', async () => {
    const registrar = new Registrar({ registration: { perMinute: 2 } });
    await registrar.post('x');
    await registrar.post();
    const answer = await registrar.post();
    assert.deepEqual(
      [answer.status, answer.json['error'], listHeaders(answer, 'retry-after')],
      [429, 'too_many_requests', ['30']],
    );
    assert.equal(registrar.asked.length, 1);
    registrar.broker.nowMs += 30_000;
    assert.equal((await registrar.post()).status, 201);
  });

  describe('too often at several gateways with one store', () => {
    const store = (nowMs: () => number): { counts: Pick<Store, 'count'>; keys: string[]; isDown: boolean } => {
      const memory = createMemoryStore({ now: nowMs });
      const state = {
        keys: [] as string[],
        isDown: false,
        counts: {
          count(key: string, windowMs: number) {
            state.keys.push(key);
            return state.isDown ? Promise.resolve({ ok: false as const, detail: 'down' }) : memory.count(key, windowMs);
          },
        },
      };
      return state;
    };

    test('429 wherever the next one comes, until the minute is over', async () => {
      let nowMs = 600_000 + 15_000;
      const shared = store(() => nowMs);
      const setup: Setup = { registration: { perMinute: 2 }, registrationCounts: shared.counts };
      const one = new Registrar(setup);
      const two = new Registrar(setup);
      const setClocks = (): void => [one, two].forEach(({ broker }) => (broker.nowMs = nowMs));
      setClocks();
      assert.equal((await one.post()).status, 201);
      assert.equal((await two.post()).status, 201);
      const answer = await two.post();
      assert.deepEqual([answer.status, listHeaders(answer, 'retry-after')], [429, ['45']]);
      assert.equal((await one.post()).status, 429);
      assert.equal(new Set(shared.keys).size, 1);
      nowMs = 660_000;
      setClocks();
      assert.equal((await one.post()).status, 201);
      assert.equal((await two.post()).status, 201);
    });

    test('a store that does not answer keeps nobody from registering, and each gateway limits for itself', async () => {
      const shared = store(() => 0);
      shared.isDown = true;
      const registrar = new Registrar({ registration: { perMinute: 2 }, registrationCounts: shared.counts });
      assert.equal((await registrar.post()).status, 201);
      assert.equal((await registrar.post()).status, 201);
      assert.equal((await registrar.post()).status, 429);
      assert.equal(shared.keys.length, 2, 'whoever is over the limit does not reach the store');
    });
  });
});

test('a denial is a line in the log, with what to look at and without any credential', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => lines.push(line) } });
  for (const [setup, advice] of [
    [{}, /allow anonymous registration/],
    [{ initialAccessToken: 'iat-secret' }, /check the initial access token/],
  ] as const) {
    const registrar = new Registrar({ ...setup, log }, () => answerJson({ error: 'invalid_token' }, 401));
    const { json } = await registrar.post();
    const line = JSON.parse(lines.at(-1)!) as Record<string, string>;
    assert.equal(line['level'], 'error');
    assert.equal(line['request_id'], json['request_id']);
    assert.equal(line['policy'], 'default/policy');
    assert.match(line['advice']!, advice);
    assert.doesNotMatch(lines.at(-1)!, /iat-secret/);
  }
  assert.equal(lines.length, 2);
});
