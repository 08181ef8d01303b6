import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapeHtml } from './escape-html.ts';

test('text stays text, in an attribute too', () => {
  assert.equal(escapeHtml(`<a href="x" title='y'>&lt;`), '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;lt;');
  assert.equal(escapeHtml('plain ü'), 'plain ü');
});
