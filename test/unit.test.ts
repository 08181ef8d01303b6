// Every unit test of src/ in one process: they start nothing and share nothing, and a process for each of three hundred files costs more than what is in
// them. Alone, a file runs as always: `node --test src/base/cut-text.test.ts`.
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..');
const files = globSync('src/**/*.test.ts', { cwd: root }).toSorted();
if (files.length === 0) throw new Error('There is no unit test in src/.');
for (const file of files) await import(pathToFileURL(join(root, file)).href);
