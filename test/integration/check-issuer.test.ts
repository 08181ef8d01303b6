// `check` where the gateway issues the tokens: what it shows without asking anybody, and what it warns of.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { checkCommand } from '../../src/cmd/check.ts';
import type { CheckReport } from '../../src/cmd/check-report.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { buildShortForm, printResources } from '../../src/cmd/short-form.ts';

const folder = mkdtempSync(join(tmpdir(), 'check-issuer-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function check(text: string, ...flags: string[]) {
  const file = join(folder, 'gateway.yaml');
  writeFileSync(file, text);
  let [out, err] = ['', ''];
  const io = {
    stdout: (each: string) => void (out += each),
    stderr: (each: string) => void (err += each),
    color: false,
    env: {},
  };
  const code = await executeCommand(checkCommand, ['-f', file, ...flags], io);
  return { code, out, err };
}

function printGitHub(allow: readonly string[]): string {
  const short = buildShortForm({ targets: ['http://127.0.0.1:3001/mcp'], provider: 'GitHub', clientId: 'a', allow });
  assert.ok(short.ok);
  return printResources(short.resources);
}

test('the flow, the callback to register, and who gets in', async () => {
  const allow = ['org:acme', 'domain:Example.com', ...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => `subject:${id}`)];
  const { code, out, err } = await check(printGitHub(allow));
  assert.deepEqual([code, err], [0, '']);
  assert.match(
    out,
    /-> ProxyBackend default\/mcp +HTTPRoute default\/mcp, rule 0 +login \(Issuer, GitHub\) default\/mcp \[1\]/,
  );
  assert.match(out, /ProxyPolicy default\/mcp +issuer +https:\/\/github\.com\n/);
  assert.match(out, /^ +flow +Issuer: .*$/m);
  assert.match(
    out,
    /^ +lets in +members of acme; everybody with an email at example\.com; the subjects a, b, c, d, e and 1 more$/m,
  );
  assert.match(out, /^ +callback +http:\/\/127\.0\.0\.1:3000\/\.oauth\/mcp\/callback /m);
  const { out: json } = await check(printGitHub(['org:acme']), '--json');
  const report = JSON.parse(json) as CheckReport;
  assert.equal(report.authentications[0]?.whoGetsIn, 'members of acme');
  assert.deepEqual(report.warnings, []);
});

describe('warnings', () => {
  const base = printGitHub(['org:acme']);
  const anchor = 'provider: GitHub\n';
  const indent = ' '.repeat(8);

  /** Fields beside `provider`, rules of another policy, rules over requests. */
  function write(fields: string, mcp = '', request = ''): string {
    const login = base.replace(anchor, `${anchor}${fields.replace(/^/gm, indent)}\n`);
    const rules =
      mcp === ''
        ? ''
        : `---\n{apiVersion: gateway.proxy/v1alpha1, kind: ProxyPolicy, metadata: {name: rules}, spec: {targetRefs: [{group: gateway.proxy, kind: ProxyBackend, name: mcp}], backend: {mcp: {authorization: {${mcp}}}}}}\n`;
    const requests =
      request === ''
        ? ''
        : `---\n{apiVersion: gateway.proxy/v1alpha1, kind: ProxyPolicy, metadata: {name: requests}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: mcp}], traffic: {authorization: {policy: {matchExpressions: [${request}]}}}}}\n`;
    return `${login}${rules}${requests}`;
  }

  const cases: readonly (readonly [what: string, text: string, ...warnings: string[]])[] = [
    [
      'no refresh tokens',
      write('tokens: {refreshLifetime: 0s}'),
      'tokens.refreshLifetime is 0s: people have to log in again every 15m',
    ],
    ['required scopes are granted by default', write('requiredScopes: [a]')],
    [
      'a required scope that nobody is granted',
      write('requiredScopes: [a, b]\ntokens: {scopes: [{scopes: [b]}]}'),
      'nobody gets in: requiredScopes has a, which no token can have; add it to tokens.scopes',
    ],
    [
      'a scope of a tool that nobody is granted',
      write('requiredScopes: [a]', 'scopes: [{tools: [x], scopes: [a, write]}]'),
      'no token can have the scope write, which ProxyPolicy default/rules needs; add it to tokens.scopes',
    ],
    [
      'claims that rules read',
      write(
        'tokens: {claims: [email]}',
        'policy: {matchExpressions: [\'jwt.email == "a" && jwt.team == "b" && jwt.sub != ""\']}',
        '\'"x" in jwt.groups\'',
      ),
      'no token has the claim groups, which rules of ProxyPolicy default/requests read; add it to tokens.claims',
      'no token has the claim team, which rules of ProxyPolicy default/rules read; add it to tokens.claims',
    ],
    [
      'claims that fields read',
      write(
        'requiredClaims: {org.id: a, idp: b}\nclaimsToHeaders: [{claim: name, header: x-name}, {claim: sub, header: x-sub}]\ntokens: {scopes: [{scopes: [a], when: "jwt.level == 1"}]}',
      ),
      'no token has the claim org.id, which requiredClaims needs; add it to tokens.claims',
      'no token has the claim name, which claimsToHeaders passes on; add it to tokens.claims',
      'no token has the claim level, which tokens.scopes[0].when reads; add it to tokens.claims',
    ],
    [
      'a member of a claim that tokens carry',
      write('requiredClaims: {org.id: a}\ntokens: {claims: [org]}', "policy: {matchExpressions: ['jwt.org.id == 1']}"),
    ],
    ['a rule over all claims', write('', "policy: {matchExpressions: ['jwt.size() > 3']}")],
  ];
  for (const [what, text, ...warnings] of cases)
    test(what, async () => {
      const { code, out } = await check(text, '--json');
      const report = JSON.parse(out) as CheckReport;
      assert.deepEqual(report.problems, []);
      assert.equal(code, 0);
      assert.deepEqual(
        report.warnings,
        warnings.map((message) => ({ policy: 'default/mcp', message })),
      );
    });

  test('claims that are mapped for nothing, and a domain where anybody gets an address', async () => {
    const text = printGitHub(['domain:gmail.com']).replace(
      /^( +)identity:\n/m,
      (line, spaces: string) => `${line}${spaces}  claims: {preferred_username: login, groups: organizations}\n`,
    );
    const { code, err } = await check(text);
    assert.equal(code, 0);
    assert.equal(
      err,
      'warning: ProxyPolicy default/mcp: identity.allow.domains has gmail.com, where anybody can get an address\n' +
        'warning: ProxyPolicy default/mcp: identity.claims.preferred_username has no effect: tokens.claims does not list preferred_username\n',
    );
  });
});

test('an identity provider that anybody can join, and nothing that says who gets in', async () => {
  const text = printGitHub(['org:acme']).replace(/^ +identity:\n(?: +(?:allow:|organizations:|- acme)\n)+/m, '');
  const { code, err } = await check(text);
  assert.equal(code, 1);
  assert.match(
    err,
    /spec\.backend\.mcp\.authentication: anybody with a GitHub account would get in: set identity\.allow, requiredClaims or an Allow rule in this policy /,
  );
});
