// The platform and the two teams of docs/multi-tenancy.md at a gateway that runs: the example's resources, tokens of real keys, and every cell of the page's table;
// then the same with the policy of the team that tries to open its route.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer } from '../kit/test-issuer.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/multi-tenancy.md');
const example = read('examples/multi-tenancy.yaml');
const [, attempt = ''] = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);

const company = createIssuer('https://idp.example.com', { audience: 'apps' });
/** Keys of team B, under the name of the company. */
const ofTeamB = createIssuer('https://idp.example.com', { audience: 'apps' });
const keys: Readonly<Record<string, string>> = {
  'https://idp.example.com/jwks': company.jwks,
  'https://keys.team-b.example.com/jwks': ofTeamB.jwks,
};
const paths: Readonly<Record<string, string>> = { "team A's route": '/a/tickets', "team B's route": '/b/builds' };

/** Who the lines of the table are about. The words behind the names are not read: the commands of the example have the same people. */
const people: Readonly<Record<string, object | undefined>> = {
  nobody: undefined,
  Alice: { sub: 'alice', groups: ['staff'], team: 'a' },
  Bob: { sub: 'bob', groups: ['staff'], team: 'b' },
  Carol: { sub: 'carol', groups: ['partners'], team: 'a' },
};

interface Cell {
  readonly who: string;
  readonly path: string;
  readonly expected: string;
}

/** The table below "Team B has no policy. So:". */
function readTable(): readonly Cell[] {
  const [head, , ...rows] = /^\| who \|[\s\S]*?(?=\n\n)/m
    .exec(page)![0]
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  return rows.flatMap(([who = '', ...cells]) =>
    cells.map((expected, index) => ({ who: who.split(',')[0]!, path: paths[head![index + 1]!]!, expected })),
  );
}

let upstream: RecordingUpstream;

/** The resources as printed, with this machine in place of what they name elsewhere. */
function toLocal(text: string, port: number): object[] {
  const place = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(place);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value as Readonly<Record<string, unknown>>);
    const { jwks, static: server, tls: _tls, ...rest } = Object.fromEntries(entries) as Record<string, object>;
    return {
      ...Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, place(inner)])),
      ...(jwks !== undefined && { jwks: { inline: keys[(jwks as { url: string }).url] } }),
      ...(server !== undefined && { static: { ...server, host: '127.0.0.1', port: upstream.port } }),
    };
  };
  const documents = parseAllDocuments(text.replace('port: 8080', `port: ${port}`));
  return documents.map((document) => place(document.toJS()) as object);
}

before(async () => {
  upstream = await startMcpUpstream();
});
after(() => upstream?.close());

async function outcome(gateway: GatewayRun, path: string, token: string | undefined): Promise<string> {
  const answer = await fetch(gateway.urlOf(path), {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  await answer.arrayBuffer();
  return answer.status === 401 || answer.status === 403 ? String(answer.status) : 'passes';
}

for (const [what, text] of [
  ['the example', example],
  ['the example, and a team that tries to open its route', `${example}---\n${attempt}`],
] as const)
  describe(what, () => {
    let gateway: GatewayRun;
    before(async () => {
      gateway = await runGateway({ resources: (port) => toLocal(text, port) });
    });
    after(() => gateway?.stop());

    test('the table has every person and both routes', () => {
      assert.deepEqual([...new Set(readTable().map(({ who }) => who))], Object.keys(people));
      assert.equal(readTable().length, 8);
    });

    for (const { who, path, expected } of readTable())
      test(`${who} at ${path}: ${expected}`, async () => {
        const claims = people[who];
        const seen = upstream.requests.length;
        const token = claims === undefined ? undefined : await company.sign(claims);
        assert.equal(await outcome(gateway, path, token), expected);
        assert.equal(upstream.requests.length - seen, expected === 'passes' ? 1 : 0);
      });

    test('tokens of keys of team B pass nowhere, whatever they say', async () => {
      const seen = upstream.requests.length;
      for (const path of Object.values(paths))
        assert.equal(await outcome(gateway, path, await ofTeamB.sign({ groups: ['staff'], team: 'a' })), '401', path);
      assert.equal(upstream.requests.length, seen);
    });
  });
