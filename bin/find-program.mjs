// Which program the launcher starts, and which Node that needs. From npm it is the bundle in dist. In a checkout it is what `npm run build` has made, as long
// as it is of the sources that are there, and otherwise the sources.
import { existsSync, readFileSync, statSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';

/** Where the commands that serve are built: those whose start and memory somebody waits and pays for. All others start from the sources. */
const builtCommands = new Map([
  ['run', 'program'],
  ['gateway', 'program'],
  ['worker', 'program'],
  ['controller', 'controller'],
]);

/** The oldest Node that runs the program, as [major, minor]: the sources need what strips their types, the bundle of the package is made for that of `engines`. */
export function findNeededNode(checkout) {
  return hasSources(checkout) ? [26, 0] : [22, 19];
}

function hasSources(checkout) {
  return existsSync(join(checkout, 'src', 'cmd', 'main.ts'));
}

/** The file to start for a command, and whether it was built. */
export function findProgram(checkout, command) {
  if (!hasSources(checkout)) return { file: join(checkout, 'dist', 'mcp-gatehouse.js'), isBuilt: true };
  const folder = builtCommands.get(command);
  if (folder !== undefined) {
    const built = join(checkout, 'build', folder);
    if (isCurrent(checkout, join(built, 'inputs.json'))) return { file: join(built, 'mcp-gatehouse.js'), isBuilt: true };
  }
  return { file: join(checkout, 'src', 'cmd', 'main.ts'), isBuilt: false };
}

/** Whether every file that the program was made of is as it was then. A look at each of some hundred files takes few milliseconds. */
function isCurrent(checkout, list) {
  try {
    const { node, inputs } = JSON.parse(readFileSync(list, 'utf8'));
    return (
      node === process.version &&
      inputs.every(([file, size, changed]) => {
        // Not joined, which is so much work for so many that V8 would begin to optimize it.
        const found = statSync(`${checkout}/${file}`);
        return found.size === size && found.mtimeMs === changed;
      })
    );
  } catch {
    return false;
  }
}

/**
 * Has Node keep what it compiles, and what it makes of TypeScript, from one start to the next, in node_modules. Only where that folder is the user's own:
 * whoever could write there could change the program itself, and nobody finds files there that he cannot remove.
 */
export function keepCompiledCode(checkout) {
  const modules = join(checkout, 'node_modules');
  try {
    if (process.getuid !== undefined && statSync(modules).uid !== process.getuid()) return;
    module.enableCompileCache(join(modules, '.cache', 'mcp-gatehouse'));
  } catch {
    // There is none: the start takes longer, and nothing else.
  }
}
