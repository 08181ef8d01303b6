// What a bundle starts with: loads the files of the program, and keeps the code that V8 makes of them from one start to the next, where there is a folder for
// it. Node's own cache has what V8 compiles at first sight; most functions of a start are compiled when they are called, a fifth of its time.
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';

/** The file that runs the command, and what stands for the texts of all files: V8 takes code for that of any text of the same length. Set by scripts/image/wrap-chunks.ts. */
declare const bundleMain: string;
declare const bundleId: string;

type Require = (name: string) => unknown;
type RunFile = (exports: object, require: Require, module: { exports: unknown }, importMetaUrl: string) => void;

/** Before the first look for memory to release (src/base/release-memory.ts): that one throws away the code of the start, and changes V8's flags, which code is only good with. */
const keepAfterMs = 1_000;

/** Of SHA-256. */
const checksumBytes = 32;

const folder = import.meta.dirname;
/** Only `npm run build` makes it. Whoever could write there could change the program itself. */
const codeFolder = `${folder}/code`;
const keepsCode = isOwn(codeFolder);

const requireBuiltin = createRequire(import.meta.url);
const loaded = new Map<string, { exports: unknown }>();
/** Files whose compiled code is not cached yet. */
const unkept = new Map<string, Script>();

if (keepsCode) process.once('exit', keepCode);
loadFile(bundleMain);

/** A file of the bundle, loaded once. */
function loadFile(name: string): unknown {
  const known = loaded.get(name);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(name, module);
  compile(name)(module.exports, requireFile, module, import.meta.url);
  return module.exports;
}

function requireFile(name: string): unknown {
  return name.startsWith('./') ? loadFile(name.slice(2)) : requireBuiltin(name);
}

function compile(name: string): RunFile {
  const cachedData = keepsCode ? readCode(name) : undefined;
  const script = new Script(readFileSync(`${folder}/${name}`, 'utf8'), {
    filename: new URL(name, import.meta.url).href,
    ...(cachedData && { cachedData }),
  });
  if (keepsCode && script.cachedDataRejected !== false) {
    if (unkept.size === 0) setTimeout(keepCode, keepAfterMs).unref();
    unkept.set(name, script);
  }
  return script.runInThisContext() as RunFile;
}

/** Code is good for one V8 with one set of flags. */
function findCode(): string {
  return `${codeFolder}/${bundleId}-${cachedDataVersionTag()}`;
}

/** V8 believes what it is given, and a damaged file could crash every start: a checksum stands before the code. */
function readCode(name: string): Buffer | undefined {
  try {
    const kept = readFileSync(`${findCode()}/${name}`);
    const code = kept.subarray(checksumBytes);
    return kept.subarray(0, checksumBytes).equals(sumUp(code)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** Writes down what has been compiled. When that fails, the next start takes longer, and nothing else. */
function keepCode(): void {
  try {
    const place = findCode();
    // Not the folder around it: when that is gone, so is the program.
    if (unkept.size > 0 && !existsSync(place)) mkdirSync(place);
    for (const [name, script] of unkept) writeCode(`${place}/${name}`, script.createCachedData());
  } catch {
    // The disk is full, or the program was built anew meanwhile.
  }
  unkept.clear();
}

/** Whole or not at all: others may read it, or write the same. */
function writeCode(file: string, code: Buffer): void {
  const made = `${file}.${process.pid}`;
  try {
    writeFileSync(made, Buffer.concat([sumUp(code), code]), { mode: 0o600 });
    renameSync(made, file);
  } finally {
    rmSync(made, { force: true });
  }
}

function sumUp(code: Buffer): Buffer {
  return hash('sha256', code, 'buffer');
}

function isOwn(path: string): boolean {
  try {
    return statSync(path).uid === (process.getuid?.() ?? 0);
  } catch {
    return false;
  }
}
