import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminConfiguration, hiddenValue } from '../../../test/integration/admin-configuration.ts';
import { emptyConfiguration } from '../../ir/configuration.ts';
import { compile } from '../config/compile/compile.ts';
import { describeRoutes } from './describe-routes.ts';
import { formatRoutes } from './format-routes.ts';

const served = describeRoutes(compile(adminConfiguration).runtime);

test('matches are listed in the order in which they are tried', () => {
  const [port] = served.ports;
  assert.deepEqual([port?.address, port?.port, port?.protocol], ['127.0.0.1', 8443, 'HTTPS']);
  const [listener] = port?.listeners ?? [];
  assert.deepEqual([listener?.listener, listener?.hostname], ['default/gw/https', '*.mcp.example']);
  assert.deepEqual(
    listener?.matches.map(({ hostname, path, route }) => [hostname, path.type, path.value, route]),
    [
      ['a.mcp.example', 'exact', '/mcp/exact', 'default/tickets'],
      ['a.mcp.example', 'prefix', '/mcp', 'default/tickets'],
      ['', 'prefix', '/', 'default/broken'],
    ],
  );
  const [exact, , broken] = listener?.matches ?? [];
  assert.equal(exact?.method, 'POST');
  assert.deepEqual(exact?.headers, ['x-api-key=[redacted]', 'x-team~a|b']);
  assert.deepEqual(exact?.queryParams, ['v=2']);
  assert.equal(exact?.protection.summary, 'open: CORS');
  assert.deepEqual(
    exact?.protection.policies.map(({ policy, field, target, inForce }) => [policy, field, target, inForce]),
    [['default/browsers', 'traffic.cors', 'HTTPRoute default/tickets', true]],
  );
  assert.equal(broken?.protection.summary, 'open: no policy');
  assert.deepEqual(exact?.filters, ['request headers']);
  assert.deepEqual(exact?.backends[0]?.endpoints, ['10.0.0.1:80', '[fd00::1]:81']);
  assert.equal(exact?.backends[1]?.answers?.reason, 'backend_invalid');
  assert.equal(broken?.rule, 'main');
  assert.deepEqual(broken?.answers, { status: 500, reason: 'route_invalid', message: 'a filter is not valid' });
  assert.equal(JSON.stringify(served).includes(hiddenValue), false);
});

test('the table is aligned and says the same', () => {
  const text = formatRoutes(served);
  assert.equal(text.includes(hiddenValue), false);
  const lines = text.trimEnd().split('\n');
  assert.deepEqual(lines.slice(0, 2), ['127.0.0.1:8443 HTTPS', '  listener default/gw/https, host *.mcp.example']);
  const column = lines[2]!.indexOf('MATCH');
  assert.deepEqual(
    lines.slice(3, 6).map((line) => line.slice(column).split(/ {2,}/)[0]),
    ['exact /mcp/exact, header x-api-key=[redacted], header x-team~a|b, query v=2', 'prefix /mcp', 'prefix /'],
  );
  assert.match(
    lines[5]!,
    /default\/broken rule main +answers 500 route_invalid: a filter is not valid +open: no policy$/,
  );
  assert.match(lines[4]!, / open: CORS \[1\], request headers$/);
  assert.deepEqual(lines.slice(6), [
    '',
    '[1]  cross-origin requests by ProxyPolicy default/browsers (traffic.cors, on HTTPRoute default/tickets)',
  ]);
});

test('nothing served is said in words', () => {
  assert.match(formatRoutes(describeRoutes(compile(emptyConfiguration).runtime)), /^Nothing is served/);
});
