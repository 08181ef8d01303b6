// Given to Node with `--import` for every file of tests: what it makes of TypeScript is kept in node_modules for the files after it, as the launcher does
// for the program. It is made anew for files that have changed.
import { join } from 'node:path';
import { keepCompiledCode } from '../bin/find-program.mjs';

keepCompiledCode(join(import.meta.dirname, '..'));
