import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeFlow } from './flow-state.ts';

type Step = Parameters<typeof judgeFlow>[0]['steps'][number];

const atMs = Date.parse('2026-08-01T12:00:00Z');

function step(name: string, members: Partial<Step> = {}): Step {
  const at = new Date(atMs).toISOString();
  return { name, at, status: 200, outcome: 'ok', reason: null, detail: null, ...members };
}

const refused = {
  outcome: 'refused',
  reason: 'idp_login_refused',
  detail: 'the identity provider answered invalid_scope',
} as const;
const toIdp = { status: 302 };

const cases: readonly [name: string, steps: readonly Step[], state: string, note: RegExp, flow?: string][] = [
  [
    'a challenge alone',
    [step('access', { outcome: 'challenged', status: 401 })],
    'in progress',
    /^The client has not begun to log in\.$/,
  ],
  ['metadata at the broker', [step('authorization-server-metadata')], 'in progress', /^The client has not begun/],
  ['metadata, with Facade', [step('authorization-server-metadata')], 'in progress', /knows where to log in/, 'Facade'],
  ['metadata, with Direct', [step('protected-resource-metadata')], 'in progress', /knows where to log in/, 'Direct'],
  ['registered at the broker', [step('register', { status: 201 })], 'in progress', /registered, and has not begun/],
  [
    'registered, with Facade',
    [step('register', { status: 201 })],
    'in progress',
    /logs in at the identity provider itself/,
    'Facade',
  ],
  ['registered, with Issuer', [step('register')], 'in progress', /registered, and has not begun/, 'Issuer'],
  ['keys of our own, with Issuer', [step('jwks')], 'in progress', /has not begun to log in/, 'Issuer'],
  [
    'a session that its client has ended',
    [step('token'), step('revoke')],
    'in progress',
    /has ended its session/,
    'Issuer',
  ],
  [
    'a new token that is expired, with Issuer',
    [step('token'), step('access', { outcome: 'refused', reason: 'token_expired', status: 401 })],
    'refused',
    /the clocks of the gateways do not agree/,
    'Issuer',
  ],
  ['at the consent page', [step('authorize')], 'in progress', /has not answered the consent page/],
  [
    'at the identity provider',
    [step('authorize'), step('consent', { status: 303 })],
    'in progress',
    /has not come back.*\/\.oauth\/mcp\/callback at this host, a redirect URI/,
  ],
  [
    'refused at the callback',
    [step('authorize', toIdp), step('callback', { ...toIdp, ...refused })],
    'refused',
    /^the identity provider answered invalid_scope$/,
  ],
  [
    'refused, and metadata read again',
    [step('callback', { ...toIdp, ...refused }), step('protected-resource-metadata')],
    'refused',
    /invalid_scope/,
  ],
  [
    'refused, and begun again',
    [step('callback', { ...toIdp, ...refused }), step('authorize', toIdp)],
    'in progress',
    /has not come back/,
  ],
  [
    "the gateway's own client is refused",
    [step('token', { outcome: 'failed', status: 503, reason: 'idp_refused_client' })],
    'refused',
    /^idp_refused_client$/,
  ],
  [
    'metadata that failed',
    [step('openid-configuration', { outcome: 'failed', status: 503, detail: 'no metadata' })],
    'refused',
    /^no metadata$/,
  ],
  ['with a code', [step('callback', toIdp)], 'in progress', /has not asked for a token/],
  ['with a token', [step('token')], 'in progress', /has not used it here/],
  [
    'a new token that has expired',
    [step('token'), step('access', { outcome: 'refused', reason: 'token_expired', detail: 'The token has expired.' })],
    'refused',
    /^The token has expired\. .*clocks/,
  ],
  [
    'an old token that has expired',
    [
      step('token', { at: '2026-08-01T11:00:00Z' }),
      step('access', { outcome: 'refused', reason: 'token_expired', detail: 'The token has expired.' }),
    ],
    'refused',
    /^The token has expired\.$/,
  ],
];

for (const [name, steps, state, note, flow = 'Broker'] of cases) {
  test(`a flow: ${name}`, () => {
    const judged = { steps, acceptedRequests: 0, flow, resource: '/mcp', lastAtMs: atMs };
    const found = judgeFlow(judged, atMs + 600_000);
    assert.equal(found.state, state);
    assert.match(found.note ?? '', note);
    // Ten minutes are as long as the gateway takes the answer to a login.
    const later = judgeFlow(judged, atMs + 600_001);
    assert.equal(later.state, state === 'in progress' ? 'abandoned' : state);
    if (state === 'in progress') assert.equal(later.note, `Nothing more came for 10 minutes. ${found.note}`);
  });
}

test('a flow: let in, which stays so', () => {
  const judged = {
    steps: [step('token'), step('access')],
    acceptedRequests: 1,
    flow: 'Broker',
    resource: '',
    lastAtMs: atMs,
  };
  assert.deepEqual(judgeFlow(judged, atMs + 86_400_000), { state: 'authorized', note: null });
});
