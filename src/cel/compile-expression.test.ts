// Which expressions are taken, and what is said about the others: where it is wrong, and what would be right.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileExpression, maxExpressionLength } from './compile-expression.ts';
import type { ExpressionScope } from './expression.ts';

/** "line:column message", or undefined for one that compiles. */
function findProblem(source: string, scope: ExpressionScope = 'request'): string | undefined {
  const compiled = compileExpression(source, scope);
  return compiled.ok ? undefined : `${compiled.problem.line}:${compiled.problem.column} ${compiled.problem.message}`;
}

function refuse(cases: readonly (readonly [source: string, expected: string])[]): void {
  for (const [source, expected] of cases)
    test(`${JSON.stringify(source)} -> ${expected}`, () => assert.equal(findProblem(source), expected));
}

describe('refused', () => {
  describe('syntax', () =>
    refuse([
      ['jwt.team == ', '1:13 expected a value, found the end'],
      ['jwt.team &&', '1:12 expected a value, found the end'],
      ['&& jwt.team', '1:1 expected a value, found "&&"'],
      ['jwt.team == "a" "b"', '1:17 expected an operator or the end, found "b"'],
      ['(jwt.team == "a"', '1:1 "(" is never closed'],
      ['jwt.team == "a")', '1:16 ")" closes nothing'],
      ['[1, 2) == []', '1:6 expected "]", found ")"'],
      ['jwt.groups[0 == "a"', '1:11 "[" is never closed'],
      ['{"a": 1, "b"} == {}', '1:13 expected ":" and a value, found "}"'],
      ['{"a" 1} == {}', '1:6 expected ":" and a value, found "1"'],
      ['[1 2] == []', '1:4 expected "," or "]", found "2"'],
      ['size(1 2) == 1', '1:8 expected "," or ")", found "2"'],
      ['size(,) == 1', '1:6 expected a value, found ","'],
      ['size("a",) == 1', '1:10 expected a value, found ")"'],
      ['jwt.level > 2 ? true', '1:21 expected ":" and the value for the other case, found the end'],
      ['jwt.level > 2 ? true : ', '1:24 expected a value, found the end'],
      ['jwt.level > 2 ? : true', '1:17 expected a value, found ":"'],
      ['jwt.a ? jwt.b ? 1 : 2 : 3', '1:15 put the inner condition in brackets'],
      ['jwt.. team == 1', '1:5 expected the name of a field after ".", found "."'],
      ['jwt. == 1', '1:6 expected the name of a field after ".", found "=="'],
      ['jwt.level == 0x', '1:15 expected an operator or the end, found "x"'],
      ['jwt.level == 1.', '1:16 expected the name of a field after ".", found the end'],
      ['1 + ', '1:5 expected a value, found the end'],
      ['!', '1:2 expected a value, found the end'],
      ['-', '1:2 expected a value, found the end'],
      ['', '1:1 expected a value, found the end'],
      ['   ', '1:4 expected a value, found the end'],
      ['// only a comment', '1:18 expected a value, found the end'],
      ['in == 1', '1:1 expected a value, found "in"'],
      ['.1.2 == 1', '1:3 expected an operator or the end, found ".2"'],
      // Valid, but not to the parser.
      ['- - 1 == 1', '1:3 the expression cannot be parsed from here on'],
      ['.(1)', '1:2 expected the name of a variable after ".", found "("'],
    ]));

  describe('what other languages write', () =>
    refuse([
      ['jwt.team = "a"', '1:10 "=" has no meaning here; write == to compare'],
      ['jwt.team === "a"', '1:12 "=" has no meaning here; write == to compare'],
      ['jwt.a & jwt.b', '1:7 "&" has no meaning here; write && for "and"'],
      ['jwt.a | jwt.b', '1:7 "|" has no meaning here; write || for "or"'],
      ['jwt.a and jwt.b', '1:7 expected an operator or the end, found "and"; write && for "and"'],
      ['not jwt.a', '1:5 expected an operator or the end, found "jwt"; write ! for "not"'],
      ['jwt.a or jwt.b', '1:7 expected an operator or the end, found "or"; write || for "or"'],
      [
        'jwt.groups contains "x"',
        '1:12 expected an operator or the end, found "contains"; write it as a call: a.contains(b)',
      ],
      ['jwt.team is null', '1:10 expected an operator or the end, found "is"; write == to compare'],
      ['jwt.team == “a”', '1:13 "“" has no meaning here; write texts in plain quotes: "..."'],
      ['jwt.team == `a`', '1:13 "`" has no meaning here; write texts in quotes: "...", and odd names as jwt["..."]'],
      ['jwt.a; jwt.b', '1:6 ";" has no meaning here'],
      ['@jwt == 1', '1:1 "@" has no meaning here'],
      ['#comment', '1:1 "#" has no meaning here'],
      ['jwt.in == 1', '1:5 "in" is a word of CEL; write ["in"]'],
      ['jwt.true == 1', '1:5 "true" is a word of CEL; write ["true"]'],
      ['for == 1', '1:1 "for" is a reserved word'],
      ['if (jwt.a) true', '1:1 "if" is a reserved word'],
      ['truex == 1', '1:1 "truex" cannot be a name, because it begins with true or false'],
      ['jwt.?team == "a"', '1:5 expected the name of a field after ".", found "?"'],
      ['jwt[?"team"] == "a"', '1:5 expected a value, found "?"'],
    ]));

  describe('literals', () =>
    refuse([
      ["jwt.team == 'a", "1:13 the text that begins here is not closed: expected '"],
      ['jwt.team == "a\'', '1:13 the text that begins here is not closed: expected "'],
      ['jwt.team == "a\nb"', '1:13 the text that begins here is not closed: expected "'],
      ['jwt.team == """a\nb" && true', '1:13 the text that begins here is not closed: expected """'],
      [
        'jwt.team == "\\d"',
        '1:14 \\d is not an escape; write \\\\ for a backslash, or r"..." for a text without escapes',
      ],
      ['jwt.team == "\\u00"', '1:14 \\u needs four hexadecimal digits'],
      ['jwt.team == "\\x1"', '1:14 \\x needs two hexadecimal digits'],
      ['jwt.team == "\\ud800"', '1:14 \\ud800 is not a character'],
      ['jwt.team == "\\U00110000"', '1:14 \\U00110000 is not a character'],
      ['jwt.team == b"\\u0041"', '1:15 \\u is for texts; bytes take \\x and two hexadecimal digits'],
      [
        'jwt.team == "\\400"',
        '1:14 \\4 is not an escape; write \\\\ for a backslash, or r"..." for a text without escapes',
      ],
      ['jwt.level == 9223372036854775808', '1:14 the number does not fit into 64 bits'],
      ['jwt.level == -9223372036854775809', '1:14 the number does not fit into 64 bits'],
      ['jwt.level == 18446744073709551616u', '1:14 the number does not fit into 64 bits'],
    ]));

  describe('lines and columns', () =>
    refuse([
      ['request.method == "GET" &&\n  request.pth == "/"\n', '2:11 request has no field "pth"; did you mean path?'],
      ['"é😀" == jwt.name && x', '1:21 there is no variable "x"; there are jwt, request and source'],
      ['request.method\r\n  == 1', '2:3 == compares a string with an int, which are never equal'],
      ['// why\n\nrequest.method &&\n\ttrue', '3:1 && needs true or false, request.method is a string'],
      ['jwt.a // == 1\n  && y', '2:6 there is no variable "y"; there are jwt, request and source'],
      ['request\n.headers\n  . Team == "x"', '3:5 names of headers are in lower case here: write "team"'],
    ]));

  describe('variables and fields', () =>
    refuse([
      ['x == 1', '1:1 there is no variable "x"; there are jwt, request and source'],
      ['jwtt.a == 1', '1:1 there is no variable "jwtt"; did you mean jwt?'],
      ['Jwt.a == 1', '1:1 there is no variable "Jwt"; did you mean jwt?'],
      ['.requst.method == "GET"', '1:1 there is no variable "requst"; did you mean request?'],
      ['request.headrs["a"] == "b"', '1:9 request has no field "headrs"; did you mean headers?'],
      [
        'request.foo == 1',
        '1:9 request has no field "foo"; it has method, path, host, scheme, headers, query and time',
      ],
      ['source.ip == "1"', '1:8 source has no field "ip"; it has address'],
      ['source == "1"', '1:1 source is not a value by itself; ask for a field of it, such as source.address'],
      ['request["method"] == "GET"', '1:8 request has fields, not keys; write request.method'],
      ['has(request)', '1:1 has() asks for a field: has(jwt.team); for other names write "x-team" in request.headers'],
      ['has(request.metod)', '1:13 request has no field "metod"; did you mean method?'],
      ['mcp.method == "x"', '1:1 mcp is only available in rules over MCP messages (backend.mcp.authorization)'],
      [
        'request.method == mcp.method',
        '1:19 mcp is only available in rules over MCP messages (backend.mcp.authorization)',
      ],
      ['google.protobuf.Struct == 1', '1:1 there is no variable "google"; there are jwt, request and source'],
      ['strings.quote("a") == "a"', '1:9 there is no function quote()'],
      ['cel.bind(x, 1, x == 1)', '1:5 there is no function bind()'],
      ['Foo{a: 1} == 1', '1:1 rules cannot make messages such as Foo; write a map: {"name": value}'],
      [
        'google.protobuf.Timestamp{seconds: 1} == request.time',
        '1:1 rules cannot make messages such as google.protobuf.Timestamp; write a map: {"name": value}',
      ],
      ['{request: 1} == {}', '1:2 request is not a value by itself; ask for a field of it, such as request.method'],
      ['[request] == []', '1:2 request is not a value by itself; ask for a field of it, such as request.method'],
      [
        'type(request) == string',
        '1:6 request is not a value by itself; ask for a field of it, such as request.method',
      ],
      [
        'dyn(request.method) == request',
        '1:24 request is not a value by itself; ask for a field of it, such as request.method',
      ],
    ]));

  describe('names of headers', () =>
    refuse([
      ['request.headers["X-Team"] == "a"', '1:17 names of headers are in lower case here: write "x-team"'],
      ['request.headers.Authorization == "a"', '1:17 names of headers are in lower case here: write "authorization"'],
      ['"X-Team" in request.headers', '1:1 names of headers are in lower case here: write "x-team"'],
      ['has(request.headers.Authorization)', '1:21 names of headers are in lower case here: write "authorization"'],
      [
        'request.headers.x-team == "a"',
        '1:19 there is no variable "team"; a name with a hyphen is written request.headers["x-team"]',
      ],
      [
        'jwt.realm-access == 1',
        '1:11 there is no variable "access"; a name with a hyphen is written jwt["realm-access"]',
      ],
    ]));

  describe('macros', () =>
    refuse([
      ['has(jwt)', '1:1 has() asks for a field: has(jwt.team); for other names write "x-team" in request.headers'],
      ['has(jwt["a"])', '1:1 has() asks for a field: has(jwt.team); for other names write "x-team" in request.headers'],
      ['has()', '1:1 has() asks for a field: has(jwt.team); for other names write "x-team" in request.headers'],
      [
        'has(jwt.a, jwt.b)',
        '1:1 has() asks for a field: has(jwt.team); for other names write "x-team" in request.headers',
      ],
      ['jwt.groups.all(g)', '1:12 write all() with a name for the elements: jwt.groups.all(g, g != "x")'],
      ['jwt.groups.all("g", true)', '1:12 write all() with a name for the elements: jwt.groups.all(g, g != "x")'],
      ['jwt.groups.all(g.x, true)', '1:12 write all() with a name for the elements: jwt.groups.all(g, g != "x")'],
      ['jwt.groups.map(g) == []', '1:12 write map() with a name for the elements: jwt.groups.map(g, g + "!")'],
      ['jwt.groups.exists(g, h == 1)', '1:22 there is no variable "h"; did you mean g?'],
      ['jwt.groups.exists(g, g == 1) && g == 2', '1:33 there is no variable "g"; there are jwt, request and source'],
      ['jwt.groups.exists(group, grup == "a")', '1:26 there is no variable "grup"; did you mean group?'],
      ['request.method.all(m, true)', '1:16 all() needs a list or a map, request.method is a string'],
      ['[1].all(x, x)', '1:12 all() asks for true or false, found an int'],
      ['[1].all(x, x == "a")', '1:14 == compares an int with a string, which are never equal'],
      ['[1].map(x, x.y) == []', '1:14 x is an int, and has no fields'],
      ['["a"].exists(x, x > 1)', '1:19 > is not defined for a string and an int'],
      ['[1].filter(x, x + 1) == []', '1:15 filter() asks for true or false, found an int'],
      ['{"a": 1}.all(k, k > 1)', '1:19 > is not defined for a string and an int'],
      ['[1].map(a, [2].map(b, [3].map(c, [4].map(d, [5].map(e, e))))) == []', '1:49 loops are nested more than 4 deep'],
    ]));

  describe('functions', () =>
    refuse([
      ['foo(1)', '1:1 there is no function foo()'],
      ['jwt.groups.each(g, true)', '1:12 there is no function each()'],
      ['request.method.contians("x")', '1:16 there is no function contians(); did you mean contains()?'],
      ['jwt.size(1) == 1', '1:5 size() takes 0 arguments, found 1'],
      ['size() == 1', '1:1 size() takes 1 argument, found 0'],
      ['size(1) == 1', '1:1 size() is not defined for an int'],
      ['size(request.method, 1) == 1', '1:1 size() takes 1 argument, found 2'],
      ['startsWith("a", "b")', '1:1 startsWith() is a method; write a.startsWith(b)'],
      ['"a".int() == 1', '1:5 int() is not a method; write int(a)'],
      ['"a".startsWith()', '1:5 startsWith() takes 1 argument, found 0'],
      ['"a".startsWith("b", "c")', '1:5 startsWith() takes 1 argument, found 2'],
      ['"a".startsWith(1)', '1:5 startsWith() is not defined for a string and an int; it takes a string and a string'],
      ['"a".substring() == "a"', '1:5 substring() takes 1 or 2 arguments, found 0'],
      [
        'request.method.contains(request.time)',
        '1:16 contains() is not defined for a string and a timestamp; it takes a string and a string; times are written timestamp("2030-01-31T09:00:00Z")',
      ],
      ['request.time.getHour() == 1', '1:14 there is no function getHour(); did you mean getHours()?'],
      [
        'request.time.getHours(1) == 1',
        '1:14 getHours() is not defined for a timestamp and an int; it takes a timestamp and a string; times are written timestamp("2030-01-31T09:00:00Z")',
      ],
      ['[1].join() == "a"', '1:5 join() is not defined for a list of ints; it takes a list of strings'],
      ['source.address.inNetwork("10.0.0.0/8")', '1:16 inNetwork() is not a method; write inNetwork(a, b)'],
      [
        'inNetwork(source.address, 10)',
        '1:1 inNetwork() is not defined for a string and an int; it takes a string and a string',
      ],
      ['inNetwork(source.address)', '1:1 inNetwork() takes 2 arguments, found 1'],
    ]));

  describe('operators', () =>
    refuse([
      ['request.method + 1 == ""', '1:16 + is not defined for a string and an int'],
      [
        'request.time + 1 == request.time',
        '1:14 + is not defined for a timestamp and an int; durations are written duration("1h30m")',
      ],
      [
        'request.time - "1h" == request.time',
        '1:14 - is not defined for a timestamp and a string; durations are written duration("1h30m")',
      ],
      [
        'request.time < "2026-01-01T00:00:00Z"',
        '1:14 < is not defined for a timestamp and a string; times are written timestamp("2030-01-31T09:00:00Z")',
      ],
      [
        'request.time > 1893456000',
        '1:14 > is not defined for a timestamp and an int; times are written timestamp("2030-01-31T09:00:00Z")',
      ],
      [
        'duration("1h") > 5',
        '1:16 > is not defined for a duration and an int; durations are written duration("1h30m")',
      ],
      ['1 == "a"', '1:3 == compares an int with a string, which are never equal'],
      ['1 == 1.0', '1:3 == compares an int with a double; make them one type with int() or double()'],
      ['1 == 1u', '1:3 == compares an int with a uint; make them one type with int() or uint()'],
      ['"a" == null', '1:5 == compares a string with null, which are never equal'],
      ['request.method == ["GET"]', '1:16 == compares a string with a list of strings, which are never equal'],
      ['[1] == ["a"]', '1:5 == compares a list of ints with a list of strings, which are never equal'],
      ['{"a": 1} == {"a": "b"}', '1:10 == compares a map of ints with a map of strings, which are never equal'],
      ['{"a": 1} == {1: 1}', '1:10 == compares a map of ints with a map from ints to ints, which are never equal'],
      ['"a" in "abc"', '1:5 in needs a list or a map, the value is a string; for a part of a text write a.contains(b)'],
      [
        '"a" in request.method',
        '1:5 in needs a list or a map, request.method is a string; for a part of a text write a.contains(b)',
      ],
      ['1 in ["a"]', '1:3 in looks for an int among strings, which are never equal'],
      ['1 in [1.5]', '1:3 in looks for an int among doubles; make them one type with double() or int()'],
      ['1 in request.headers', '1:3 in looks for an int among strings, which are never equal'],
      ['"a" in 1', '1:5 in needs a list or a map, the value is an int'],
      ['!request.method', '1:1 ! is not defined for a string; it takes a bool'],
      ['-request.method == ""', '1:1 - is not defined for a string'],
      ['!1', '1:1 ! is not defined for an int; it takes a bool'],
      ['request.method && true', '1:1 && needs true or false, request.method is a string'],
      ['true || request.method', '1:9 || needs true or false, request.method is a string'],
      ['request.method ? true : false', '1:1 ?: needs true or false, request.method is a string'],
      ['true ? 1 : "a"', '1:12 both values of a condition must be of one type, found an int and a string'],
      ['(true ? 1 : 2) == "a"', '1:16 == compares an int with a string, which are never equal'],
      ['1 + 1u == 2', '1:3 + is not defined for an int and a uint'],
      ['1.5 % 2.0 == 1.0', '1:5 % is not defined for a double and a double'],
    ]));

  describe('elements', () =>
    refuse([
      ['request.method.x == 1', '1:16 request.method is a string, and has no fields'],
      ['request.method[0] == "G"', '1:15 request.method is a string, and only lists and maps have elements'],
      ['[1]["a"] == 1', '1:5 a list is indexed by an int, found a string'],
      ['[1, 2][1.0] == 1', '1:8 a list is indexed by an int, found a double'],
      ['{"a": 1}[1] == 1', '1:10 the keys of the map are strings, found an int'],
      ['request.headers[1] == "a"', '1:17 the keys of the map are strings, found an int'],
      ['{1: 2}.a == 1', '1:8 the value is a map from ints to ints, and has no fields'],
      ['{1.5: 1} == {}', '1:2 a key of a map is a string, int, uint or bool, found a double'],
      ['{[1]: 1} == {}', '1:2 a key of a map is a string, int, uint or bool, found a list of ints'],
    ]));

  describe('arguments that are written out', () =>
    refuse([
      ['request.path.matches("(")', '1:22 the pattern is not a regular expression of RE2: missing closing ): `(`'],
      ['request.path.matches(jwt.pattern)', '1:22 the pattern must be a string literal, so that it is compiled once'],
      ['request.path.matches("a" + "b")', '1:22 the pattern must be a string literal, so that it is compiled once'],
      [
        'request.path.matches("(a{500}){2}|(b{500}){2}|c{500}|d{500}")',
        '1:22 the pattern is too large: 3013 steps, at most 1000',
      ],
      ['matches(request.path, "[")', '1:23 the pattern is not a regular expression of RE2: missing closing ]: `[`'],
      ['timestamp("tomorrow") < request.time', '1:11 the text is not a time such as 2030-01-31T09:00:00Z'],
      ['timestamp("2026-02-30T00:00:00Z") < request.time', '1:11 the text is not a time such as 2030-01-31T09:00:00Z'],
      ['timestamp("2026-01-01T24:00:00Z") < request.time', '1:11 the text is not a time such as 2030-01-31T09:00:00Z'],
      ['timestamp("2026-01-01") < request.time', '1:11 the text is not a time such as 2030-01-31T09:00:00Z'],
      ['duration("1 hour") < duration("1s")', '1:10 the text is not a duration such as 90s or 1h30m'],
      ['duration("1d") < duration("1s")', '1:10 the text is not a duration such as 90s or 1h30m'],
      ['int("x") == 1', '1:5 the text is not a whole number'],
      ['uint("-1") == 1u', '1:6 the text is not a whole number'],
      ['double("x") == 1.0', '1:8 the text is not a number'],
      ['bool("yes")', '1:6 the text is neither true nor false'],
      [
        'request.time.getHours("Mars/Olympus") == 1',
        '1:23 the text is not a time zone such as Europe/Berlin or +02:00',
      ],
      [
        'inNetwork(source.address, "10.0.0.0/33")',
        '1:27 the text is not a network such as 10.0.0.0/8 or 2001:db8::/32, without bits after the prefix',
      ],
      [
        'inNetwork(source.address, "10.0.0.1/8")',
        '1:27 the text is not a network such as 10.0.0.0/8 or 2001:db8::/32, without bits after the prefix',
      ],
      [
        'inNetwork(source.address, "localhost")',
        '1:27 the text is not a network such as 10.0.0.0/8 or 2001:db8::/32, without bits after the prefix',
      ],
      ['inNetwork("10.0.0", "10.0.0.0/8")', '1:11 the text is not an IP address'],
    ]));

  describe('results that are neither true nor false', () =>
    refuse([
      ['1', '1:1 the expression gives an int, not true or false'],
      ['"a"', '1:1 the expression gives a string, not true or false'],
      ['[true]', '1:1 the expression gives a list of bools, not true or false'],
      ['{}', '1:1 the expression gives a map, not true or false'],
      ['null', '1:1 the expression gives null, not true or false'],
      ['int', '1:1 the expression gives a type, not true or false'],
      ['jwt', '1:1 the expression gives a map, not true or false'],
      ['request.time', '1:1 the expression gives a timestamp, not true or false'],
      ['request.time - request.time', '1:1 the expression gives a duration, not true or false'],
      ['jwt.groups.filter(g, true)', '1:1 the expression gives a list, not true or false'],
      ['jwt.groups.map(g, g == "a")', '1:1 the expression gives a list of bools, not true or false'],
      ['request.headers', '1:1 the expression gives a map of strings, not true or false'],
      ['true ? "a" : "b"', '1:1 the expression gives a string, not true or false'],
      ['  request.method  ', '1:3 the expression gives a string, not true or false'],
    ]));

  describe('in rules over messages', () => {
    for (const [source, expected] of [
      ['mcp.tools.name == "x"', '1:5 mcp has no field "tools"; did you mean tool?'],
      ['mcp.tool.nmae == "x"', '1:10 mcp.tool has no field "nmae"; did you mean name?'],
      ['mcp.tool == "x"', '1:1 mcp.tool is not a value by itself; ask for a field of it, such as mcp.tool.name'],
      ['mcp.tool in ["x"]', '1:1 mcp.tool is not a value by itself; ask for a field of it, such as mcp.tool.name'],
      ['"x" in mcp.tool', '1:8 mcp.tool is not a value by itself; ask for a field of it, such as mcp.tool.name'],
      ['mcp.tool.arguments == 1', '1:20 == compares a map with an int, which are never equal'],
      ['mcp.resource.url == "x"', '1:14 mcp.resource has no field "url"; did you mean uri?'],
      ['mcp["method"] == "x"', '1:4 mcp has fields, not keys; write mcp.method'],
    ] as const)
      test(`${source} -> ${expected}`, () => assert.equal(findProblem(source, 'mcp'), expected));
  });
});

describe('taken', () => {
  for (const source of [
    'true',
    'jwt.admin',
    'jwt["https://example.com/admin"]',
    ' jwt . team\n== "a" // of the team',
    'jwt.groups.exists(jwt, jwt == "a")',
    'jwt.groups.exists(g, .jwt.sub == g)',
    'jwt.a == null && jwt.b == 1 && jwt.c == 1.5 && jwt.d == ["x"]',
    '[1, "a", true] == jwt.mixed && {"a": 1, "b": "c"} == jwt.map',
    'jwt.level > 1 && jwt.level > 1.5 && jwt.level > 1u',
    '(jwt.vip ? 10 : jwt.level) > 3',
    '(jwt.vip ? "a" : jwt.team) == "a"',
    '[] == [1] && {} == {"a": 1}',
    '"a" in [] && "a" in {}',
    'type(jwt.sub) == string && type(jwt.sub) != int',
    'request.time - timestamp(jwt.iat) < duration("8h")',
    'request.headers == {"a": "b"}',
    'request.headers.all(name, name.startsWith("x-"))',
    'jwt[request.method] == 1',
    'dyn(1) == "a"',
    'jwt.loop == 1 && jwt.namespace == 1 && jwt.trueish && jwt.inherited',
    '!!jwt.admin && --1 == 1',
    Array.from({ length: 150 }, (_, index) => `jwt.sub == "user-${index}"`).join(' || '),
    `${'('.repeat(64)}true${')'.repeat(64)}`,
    `"${'a'.repeat(maxExpressionLength - 9)}" != ""`,
  ])
    test(source.length > 80 ? `${source.slice(0, 60)}... (${source.length})` : source, () =>
      assert.equal(findProblem(source), undefined),
    );
});

describe('too much for a rule', () => {
  const depth = (count: number): string => `${'('.repeat(count)}true${')'.repeat(count)}`;
  for (const [name, source, expected] of [
    ['length', `"${'a'.repeat(maxExpressionLength - 7)}" != ""`, '1:1 the expression has more than 4096 characters'],
    ['brackets', depth(65), '1:65 brackets and conditions are nested more than 64 deep'],
    ['brackets, many', depth(2000), '1:65 brackets and conditions are nested more than 64 deep'],
    [
      'lists',
      `${'['.repeat(300)}1${']'.repeat(300)} == []`,
      '1:65 brackets and conditions are nested more than 64 deep',
    ],
    [
      'conditions',
      `${'jwt.a ? true : '.repeat(65)}false`,
      '1:967 brackets and conditions are nested more than 64 deep',
    ],
    ['sums', `${'1 + '.repeat(101)}1 == 1`, '1:3 the expression is nested more than 100 deep'],
    ['fields', `jwt${'.a'.repeat(102)}`, '1:4 the expression is nested more than 100 deep'],
  ] as const)
    test(name, () => assert.equal(findProblem(source), expected));

  test('conditions beside each other are not nested', () =>
    assert.equal(findProblem(`[${'jwt.a ? 1 : 2, '.repeat(70)}3] == []`), undefined));
});

describe('what an expression reads', () => {
  const cases: readonly (readonly [source: string, ...reads: string[]])[] = [
    ['true'],
    ['jwt.groups == []', 'jwt.groups'],
    ['"support" in jwt.groups', 'jwt.groups'],
    ['jwt.realm_access.roles[0] == "a"', 'jwt.realm_access.roles'],
    ['jwt["https://x/roles"].admin', 'jwt.https://x/roles.admin'],
    ['has(jwt.team) && jwt.team == "a"', 'jwt.team'],
    ['has(jwt.a.b)', 'jwt.a.b'],
    ['"team" in jwt', 'jwt.team'],
    ['jwt.sub in jwt', 'jwt.sub', 'jwt'],
    ['jwt[request.method] == 1', 'request.method', 'jwt'],
    ['jwt.size() > 2 && jwt.all(k, jwt[k] != null)', 'jwt'],
    ['jwt.groups.exists(g, g == "a" || g.name == jwt.sub)', 'jwt.groups', 'jwt.sub'],
    ['jwt.groups.exists(jwt, jwt.x == request.method)', 'jwt.groups', 'request.method'],
    ['jwt.groups.exists(g, .jwt.x == g)', 'jwt.groups', 'jwt.x'],
    ['(jwt.a ? jwt.b : jwt.c).d == 1', 'jwt.a', 'jwt.b', 'jwt.c'],
    ['jwt.name.startsWith(jwt.tenant)', 'jwt.name', 'jwt.tenant'],
    ['request.headers["x-team"] == request.query.team', 'request.headers.x-team', 'request.query.team'],
    ['"x-team" in request.headers', 'request.headers.x-team'],
    ['request.headers.exists(h, h == "a")', 'request.headers'],
    ['request.time < timestamp(jwt.exp)', 'request.time', 'jwt.exp'],
    ['source.address == "::1"', 'source.address'],
    ['has(mcp.tool)', 'mcp.tool'],
    ['has(mcp.tool) && mcp.tool.name == "a"', 'mcp.tool', 'mcp.tool.name'],
    ['mcp.tool.arguments.amount < 5', 'mcp.tool.arguments.amount'],
    ['has(mcp.tool.arguments.amount)', 'mcp.tool.arguments.amount'],
    ['has(mcp.tool.arguments)', 'mcp.tool.arguments'],
    ['size(mcp.tool.arguments) == 0', 'mcp.tool.arguments'],
    ['mcp.resource.uri.startsWith("file:") || mcp.prompt.name == "a"', 'mcp.resource.uri', 'mcp.prompt.name'],
    ['[jwt.a, jwt.b] == [] && {"k": jwt.c} == {}', 'jwt.a', 'jwt.b', 'jwt.c'],
    ['jwt.x.y.z == 1 && jwt.x.y == 2', 'jwt.x.y.z', 'jwt.x.y'],
    ['jwt.x.filter(i, i > 1)[0] == 1', 'jwt.x'],
  ];
  for (const [source, ...reads] of cases)
    test(source, () => {
      const compiled = compileExpression(source, 'mcp');
      assert.ok(compiled.ok);
      assert.deepEqual(
        compiled.expression.reads.map((path) => path.join('.')),
        reads,
      );
    });
});
