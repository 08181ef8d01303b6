// The commands of docs/install.md and of other pages, run on a test cluster as they stand there.
import { mkdir, readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { installHelm } from '../../scripts/install-helm.ts';
import type { Cluster } from './cluster.ts';
import { runCommand } from './run-command.ts';

const checkout = join(import.meta.dirname, '..', '..');

/** The text of a section of a page in docs, without its heading. */
export async function readSection(heading: string, name = 'install.md'): Promise<string> {
  const page = await readFile(join(checkout, 'docs', name), 'utf8');
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/${name} has no section ${heading}`);
  return section.slice(heading.length + 1);
}

/** The commands of a section, block by block. */
export async function readCommands(heading: string, name = 'install.md'): Promise<readonly string[]> {
  return [...(await readSection(heading, name)).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text ?? '');
}

/** Runs commands as somebody in a folder of the checkout, whose kubectl and helm know this cluster alone. Ends with the first one that fails. */
export async function runAsDocumented(
  cluster: Cluster,
  commands: string,
  { inOwnFolder = false }: { readonly inOwnFolder?: boolean } = {},
): Promise<string> {
  const home = join(cluster.folder, 'person');
  await mkdir(home, { recursive: true });
  const programs = [dirname(cluster.access.kubectlProgram), await installHelm(console.log)];
  const { stdout } = await runCommand('bash', ['-euo', 'pipefail', '-c', commands], {
    cwd: inOwnFolder ? home : checkout,
    env: {
      PATH: [...programs, process.env['PATH'] ?? ''].join(delimiter),
      HOME: home,
      KUBECONFIG: cluster.access.kubeconfigFile,
    },
    timeoutMs: 180_000,
  });
  return stdout;
}
