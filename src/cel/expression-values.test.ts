// What expressions give, with the values that the specification says (https://github.com/google/cel-spec/blob/master/doc/langdef.md).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileExpression } from './compile-expression.ts';
import type { ExpressionVariables } from './expression.ts';
import { createVariables } from './testing/sample-variables.ts';

/** A text instead of a value: the problem at run time. */
type Cases = readonly (readonly [source: string, expected: boolean | string])[];

function run(cases: Cases, variables: ExpressionVariables = createVariables()): void {
  for (const [source, expected] of cases)
    test(`${source} -> ${expected}`, () => {
      const compiled = compileExpression(source, 'mcp');
      assert.ok(compiled.ok, compiled.ok ? '' : JSON.stringify(compiled.problem));
      const outcome = compiled.expression.evaluate(variables);
      assert.deepEqual(
        outcome,
        typeof expected === 'string' ? { ok: false, problem: expected } : { ok: true, value: expected },
      );
    });
}

describe('claims', () => {
  run([
    ['jwt.sub == "u-1"', true],
    ['jwt["sub"] == "u-1"', true],
    ['jwt.sub != "u-2"', true],
    ['jwt.email_verified', true],
    ['!jwt.email_verified', false],
    ['jwt.level == 3', true],
    ['jwt.level == 3.0', true],
    ['jwt.level == 3u', true],
    ['type(jwt.level) == int', true],
    ['type(jwt.score) == double', true],
    ['jwt.huge > 1', 'the number is beyond 2^53 and cannot be represented exactly'],
    ['has(jwt.huge)', true],
    ['jwt.score > 4 && jwt.score < 5', true],
    ['jwt.negative < 0 && -jwt.negative == 7', true],
    ['jwt.nothing == null', true],
    ['has(jwt.nothing)', true],
    ['"nothing" in jwt', true],
    ['jwt.empty == ""', true],
    ['size(jwt.none) == 0', true],
    ['jwt.realm_access.roles[0] == "admin"', true],
    ['"admin" in jwt.realm_access.roles', true],
    ['"editor" in jwt["https://example.com/roles"]', true],
    ['jwt.flags.beta && !jwt.flags.legacy', true],
    ['jwt.people[1].name == "Bob"', true],
    ['jwt.groups[1] == "sales"', true],
    ['jwt.groups == ["support", "sales", "eu/berlin"]', true],
    ['jwt.groups == ["sales", "support", "eu/berlin"]', false],
    ['jwt.flags == {"legacy": false, "beta": true}', true],
    ['jwt.mixed == [1, "two", true, null, 2.5]', true],
    ['jwt.sub == 1', false],
    ['jwt.groups == "support"', false],
    ['jwt.team == "blue"', 'jwt.team is absent'],
    ['jwt.realm_access.groups == []', 'jwt.realm_access.groups is absent'],
    ['jwt["https://example.com/teams"] == []', 'jwt["https://example.com/teams"] is absent'],
    ['has(jwt.team)', false],
    ['has(jwt.team) && jwt.team == "blue"', false],
    ['has(jwt.team.name)', 'jwt.team is absent'],
    ['jwt.sub.name == "x"', 'jwt.sub is a string, and has no fields'],
    ['has(jwt.sub.name)', 'jwt.sub is a string, and has no fields'],
    ['jwt.sub', 'the expression gives a string, not true or false'],
    ['jwt.nothing', 'the expression gives null, not true or false'],
    ['"x" in jwt.sub', 'in needs a list or a map, jwt.sub is a string'],
    ['jwt.groups.startsWith("s")', 'startsWith() is not defined for a list and a string'],
    ['jwt.level && true', '&& needs true or false, found an int'],
    ['jwt.groups[3] == "x"', 'the index is outside of the list'],
    ['jwt.groups[-1] == "x"', 'the index is outside of the list'],
    ['jwt.groups[jwt.sub] == "x"', 'a list is indexed by an int, found a string'],
  ]);
});

describe('nobody is asked but the token itself', () => {
  run([
    ['"constructor" in jwt', false],
    ['has(jwt.constructor)', false],
    ['jwt.constructor == null', 'jwt.constructor is absent'],
    ['has(jwt.hasOwnProperty)', false],
    ['"toString" in jwt && jwt.toString == "mine"', true],
    ['"__proto__" in jwt && jwt.__proto__.admin', true],
    ['has(jwt.admin)', false],
    ['has(jwt.flags.__proto__)', false],
    ['"length" in jwt.flags', false],
    ['has(request.headers.constructor)', false],
    ['"__proto__" in mcp.tool.arguments', false],
  ]);
});

describe('what only a prototype has is not there', () => {
  const claims = Object.setPrototypeOf({ sub: 'x' }, { admin: true }) as Record<string, unknown>;
  run(
    [
      ['has(jwt.admin)', false],
      ['jwt.admin', 'jwt.admin is absent'],
      ['"admin" in jwt', false],
      ['jwt.all(k, k == "sub")', true],
    ],
    createVariables({ jwt: claims }),
  );
});

describe('lists and loops', () => {
  run([
    ['"support" in jwt.groups', true],
    ['"Support" in jwt.groups', false],
    ['!("legal" in jwt.groups)', true],
    ['2 in [1, 2, 3]', true],
    ['2.0 in dyn([1, 2, 3])', true],
    ['null in jwt.mixed', true],
    ['[1, 2] + [3] == [1, 2, 3]', true],
    ['size([1, 2]) == 2 && [].size() == 0', true],
    ['jwt.groups.exists(g, g.startsWith("eu/"))', true],
    ['jwt.groups.exists(g, g == "legal")', false],
    ['jwt.groups.all(g, g != "legal")', true],
    ['jwt.groups.all(g, g.contains("s"))', false],
    ['jwt.none.all(g, false)', true],
    ['jwt.none.exists(g, true)', false],
    ['jwt.groups.exists_one(g, g.startsWith("s"))', false],
    ['jwt.groups.exists_one(g, g == "sales")', true],
    ['jwt.groups.filter(g, g.startsWith("s")) == ["support", "sales"]', true],
    ['jwt.groups.map(g, g.size()) == [7, 5, 9]', true],
    ['jwt.people.map(p, p.age > 30, p.name) == ["Ann"]', true],
    ['jwt.people.exists(p, p.name == "Bob" && p.age < 30)', true],
    ['jwt.people.map(p, p.age).all(a, a >= 29)', true],
    ['[1, 2, 3].map(x, [4, 5].map(y, x * y)) == [[4, 5], [8, 10], [12, 15]]', true],
    ['[[1, 2], [3]].all(l, l.exists(x, x > 1))', true],
    ['[1, 2].exists(x, [1, 2].exists(x, x == 2) && x == 1)', true],
    ['jwt.flags.exists(k, k == "beta")', true],
    ['jwt.flags.filter(k, jwt.flags[k]) == ["beta"]', true],
    ['{"a": 1, "b": 2}.map(k, k) == ["a", "b"]', true],
    // An element that decides makes up for errors in others.
    ['jwt.mixed.exists(x, x > 2)', true],
    ['jwt.mixed.all(x, x > 2)', false],
    ['["a", "b"].exists(x, dyn(x) > 2)', '> is not defined for a string and an int'],
    ['jwt.mixed.exists_one(x, x > 2)', '> is not defined for a string and an int'],
    ['jwt.mixed.filter(x, x > 2) == []', '> is not defined for a string and an int'],
    ['jwt.mixed.map(x, x + 1) == []', '+ is not defined for a string and an int'],
    ['jwt.sub.exists(x, true)', 'a loop needs a list or a map, jwt.sub is a string'],
    ['jwt.groups.exists(g, g)', 'a loop asks for true or false, found a string'],
  ]);
});

describe('maps', () => {
  run([
    ['{"a": 1}.a == 1', true],
    ['{"a": 1}["a"] == 1', true],
    ['{1: "x"}[1] == "x"', true],
    ['{1: "x"}[dyn(1.0)] == "x"', true],
    ['{1u: "x"}[dyn(1)] == "x"', true],
    ['{true: "x"}[true] == "x"', true],
    ['1 in {1: 2}', true],
    ['2 in {1: 2}', false],
    ['size({"a": 1, "b": 2}) == 2', true],
    ['{} == {}', true],
    ['{"a": 1} == {"a": 1.0}.map(k, {"a": 1})[0]', true],
    ['{"a": null}.a == null && has({"a": null}.a) && "a" in {"a": null}', true],
    ['{"a": [1, {"b": 2}]} == {"a": [1, {"b": 2}]}', true],
    ['{"a": 1}[jwt.sub] == 1', 'there is no such key'],
    ['{"a": 1}.b == 1', 'there is no "b"'],
    ['{jwt.sub: 1, "u-1": 2} == {}', 'a map has the same key twice'],
    ['{jwt.groups: 1} == {}', 'a key of a map is a string, int, uint or bool, found a list'],
    ['{"blue": "team-b", "red": "team-r"}[request.headers["x-team"]] == "team-b"', true],
  ]);
});

describe('logic', () => {
  run([
    ['true && true', true],
    ['jwt.team == "x" && false', false],
    ['false && jwt.team == "x"', false],
    ['jwt.team == "x" || true', true],
    ['true || jwt.team == "x"', true],
    ['jwt.team == "x" && true', 'jwt.team is absent'],
    ['jwt.team == "x" || false', 'jwt.team is absent'],
    ['false || true && false', false],
    ['jwt.level > 2 ? jwt.sub == "u-1" : false', true],
    ['jwt.level > 5 ? jwt.team == "x" : true', true],
    ['jwt.team == "x" ? true : true', 'jwt.team is absent'],
    ['jwt.level ? true : false', '?: needs true or false, found an int'],
    ['!(jwt.level > 2)', false],
    ['!jwt.level', '! is not defined for an int'],
    ['1 / 0 == 1 || true', true],
  ]);
});

describe('texts', () => {
  run([
    ['request.path.startsWith("/acme/")', true],
    ['request.path.endsWith("/mcp")', true],
    ['jwt.email.endsWith("@example.com")', true],
    ['jwt.email.contains("@")', true],
    ['jwt.name.size() == 5', true],
    ['size("😀") == 1', true],
    ['"a" < "b" && "B" < "a" && "a" < "aa"', true],
    ['"\\uFFFF" < "\\U0001F600"', true],
    ['"a" + "b" == "ab"', true],
    ['request.path == "/" + jwt.tenant + "/mcp"', true],
    ['jwt.email.matches("^[a-z]+@example[.]com$")', true],
    ['matches(jwt.email, r"@\\w+\\.com")', true],
    ['jwt.email.matches("^example")', false],
    ['"tickets" in jwt.scope.split(" ")', true],
    ['"ticket" in jwt.scope.split(" ")', false],
    ['"a,b,,c".split(",") == ["a", "b", "", "c"]', true],
    ['"a,b,c".split(",", 2) == ["a", "b,c"]', true],
    ['"a,b,c".split(",", 0) == [] && "a,b".split(",", -1) == ["a", "b"]', true],
    ['"ab".split("") == ["a", "b"] && "".split(",") == [""]', true],
    ['request.path.split("/")[1] == jwt.tenant', true],
    ['["a", "b"].join("-") == "a-b" && ["a", "b"].join() == "ab"', true],
    ['jwt.groups.join(",") == "support,sales,eu/berlin"', true],
    ['jwt.mixed.join(",") == ""', 'join() is for lists of strings'],
    ['"TaCoCÆt".lowerAscii() == "tacocÆt" && "tacoCΆt".upperAscii() == "TACOCΆT"', true],
    ['" \\u0085x\\t\\n".trim() == "x"', true],
    ['"tacocat".substring(4) == "cat" && "tacocat".substring(0, 4) == "taco"', true],
    ['"Zoë😀!".substring(3, 4) == "😀" && "Zoë😀!".charAt(4) == "!"', true],
    ['"abc".charAt(3) == ""', true],
    ['"abc".charAt(4) == ""', 'the position is outside of the text'],
    ['"abc".substring(2, 1) == ""', 'the position is outside of the text'],
    ['"😀a😀".indexOf("a") == 1 && "abab".lastIndexOf("ab") == 2', true],
    ['"abab".indexOf("ab", 1) == 2 && "abab".lastIndexOf("ab", 1) == 0', true],
    ['"abc".indexOf("x") == -1', true],
    ['"a-b-c".replace("-", "+") == "a+b+c" && "a-b-c".replace("-", "+", 1) == "a+b-c"', true],
    ['"ab".replace("", "_") == "_a_b_" && "ab".replace("", "_", 2) == "_a_b"', true],
    ['r"\\d" == "\\\\d" && "\\x41\\101" == "AA"', true],
    [`'''a\nb''' == "a\\nb"`, true],
  ]);
});

describe('numbers', () => {
  run([
    ['1 + 2 * 3 == 7 && (1 + 2) * 3 == 9', true],
    ['7 / 2 == 3 && -7 / 2 == -3 && 7 % 3 == 1 && -7 % 3 == -1', true],
    ['7.0 / 2.0 == 3.5', true],
    ['2u + 3u == 5u', true],
    ['0x1F == 31 && 1e3 == 1000.0', true],
    ['1 < 2.5 && 2u > 1 && 1.0 <= 1', true],
    ['dyn(1) == 1.0 && dyn(1u) == 1', true],
    ['9223372036854775807 + 1 > 0', 'the number does not fit into an int'],
    ['1u - 2u == 0u', 'the number does not fit into a uint'],
    ['jwt.level / 0 == 1', 'division by zero'],
    ['jwt.level % 0 == 1', 'division by zero'],
    ['1.0 / 0.0 == double("inf")', true],
    ['double("nan") != double("nan")', true],
    ['jwt.level + 1 == 4 && jwt.level * 2 == 6 && jwt.level - 5 == -2', true],
    ['jwt.level + 0.5 == 3.5', '+ is not defined for an int and a double'],
    ['double(jwt.level) + 0.5 == 3.5', true],
  ]);
});

describe('conversions', () => {
  run([
    ['int("42") == 42 && int("-7") == -7', true],
    ['int(3.99) == 3 && int(-3.99) == -3', true],
    ['int(jwt.sub) == 1', 'the text is not a whole number'],
    ['uint(7) == 7u', true],
    ['uint(jwt.negative) == 7u', 'the number does not fit into a uint'],
    ['double("1.5") == 1.5 && double(1) == 1.0', true],
    ['double(jwt.sub) == 1.0', 'the text is not a number'],
    ['int(1e30) == 1', 'the number does not fit into an int'],
    ['string(1) == "1" && string(1.5) == "1.5" && string(true) == "true" && string(1u) == "1"', true],
    ['bool("true") && !bool("false")', true],
    ['bool(jwt.sub)', 'the text is neither true nor false'],
    ['bytes("é") == b"\\xc3\\xa9" && string(b"\\xc3\\xa9") == "é"', true],
    ['size(bytes("é")) == 2', true],
    ['string(b"\\xff") == ""', 'the bytes are not UTF-8'],
    ['b"a" + b"b" == b"ab" && b"a" < b"b"', true],
    ['type(jwt.sub) == string && type(jwt.groups) == list && type(jwt.flags) == map', true],
    ['type(jwt.nothing) == null_type && type(type(1)) == type', true],
    ['type(request.time) == google.protobuf.Timestamp', true],
    ['type(jwt.groups) == list ? "sales" in jwt.groups : jwt.groups == "sales"', true],
    ['dyn("a") == "a"', true],
  ]);
});

describe('timestamps and durations', () => {
  run([
    ['request.time == timestamp("2026-03-02T09:30:15.250Z")', true],
    ['request.time < timestamp("2027-01-01T00:00:00Z")', true],
    ['request.time < timestamp(jwt.exp)', true],
    ['timestamp(jwt.exp) == timestamp("2030-01-01T00:00:00Z")', true],
    ['timestamp("2026-03-02T11:30:15.25+02:00") == request.time', true],
    ['timestamp("2026-01-01T00:00:00Z") + duration("36h") == timestamp("2026-01-02T12:00:00Z")', true],
    ['timestamp("2026-01-02T00:00:00Z") - timestamp("2026-01-01T00:00:00Z") == duration("24h")', true],
    ['request.time - duration("15.25s") == timestamp("2026-03-02T09:30:00Z")', true],
    ['timestamp(jwt.exp) - request.time > duration("24h")', true],
    ['duration("1h30m") == duration("90m") && duration("-1.5s") < duration("0s")', true],
    ['duration("1h").getMinutes() == 60 && duration("90s").getHours() == 0', true],
    ['duration("1.5s") + duration("500ms") == duration("2s")', true],
    ['duration(90) == duration("90s")', true],
    ['int(duration("90s")) == 90 && int(timestamp("1970-01-01T00:01:00Z")) == 60', true],
    ['string(duration("1h0.5s")) == "3600.5s"', true],
    ['string(request.time) == "2026-03-02T09:30:15.25Z"', true],
    ['request.time.getFullYear() == 2026 && request.time.getMonth() == 2', true],
    ['request.time.getDate() == 2 && request.time.getDayOfMonth() == 1', true],
    ['request.time.getDayOfWeek() == 1 && request.time.getDayOfYear() == 60', true],
    ['request.time.getHours() == 9 && request.time.getMinutes() == 30', true],
    ['request.time.getSeconds() == 15 && request.time.getMilliseconds() == 250', true],
    ['request.time.getHours("Europe/Berlin") == 10', true],
    ['request.time.getHours("+05:30") == 15 && request.time.getMinutes("+05:30") == 0', true],
    ['request.time.getDate("Pacific/Auckland") == 2 && request.time.getHours("Pacific/Auckland") == 22', true],
    ['request.time.getDayOfWeek("-10:00") == 0', true],
    ['request.time.getHours(jwt.sub) == 1', 'the text is not a time zone such as Europe/Berlin or +02:00'],
    ['timestamp(jwt.sub) < request.time', 'the text is not a time such as 2030-01-31T09:00:00Z'],
    ['duration(jwt.sub) < duration("1s")', 'the text is not a duration such as 90s or 1h30m'],
    [
      'timestamp("9999-12-31T23:59:59Z") + duration("1s") > request.time',
      'the time is not between the years 1 and 9999',
    ],
    ['duration("292471h") + duration("2562047h") == duration("1s")', 'the duration is longer than 292 years'],
    // Clocks go forward at 01:00 UTC on 2026-03-29, and back on 2026-10-25.
    ['timestamp("2026-03-29T00:59:59Z").getHours("Europe/Berlin") == 1', true],
    ['timestamp("2026-03-29T01:00:00Z").getHours("Europe/Berlin") == 3', true],
    ['timestamp("2026-10-25T00:59:59Z").getHours("Europe/Berlin") == 2', true],
    ['timestamp("2026-10-25T01:00:00Z").getHours("Europe/Berlin") == 2', true],
    ['timestamp("0001-01-01T00:00:00Z").getFullYear() == 1', true],
  ]);
});

describe('the request', () => {
  run([
    ['request.method == "POST"', true],
    ['request.method in ["GET", "HEAD"]', false],
    ['request.host == "mcp.example.com" && request.scheme == "https"', true],
    ['request.headers["x-team"] == "blue"', true],
    ['has(request.headers.authorization)', false],
    ['"x-team" in request.headers', true],
    ['request.headers["x-other"] == ""', 'request.headers["x-other"] is absent'],
    ['request.query.page == "2"', true],
    ['int(request.query.page) < 10', true],
    ['has(request.query.page) && !has(request.query.size)', true],
    [
      'request.query.twice == "1"',
      'the parameter was sent more than once, and the backend may use another of its values',
    ],
    ['has(request.query.twice)', true],
    ['"1" in request.query', false],
    [
      'request.query == {"page": "2", "twice": "1"}',
      'the parameter was sent more than once, and the backend may use another of its values',
    ],
    ['source.address == "10.1.2.3"', true],
    ['inNetwork(source.address, "10.0.0.0/8")', true],
    ['inNetwork(source.address, "10.1.2.0/24")', true],
    ['inNetwork(source.address, "10.1.2.3")', true],
    ['inNetwork(source.address, "10.1.3.0/24")', false],
    ['inNetwork(source.address, "::/0")', false],
    ['["192.168.0.0/16", "10.0.0.0/8"].exists(n, inNetwork(source.address, n))', true],
    ['inNetwork("::ffff:10.1.2.3", "10.0.0.0/8") && inNetwork("10.1.2.3", "::ffff:10.0.0.0/104")', true],
    ['inNetwork("2001:db8::1", "2001:db8::/32") && !inNetwork("2001:db9::1", "2001:db8::/32")', true],
    ['inNetwork(request.host, "10.0.0.0/8")', 'the text is not an IP address'],
    [
      'inNetwork(source.address, jwt.tenant)',
      'the text is not a network such as 10.0.0.0/8 or 2001:db8::/32, without bits after the prefix',
    ],
  ]);
});

describe('an MCP message', () => {
  run([
    ['mcp.method == "tools/call" && mcp.protocolVersion >= "2025-06-18"', true],
    ['mcp.tool.name.startsWith("ticket_")', true],
    ['has(mcp.tool) && !has(mcp.resource) && !has(mcp.prompt)', true],
    ['mcp.tool.arguments.id == 7 && mcp.tool.arguments.amount < 100', true],
    ['"a" in mcp.tool.arguments.tags', true],
    ['!mcp.tool.arguments.dryRun', true],
    ['has(mcp.tool.arguments) && has(mcp.tool.arguments.id) && !has(mcp.tool.arguments.reason)', true],
    ['mcp.resource.uri == "x"', 'mcp.resource is absent: the message uses no resource'],
    ['mcp.prompt.name == "x"', 'mcp.prompt is absent: the message uses no prompt'],
    ['mcp.sessionId == "s-1"', true],
  ]);
  describe('without arguments', () => {
    run(
      [
        ['mcp.tool.arguments == {}', true],
        ['has(mcp.tool.arguments)', false],
        ['has(mcp.tool.arguments.id)', false],
        ['mcp.tool.arguments.id == 1', 'mcp.tool.arguments.id is absent'],
      ],
      createVariables({ mcp: { method: 'tools/call', protocolVersion: 'x', tool: { name: 't' }, sessionId: '' } }),
    );
  });
  describe('that uses nothing', () => {
    run(
      [
        ['mcp.tool.name == "x"', 'mcp.tool is absent: the message uses no tool'],
        ['has(mcp.tool)', false],
        ['has(mcp.tool.name)', 'mcp.tool is absent'],
        ['has(mcp.tool.arguments)', 'mcp.tool is absent'],
        ['has(mcp.tool.arguments.id)', 'mcp.tool is absent: the message uses no tool'],
        ['!has(mcp.tool) || mcp.tool.name == "x"', true],
        ['has(mcp.resource)', false],
      ],
      createVariables({ mcp: { method: 'ping', protocolVersion: 'x', sessionId: '' } }),
    );
  });
  describe('of a federation', () => {
    run(
      [
        ['mcp.target.name == "tickets" && mcp.target.tool == "close"', true],
        ['has(mcp.target) && has(mcp.target.tool) && !has(mcp.target.prompt) && !has(mcp.target.uri)', true],
        ['mcp.target.prompt == "x"', 'mcp.prompt is absent: the message uses no prompt'],
        ['mcp.target.uri == "x"', 'mcp.resource is absent: the message uses no resource'],
      ],
      createVariables({
        mcp: {
          method: 'tools/call',
          protocolVersion: 'x',
          tool: { name: 'tix_close' },
          target: { name: 'tickets', tool: 'close' },
          sessionId: '',
        },
      }),
    );
  });
  describe('without a federation', () => {
    run(
      [
        ['has(mcp.target)', false],
        ['mcp.target.name == "x"', 'mcp.target is absent: the message uses nothing of a target of a federation'],
        ['mcp.target.tool == "x"', 'mcp.target is absent: the message uses nothing of a target of a federation'],
      ],
      createVariables({ mcp: { method: 'tools/call', protocolVersion: 'x', tool: { name: 'a' }, sessionId: '' } }),
    );
  });
  describe('none at all', () => {
    run(
      [
        ['mcp.method == ""', 'there is no MCP message'],
        ['mcp.tool.arguments.id == 1', 'mcp.tool is absent: the message uses no tool'],
        ['has(mcp.tool)', 'mcp is absent'],
      ],
      createVariables({ mcp: undefined }),
    );
  });
});
