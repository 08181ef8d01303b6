// The banner: what protects each route, in words and in colours.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPalette } from '../base/terminal.ts';
import type { ServedMatch, ServedRoutes } from '../gateway/admin/describe-routes.ts';
import { describeNothing, formatServing } from './serving-lines.ts';

const pages = { admin: 'http://127.0.0.1:15001', metrics: 'http://m', readiness: 'http://r', taken: { admin: 15_000 } };

function match(path: string, protection: Partial<ServedMatch['protection']>): ServedMatch {
  return {
    hostname: '',
    path: { type: 'prefix', value: path },
    method: '',
    headers: [],
    queryParams: [],
    route: 'default/r',
    rule: '0',
    backends: [
      { backend: 'Service/default/s/80', weight: 1, endpoints: ['192.0.2.1:80'], authentication: undefined, answers: undefined },
    ],
    filters: [],
    protection: { state: 'open', summary: 'open: no policy', closedBy: null, closedBecause: null, clientCertificate: false, guards: [], policies: [], ...protection },
    answers: undefined,
  }; // prettier-ignore
}

function serve(...matches: readonly ServedMatch[]): ServedRoutes {
  const listeners = [{ listener: 'default/gw/http', hostname: '', matches }];
  return { version: 1, ports: [{ address: '127.0.0.1', port: 3000, protocol: 'HTTP', listeners }] };
}

const guarded = match('/mcp', {
  state: 'protected',
  summary: 'login required, rules',
  guards: [
    { kind: 'backend.mcp.authentication', policy: 'default/login' },
    { kind: 'backend.mcp.authorization', policy: 'default/rules' },
  ],
});

test('each route says what protects it, and taken ports are named', () => {
  assert.equal(
    formatServing(serve(guarded, match('/', {})), new Map(), pages, createPalette(false)),
    [
      'Serving http://127.0.0.1:3000  (default/gw/http)',
      '  /mcp/*  login default/login, rules default/rules  -> Service/default/s/80 at 192.0.2.1:80',
      '  /*      OPEN: no policy                           -> Service/default/s/80 at 192.0.2.1:80',
      'Admin http://127.0.0.1:15001 (15000 is taken)  metrics http://m/metrics  readiness http://r/ready',
      '',
    ].join('\n'),
  );
});

test('callbacks that have to be entered at identity providers are named', () => {
  const urls = [1, 2, 3, 4, 5].map((each) => `https://h${each}.example/.oauth/mcp/callback`);
  const callbacks = new Map([
    ['https://idp.example', urls.slice(0, 1)],
    ['https://other.example', urls],
  ]);
  const lines = formatServing(serve(guarded), callbacks, pages, createPalette(false)).split('\n');
  assert.equal(lines[2], 'Redirect URI of the client at https://idp.example: https://h1.example/.oauth/mcp/callback');
  assert.match(lines[3] ?? '', /h4\.example\/\.oauth\/mcp\/callback, and more: http:\/\/127\.0\.0\.1:15001\/routes$/);
});

test('a client certificate that the listener requires protects, beside policies or alone', () => {
  const alone = match('/', { state: 'protected', summary: 'client certificate required', clientCertificate: true });
  const beside = { ...guarded, protection: { ...guarded.protection, clientCertificate: true } };
  const lines = formatServing(serve(beside, alone), new Map(), pages, createPalette(true));
  assert.ok(lines.includes('\u001b[32mclient certificate\u001b[39m'), lines);
  assert.ok(lines.includes('client certificate, login default/login, rules default/rules'), lines);
});

test('what is open is red on a terminal', () => {
  const lines = formatServing(serve(match('/', {})), new Map(), pages, createPalette(true));
  assert.ok(lines.includes('\u001b[31mOPEN: no policy\u001b[39m'), lines);
});

test('nothing to serve is said', () => {
  assert.match(
    formatServing({ version: 1, ports: [] }, new Map(), pages, createPalette(false)),
    /no usable listener\. The gateway is not ready\.\n/,
  );
  assert.match(describeNothing(serve()) ?? '', /no listener has a route/);
  assert.equal(describeNothing(serve(guarded)), undefined);
});
