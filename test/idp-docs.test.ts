// The pages of docs/idp: what they show of the product and of the test application is what those have. The compatibility suite runs the rest against the real ones.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findPreset, listPresetNames } from '../src/gateway/authentication/login/idp/presets.ts';
import { readBlocks } from './idp/page-blocks.ts';

const root = join(import.meta.dirname, '..');
const pages = globSync('docs/idp/*.md', { cwd: root }).map((page) => page.slice('docs/'.length));

test('there is a page for each identity provider', () => {
  assert.deepEqual(pages.map((page) => page.slice('idp/'.length)).toSorted(), [
    'any-other.md',
    'dex.md',
    'entra.md',
    'github.md',
    'google.md',
    'keycloak.md',
    'okta-auth0.md',
    'spring.md',
  ]);
});

test('each says when refresh tokens come, and what clocks have to do with it', () => {
  for (const page of pages) {
    const text = readFileSync(join(root, 'docs', page), 'utf8');
    assert.match(text, /^## Refresh tokens$/m, page);
    assert.match(text, /^## Clocks/m, page);
  }
});

test('remarks of check --online on the pages are those of the presets', () => {
  const known = new Set(
    listPresetNames().flatMap((name) => {
      const { remarks = [], forwardRemarks = [], anonymousRemarks = [] } = findPreset(name)!;
      return [...remarks, ...forwardRemarks, ...anonymousRemarks];
    }),
  );
  for (const page of pages) {
    for (const block of readBlocks(page, 'text')) {
      const shown = /^ {2}! provider {6}(?<first>.*)\n(?<more>(?: {2}! {15}.*\n)*)/m.exec(block)?.groups;
      if (shown === undefined) continue;
      const more = shown['more']!.split('\n').filter((line) => line !== '');
      for (const remark of [shown['first']!, ...more.map((line) => line.slice(18))])
        assert.ok(known.has(remark), remark);
    }
  }
});

test('the Java of the page about Spring is that of the application which the compatibility suite runs', () => {
  const application = readFileSync(join(root, 'test/idp/spring/src/main/java/idp/SpringIdp.java'), 'utf8');
  const blocks = readBlocks('idp/spring.md', 'java');
  assert.equal(blocks.length, 2);
  for (const block of blocks) assert.ok(application.includes(block), block);
});
