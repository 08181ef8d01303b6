import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Overview } from './describe-overview.ts';
import { answerOverviewPage } from './overview-page.ts';

const hostile = `"><script>alert('x')</script>&`;

const overview: Overview = {
  version: 3,
  appliedAtMs: Date.UTC(2026, 0, 1),
  workers: 2,
  problems: [hostile],
  listeners: [
    { name: hostile, address: hostile, protocol: hostile, hostname: hostile, routes: 1, problems: [hostile] },
  ],
  routes: [
    {
      route: hostile,
      rule: hostile,
      places: [hostile, hostile],
      listeners: [hostile],
      backends: [hostile],
      filters: [hostile],
      badges: [{ word: hostile, tone: 'bad', policies: [hostile] }],
      isOpen: true,
      isPublic: false,
      isUnprotected: false,
      answers: hostile,
    },
  ],
  backends: [
    {
      name: hostile,
      protocol: hostile,
      endpoints: [{ name: hostile, isEjected: true, outstanding: 1, lastFailure: { atMs: 0, message: hostile } }],
      targets: [],
    },
    {
      name: hostile,
      protocol: hostile,
      endpoints: [],
      targets: [
        {
          name: hostile,
          prefix: hostile,
          failureMode: 'FailClosed',
          health: 'down',
          version: hostile,
          serverInfo: { name: hostile, version: hostile },
          tools: 3,
          lastError: { time: '2026-01-01T00:04:00.000Z', message: hostile },
          problem: hostile,
          endpoints: [{ name: hostile, isEjected: true, outstanding: 0, lastFailure: null }],
        },
      ],
    },
  ],
  policies: [
    { policy: hostile, field: hostile, title: hostile, target: hostile, state: 'closed', problems: [hostile] },
  ],
  idps: [
    {
      issuer: hostile,
      policies: [hostile],
      flow: hostile,
      issuedTokens: undefined,
      hasKeys: false,
      keys: {
        url: hostile,
        keys: [{ id: hostile, algorithms: [hostile] }],
        ignored: [],
        fetchedAtMs: Date.UTC(2026, 0, 1),
        problem: hostile,
      },
    },
  ],
};

function format(changes: Partial<Overview> = {}): string {
  const nowMs = Date.UTC(2026, 0, 1, 0, 5);
  return answerOverviewPage({ ...overview, ...changes }, { version: hostile, level: 'info', nowMs }).body;
}

describe('the overview page', () => {
  test('shows every name as text', () => {
    const body = format();
    assert.doesNotMatch(body, /<script|alert\('/);
    // Once for each place above: none is left out.
    assert.equal(body.split('&lt;script&gt;').length - 1, 43);
  });

  test('says what is open first, how old everything is, and marks what is wrong', () => {
    const body = format();
    assert.match(body, /<li class="alarm"><a href="#routes"><strong class="bad">1 of 1 route is OPEN<\/strong>/);
    assert.match(body, /Configuration 3<\/a> is in force since .*2026-01-01 00:00:00Z<\/time> \(5 min\)\. 2 workers\./);
    assert.match(body, /fetched 5 min ago/);
    assert.match(body, /badge bad">ejected/);
    assert.match(body, /(?:1 min|60 s) ago: &quot;/);
    assert.match(body, /1 server down/);
    assert.equal(body.match(/class="alarm"/g)?.length, 6);
  });

  test('is quiet where all is well', () => {
    const body = format({
      problems: [],
      listeners: [],
      routes: [],
      backends: [],
      policies: [],
      idps: [],
      appliedAtMs: undefined,
      workers: 1,
    });
    assert.doesNotMatch(body, /class="alarm"|workers\./);
    for (const text of ['No configuration was applied yet', 'No routes are served', 'No listener is configured'])
      assert.ok(body.includes(text), text);
  });

  test('what needs attention is never among the rows that are left out', () => {
    const calm = { ...overview.routes[0]!, isOpen: false, route: 'default/calm' };
    const body = format({ routes: [...Array.from({ length: 400 }, () => calm), overview.routes[0]!] });
    assert.match(body, /1 of 401 routes are OPEN/);
    assert.match(body, /201 more are left out here/);
    assert.ok(body.indexOf('&lt;script&gt;', body.indexOf('id="routes"')) < body.indexOf('default/calm'));
  });
});
