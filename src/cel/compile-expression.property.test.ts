// What holds for every expression: nothing throws, what the checker lets pass has the types it promised, and the other implementation agrees.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { celEnv, isCelError, parse, plan } from '@bufbuild/cel';
import * as fc from 'fast-check';
import { compileExpression } from './compile-expression.ts';
import { createVariables } from './testing/sample-variables.ts';
import { effort } from '../../test/kit/effort.ts';

/** The types that are made up. */
const kinds = ['bool', 'int', 'double', 'string', 'strings', 'ints', 'map', 'time', 'duration'] as const;

type RandomKind = (typeof kinds)[number];

interface RandomOptions {
  /** Expressions whose type is known before they are evaluated; undefined for none. */
  readonly attributes: Partial<Record<RandomKind, readonly string[]>>;
  /** How often an expression of another type stands where one type is wanted, in percent. */
  readonly mistakes: number;
  /** Leaves out extensions of the standard, and what implementations do differently. */
  readonly isPortable?: boolean;
}

const text = fc.constantFrom('', 'a', 'ab', 'b/c', 'é', '😀x', 'POST', '/mcp', '1', '2026-01-01T00:00:00Z');
const quoted = text.map((value) => JSON.stringify(value));

/** Expressions of type bool at the top, with others inside. */
function randomExpressions(options: RandomOptions): fc.Arbitrary<string> {
  return fc.letrec<Record<RandomKind | 'any', string>>((tie) => {
    const of = (kind: RandomKind): fc.Arbitrary<string> =>
      options.mistakes === 0
        ? tie(kind)
        : fc.oneof(
            { weight: 100 - options.mistakes, arbitrary: tie(kind) },
            { weight: options.mistakes, arbitrary: tie('any') },
          );
    const write = (template: string, ...parts: readonly RandomKind[]): fc.Arbitrary<string> =>
      fc
        .tuple(...parts.map(of))
        .map((values) => values.reduce((all, value) => all.replace('#', () => value), template));
    /** Elements of different types are no mistake, and leave the type of a list or map open. */
    const writeAlike = (template: string, ...parts: readonly RandomKind[]): fc.Arbitrary<string> =>
      fc
        .tuple(...parts.map((kind) => tie(kind)))
        .map((values) => values.reduce((all, value) => all.replace('#', () => value), template));
    const leaf = (kind: RandomKind, literals: fc.Arbitrary<string>): fc.Arbitrary<string> => {
      const attributes = options.attributes[kind] ?? [];
      return attributes.length === 0 ? literals : fc.oneof(literals, fc.constantFrom(...attributes));
    };
    const grow = (simple: fc.Arbitrary<string>, ...compound: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
      fc.oneof({ maxDepth: 4, depthIdentifier: 'expression' }, simple, ...compound);
    const disputed = (...arbitraries: readonly fc.Arbitrary<string>[]): readonly fc.Arbitrary<string>[] =>
      options.isPortable === true ? [] : arbitraries;
    return {
      bool: grow(
        leaf('bool', fc.constantFrom('true', 'false')),
        write('(# && #)', 'bool', 'bool'),
        write('(# || #)', 'bool', 'bool'),
        write('!#', 'bool'),
        write('(# ? # : #)', 'bool', 'bool', 'bool'),
        write('(# == #)', 'int', 'int'),
        write('(# != #)', 'string', 'string'),
        write('(# < #)', 'int', 'double'),
        write('(# >= #)', 'string', 'string'),
        write('(# <= #)', 'time', 'time'),
        write('(# > #)', 'duration', 'duration'),
        write('(# == #)', 'ints', 'ints'),
        write('(# == #)', 'map', 'map'),
        write('(# in #)', 'string', 'strings'),
        write('(# in #)', 'int', 'ints'),
        write('(# in #)', 'string', 'map'),
        write('#.startsWith(#)', 'string', 'string'),
        write('#.contains(#)', 'string', 'string'),
        write('#.endsWith(#)', 'string', 'string'),
        write('#.matches("^[a-z/]*$")', 'string'),
        write('#.all(s, s != #)', 'strings', 'string'),
        write('#.exists(i, i > #)', 'ints', 'int'),
        write('#.exists_one(i, i == #)', 'ints', 'int'),
        write('#.exists(k, k == #)', 'map', 'string'),
      ),
      int: grow(
        leaf('int', fc.integer({ min: -3, max: 3 }).map(String)),
        write('(# + #)', 'int', 'int'),
        write('(# - #)', 'int', 'int'),
        write('(# * #)', 'int', 'int'),
        write('(# / #)', 'int', 'int'),
        write('(# % #)', 'int', 'int'),
        write('(-#)', 'int'),
        write('size(#)', 'string'),
        write('#.size()', 'ints'),
        write('size(#)', 'map'),
        write('#[#]', 'ints', 'int'),
        write('#[#]', 'map', 'string'),
        write('#.a', 'map'),
        write('int(#)', 'double'),
        write('int(#)', 'duration'),
        write('(# ? # : #)', 'bool', 'int', 'int'),
        write('#.getHours()', 'time'),
        write('#.getMinutes("Europe/Berlin")', 'time'),
        ...disputed(write('#.indexOf(#)', 'string', 'string')),
      ),
      double: grow(
        leaf('double', fc.constantFrom('0.0', '1.5', '-2.25', '1e3')),
        write('(# + #)', 'double', 'double'),
        write('(# / #)', 'double', 'double'),
        write('double(#)', 'int'),
      ),
      string: grow(
        leaf('string', quoted),
        write('(# + #)', 'string', 'string'),
        write('string(#)', 'int'),
        write('string(#)', 'bool'),
        write('#[#]', 'strings', 'int'),
        ...disputed(
          write('string(#)', 'duration'),
          write('#.lowerAscii()', 'string'),
          write('#.trim()', 'string'),
          write('#.substring(#)', 'string', 'int'),
          write('#.join("-")', 'strings'),
          write('#.replace(#, "z")', 'string', 'string'),
        ),
      ),
      strings: grow(
        leaf(
          'strings',
          fc.array(quoted, { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
        ),
        write('(# + #)', 'strings', 'strings'),
        ...disputed(write('#.split(#)', 'string', 'string')),
        write('#.filter(s, s != #)', 'strings', 'string'),
        write('#.map(i, string(i))', 'ints'),
        write('#.map(k, k)', 'map'),
      ),
      ints: grow(
        leaf(
          'ints',
          fc.array(fc.integer({ min: -3, max: 3 }), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
        ),
        writeAlike('[#, #]', 'int', 'int'),
        write('(# + #)', 'ints', 'ints'),
        write('#.map(i, i + #)', 'ints', 'int'),
        write('#.map(i, i > #, i)', 'ints', 'int'),
        write('#.map(s, s.size())', 'strings'),
      ),
      map: grow(
        leaf('map', fc.constantFrom('{"a": 1}', '{"a": 1, "b": 2}', '{"é": 0}')),
        writeAlike('{#: #}', 'string', 'int'),
        writeAlike('{"a": #, #: 2}', 'int', 'string'),
      ),
      time: grow(
        leaf('time', fc.constantFrom('timestamp("2026-01-01T00:00:00Z")', 'timestamp("2026-06-01T12:00:00.5+02:00")')),
        write('(# + #)', 'time', 'duration'),
        write('(# - #)', 'time', 'duration'),
      ),
      duration: grow(
        leaf('duration', fc.constantFrom('duration("90s")', 'duration("-1h30m")', 'duration("1.5s")')),
        write('(# - #)', 'time', 'time'),
        write('(# + #)', 'duration', 'duration'),
      ),
      any: fc.oneof({ maxDepth: 4, depthIdentifier: 'expression' }, ...kinds.map((kind) => tie(kind))),
    };
  }).bool;
}

/** Attributes whose types are declared. */
const declared = {
  string: ['request.method', 'request.path', 'source.address', 'request.headers["x-team"]', 'mcp.tool.name'],
  time: ['request.time'],
} as const;

/** The same with claims, which may be of any type. */
const claims = ['jwt.a', 'jwt.b.c', 'jwt["d"]', 'jwt.missing', 'mcp.tool.arguments.x'];
const undeclared = Object.fromEntries(
  ['bool', 'int', 'double', 'string', 'strings', 'ints', 'map', 'time', 'duration'].map((kind) => [kind, claims]),
);

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>;
const variables = fc
  .record({ a: json, b: fc.oneof(json, fc.record({ c: json })), d: json, __proto__: json })
  .map((jwt) =>
    createVariables({
      jwt,
      mcp: { method: 'tools/call', protocolVersion: '', tool: { name: 't', arguments: { x: jwt.a } }, sessionId: '' },
    }),
  );

describe('every text', () => {
  const mutated = fc
    .tuple(
      randomExpressions({ attributes: undeclared, mistakes: 5 }),
      fc.nat(200),
      fc.nat(5),
      fc.string({ maxLength: 4 }),
    )
    .map(([source, at, length, inserted]) => source.slice(0, at) + inserted + source.slice(at + length));
  const soup = fc
    .array(
      fc.constantFrom(
        ...'jwt request mcp . .. , ( ) [ ] { } ? : && || ! - + * / % == != < <= in has all exists map size 1 1u 0x1 1.5 "a" \' " """ r" b\'\\ \\ \n // @ ` = & | true null _ é 😀 x'.split(
          ' ',
        ),
      ),
      { maxLength: 25 },
    )
    .map((tokens) => tokens.join(' '));

  test('compiles, or has a problem at a place that exists', () => {
    fc.assert(
      fc.property(fc.oneof(mutated, soup, fc.string({ unit: 'binary', maxLength: 40 })), (source) => {
        const compiled = compileExpression(source, 'mcp');
        if (compiled.ok) return;
        const { message, line, column } = compiled.problem;
        assert.ok(message.length > 0 && message.length < 400, message);
        const lines = source.split('\n');
        assert.ok(line >= 1 && line <= lines.length, `line ${line}`);
        assert.ok(column >= 1 && column <= Array.from(lines[line - 1]!).length + 1, `column ${column}`);
        assert.doesNotMatch(message, /undefined|\[object|NaN|cannot be read from here on.*undefined/);
      }),
      { numRuns: effort(2_000, 400) },
    );
  });
});

describe('every expression that compiles', () => {
  test('gives a boolean or a problem, whatever the claims are', () => {
    let compiledCount = 0;
    fc.assert(
      fc.property(randomExpressions({ attributes: undeclared, mistakes: 3 }), variables, (source, values) => {
        const compiled = compileExpression(source, 'mcp');
        if (!compiled.ok) return;
        compiledCount += 1;
        const outcome = compiled.expression.evaluate(values);
        if (outcome.ok) assert.equal(typeof outcome.value, 'boolean');
        else assert.doesNotMatch(outcome.problem, /^cannot be evaluated|undefined|\[object/);
      }),
      { numRuns: effort(2_000, 400) },
    );
    assert.ok(compiledCount > 300, `${compiledCount} compiled`);
  });

  test('has the types that the checker promised, when nothing is left open', () => {
    const mistyped =
      /is not defined for|needs true or false|has no fields|lists and maps|is indexed by|gives|asks for|needs a list|key of a map is|has no keys/;
    let compiledCount = 0;
    fc.assert(
      fc.property(randomExpressions({ attributes: declared, mistakes: 3 }), (source) => {
        const compiled = compileExpression(source, 'mcp');
        if (!compiled.ok) return;
        compiledCount += 1;
        const outcome = compiled.expression.evaluate(createVariables());
        if (!outcome.ok) assert.doesNotMatch(outcome.problem, mistyped, source);
      }),
      { numRuns: effort(2_500, 400) },
    );
    assert.ok(compiledCount > 300, `${compiledCount} compiled`);
  });

  test('means the same to @bufbuild/cel', () => {
    const environment = celEnv();
    let compared = 0;
    fc.assert(
      fc.property(randomExpressions({ attributes: {}, mistakes: 1, isPortable: true }), (source) => {
        const compiled = compileExpression(source, 'request');
        if (!compiled.ok) return;
        const ours = compiled.expression.evaluate(createVariables());
        const theirs = plan(environment, parse(source))();
        // They take texts for numbers that are none: an empty one for 0, others for NaN. That ours does not, expression-values.test.ts shows.
        if (!ours.ok && /^the text is not a (?:whole )?number$/.test(ours.problem)) return;
        compared += 1;
        if (isCelError(theirs)) assert.equal(ours.ok, false, `${source}: they say ${theirs.message}`);
        else assert.deepEqual(ours, { ok: true, value: theirs }, source);
      }),
      { numRuns: effort(2_500, 400) },
    );
    assert.ok(compared > effort(500, 100), `${compared} compared`);
  });
});
