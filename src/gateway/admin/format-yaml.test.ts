import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import { formatYaml, type YamlValue } from './format-yaml.ts';

const value: YamlValue = {
  name: 'tickets',
  url: 'https://idp.example:8443/keys',
  port: 80,
  isOn: true,
  truth: 'true',
  nothing: undefined,
  empty: [],
  none: {},
  expression: '"admins" in jwt.groups',
  lines: 'first\n  second',
  rules: [{ matches: [{ path: '/a' }], weight: 0 }, 'text', ['nested']],
};

test('resources look as people write them', () => {
  assert.equal(
    formatYaml(value),
    `name: tickets
url: https://idp.example:8443/keys
port: 80
isOn: true
truth: "true"
empty: []
none: {}
expression: '"admins" in jwt.groups'
lines: |-
  first
    second
rules:
- matches:
  - path: /a
  weight: 0
- text
- - nested`,
  );
});

test('whatever is written is read again as it was', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('a', '\n', ' ', ':', '#', '-', "'", '"', '\\', '~', '0') }),
  );
  const { tree } = fc.letrec((tie) => ({
    leaf: fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)),
    tree: fc.oneof(
      { depthSize: 'small' },
      tie('leaf'),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(text, tie('tree'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(
      fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), tree, { maxKeys: 3, noNullPrototype: true }),
      (written) => {
        assert.deepEqual(parse(formatYaml(written as YamlValue)) ?? {}, written);
      },
    ),
    { numRuns: 300, seed: 1 },
  );
});
