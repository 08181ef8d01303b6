// Installs the Python MCP library (PyPI `mcp`) into a virtual environment in the user's cache folder, once per version.
// Run by `npm run test:compatibility`; `node scripts/install-python-mcp.ts` does it alone.
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { findCacheFolder } from './cache-folder.ts';
import { InstallationError, installOnce, runInstaller } from './install-once.ts';
import { capture, createEnvironment, findInterpreter } from './python-environment.ts';

/** The versions that the compatibility suite uses: the last of the first line, and the current one. */
export const pythonMcpVersions = ['1.30.0', '2.3.0'] as const;

/** Makes sure that a version of the library is installed, and returns the interpreter that has it. */
export async function installPythonMcp(version: string, report: (line: string) => void): Promise<string> {
  const interpreter = await findInterpreter();
  const folder = join(findCacheFolder(), 'python-mcp', `${version}-python-${interpreter.version}`);
  const python = join(folder, 'bin', 'python');
  const title = `Python mcp ${version}`;
  await installOnce({
    title,
    folder,
    isInstalled: () => isInstalled(python, version),
    async install(building) {
      report(`Installing ${title} for Python ${interpreter.version}. This happens once.`);
      await createEnvironment({ interpreter, folder: building, packages: [`mcp==${version}`], title, report });
      if ((await capture(join(building, 'bin', 'python'), ['-c', 'import mcp; print("imported")'])) !== 'imported')
        throw new InstallationError(`${title} was installed but cannot be imported.`);
      return building;
    },
    report,
  });
  return python;
}

/** Looks at what pip wrote down: to import the library takes a second. */
async function isInstalled(python: string, version: string): Promise<boolean> {
  try {
    await access(python);
  } catch {
    return false;
  }
  const script = 'import importlib.metadata; print(importlib.metadata.version("mcp"))';
  return (await capture(python, ['-c', script])) === version;
}

if (import.meta.main) {
  for (const version of pythonMcpVersions) {
    await runInstaller(`Python mcp ${version}`, (report) => installPythonMcp(version, report));
  }
}
