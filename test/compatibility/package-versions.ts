// The versions of what a run tried, as docs/compatibility.md names them.
import { readFile } from 'node:fs/promises';
import { pythonMcpVersions } from '../../scripts/install-python-mcp.ts';

/** `name version` for each of these packages of node_modules. */
export function listPackageVersions(names: readonly string[]): Promise<readonly string[]> {
  return Promise.all(
    names.map(async (name) => {
      const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
      return `${name} ${(JSON.parse(await readFile(manifest, 'utf8')) as { version: string }).version}`;
    }),
  );
}

/** The same for the Python libraries. */
export const pythonVersions = pythonMcpVersions.map((version) => `Python mcp ${version}`);
