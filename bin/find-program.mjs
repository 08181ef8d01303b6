// Which program the launcher starts: what `npm run build` has made, as long as it is of the sources that are there, and otherwise the sources.
import { readFileSync, statSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';

/** Where the commands that serve are built: those whose start and memory somebody waits and pays for. All others start from the sources. */
const builtCommands = new Map([
  ['run', 'program'],
  ['gateway', 'program'],
  ['worker', 'program'],
  ['controller', 'controller'],
]);

/** The file to start for a command, and whether it was built. */
export function findProgram(checkout, command) {
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
