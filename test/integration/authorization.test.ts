// Rules over requests in a gateway process: what they see, and what clients are answered.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { checkDenial, type RuledGateway, startRuledGateway } from './authorization-fixture.ts';
import { ask, askHttp2, openSession, readError } from './gateway-fixture.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';

let ruled: RuledGateway;
let gateway: GatewayRun;
const get: RuledGateway['get'] = (...given) => ruled.get(...given);
const getWith: RuledGateway['getWith'] = (...given) => ruled.getWith(...given);
const findLine: RuledGateway['findLine'] = (answer) => ruled.findLine(answer);

before(async () => {
  ruled = await startRuledGateway();
  gateway = ruled.gateway;
});
after(() => ruled?.close());

describe('rules over claims', () => {
  test('without any authentication refuse with 403, not 401: a login would not help', async () => {
    const answer = await get('/claims');
    checkDenial(answer);
    const line = await findLine(answer);
    assert.equal(line['policy'], 'default/claims');
    assert.equal(line['rule'], undefined);
    assert.match(
      String(line['detail']),
      /^no Allow rule matches: policy default\/claims; .*matchExpressions\[0\] cannot be evaluated \(.+\): jwt\.team == "support"$/,
    );
    // Nobody verified it.
    checkDenial(await getWith('/claims', { team: 'support' }));
  });

  test('that cannot be evaluated deny, where they are to deny', async () => {
    const answer = await get('/broken');
    checkDenial(answer);
    assert.equal((await findLine(answer))['rule'], 'default/broken/Deny/0');
  });

  test('come after JWT authentication: 401 without a token, 403 with the wrong claims', async () => {
    const without = await get('/strict');
    assert.equal(readError(without), '401 missing_token');
    assert.match(String(without.headers['www-authenticate']), /^Bearer/);
    checkDenial(await getWith('/strict', { team: 'sales' }));
    checkDenial(await getWith('/strict', {}));
    assert.equal((await getWith('/strict', { team: 'support' })).status, 200);
    assert.equal((await getWith('/strict', { sub: 'root' })).status, 200);
    assert.equal((await getWith('/strict', { team: ['support'] })).status, 403, 'a list is no string');
  });

  test('see no claims where Optional let a request in without a token', async () => {
    assert.equal((await get('/optional')).status, 200);
    checkDenial(await get('/optional', {}, 'DELETE'));
    const answer = await get('/optional', { authorization: `Bearer ${await ruled.sign()}` }, 'DELETE');
    assert.equal(answer.status, 200);
  });

  test("see those of the backend's MCP authentication where the route has none", async () => {
    assert.equal(readError(await get('/mcp')), '401 missing_token');
    checkDenial(await getWith('/mcp', { team: 'sales' }));
    assert.equal((await getWith('/mcp', { team: 'support' })).status, 200);
    checkDenial(await getWith('/mcp/x/../admin', { team: 'support' }));
    checkDenial(await getWith('/mcp/%61dmin', { team: 'support' }));
  });
});

describe('rules over requests', () => {
  test('come before a redirect', async () => {
    checkDenial(await get('/redirect'));
    checkDenial(await get('/redirect?go=yes&go=yes'));
    assert.equal((await get('/redirect?go=yes')).status, 302);
  });

  test('leave a page that may read the answer the right to read the denial', async () => {
    const headers = { origin: 'https://app.test' };
    const denied = await get('/cors', headers, 'POST');
    checkDenial(denied);
    assert.equal(denied.headers['access-control-allow-origin'], 'https://app.test');
    const preflight = await get('/cors', { ...headers, 'access-control-request-method': 'POST' }, 'OPTIONS');
    assert.equal(preflight.status, 204, 'a preflight is not judged');
  });

  test('read headers by any name, over both versions of HTTP', async () => {
    const sent = { constructor: 'c', ['__proto__']: ['a', 'b'] };
    const fields = Object.entries(sent).flatMap(([name, value]) => [value].flat().flatMap((each) => [name, each]));
    assert.deepEqual(fields, ['constructor', 'c', '__proto__', 'a', '__proto__', 'b']);
    const plain = await ask(gateway.port, { path: '/headers', headers: ['host', '127.0.0.1', ...fields] as never });
    assert.equal(plain.status, 200, plain.body);
    checkDenial(await get('/headers'));
    checkDenial(
      await ask(gateway.port, { path: '/headers', headers: ['host', '127.0.0.1', ...fields, 'X-Absent', ''] as never }),
    );
    const session = await openSession(gateway.port);
    const pseudo = [':method', 'GET', ':path', '/headers', ':authority', '127.0.0.1', ':scheme', 'http'];
    const http2 = await askHttp2(session, [...pseudo, ...fields]);
    assert.equal(http2.status, 200, http2.body);
    session.destroy();
  });

  test('read query parameters in one way only', async () => {
    for (const query of [
      'role=reader+of+all',
      'role=reader%20of%20all',
      'r%6Fle=reader%20of+all&x',
      '=&role=reader+of+all',
    ])
      assert.equal((await get(`/query?${query}`)).status, 200, query);
    for (const query of [
      '',
      'role=reader',
      'role=reader+of+all&role=reader+of+all',
      'role=x&r%6fle=reader+of+all',
      'Role=reader+of+all',
    ])
      checkDenial(await get(`/query?${query}`));
  });
});
