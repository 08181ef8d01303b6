// Installs the Python MCP library (PyPI `mcp`) into a virtual environment in the user's cache folder, once per version.
// Run by `npm run test:compatibility`; `node scripts/install-python-mcp.ts` does it alone.
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findCacheFolder } from './cache-folder.ts';
import { capture, createEnvironment, findInterpreter, PythonUnavailableError } from './python-environment.ts';

/** The versions that the compatibility suite uses: the last of the first line, and the current one. */
export const pythonMcpVersions = ['1.30.0', '2.3.0'] as const;

/** Makes sure that a version of the library is installed, and returns the interpreter that has it. */
export async function installPythonMcp(version: string, report: (line: string) => void): Promise<string> {
  const interpreter = await findInterpreter();
  const parent = join(findCacheFolder(), 'python-mcp');
  const folder = join(parent, `${version}-python-${interpreter.version}`);
  const python = join(folder, 'bin', 'python');
  if (await hasVersion(python, version)) return python;

  const title = `Python mcp ${version}`;
  report(`Installing ${title} for Python ${interpreter.version}. This happens once.`);
  // Built beside its place and moved there whole, so that a broken-off installation is never taken for a good one.
  const building = `${folder}.building-${process.pid}`;
  await rm(building, { recursive: true, force: true });
  await mkdir(parent, { recursive: true });
  try {
    await createEnvironment({ interpreter, folder: building, packages: [`mcp==${version}`], title, report });
    await rm(folder, { recursive: true, force: true });
    await rename(building, folder);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  if (!(await hasVersion(python, version))) {
    throw new PythonUnavailableError(`${title} was installed in ${folder} but cannot be imported.`);
  }
  return python;
}

async function hasVersion(python: string, version: string): Promise<boolean> {
  try {
    await access(python);
  } catch {
    return false;
  }
  const script = 'import mcp, importlib.metadata; print(importlib.metadata.version("mcp"))';
  return (await capture(python, ['-c', script])) === version;
}

if (import.meta.main) {
  try {
    for (const version of pythonMcpVersions) {
      console.log(`Python mcp ${version}: ${await installPythonMcp(version, console.log)}`);
    }
  } catch (error) {
    if (!(error instanceof PythonUnavailableError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
