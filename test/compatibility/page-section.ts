// docs/compatibility.md has three authors that may run at the same time. Each one writes its own section and leaves the other's alone.
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The parts of the page, in order. */
const sections = ['servers', 'federation', 'authentication'] as const;

const title = '# Compatibility';

/** Puts a section into the page, in place of the one of this name. */
export async function writePageSection(
  name: (typeof sections)[number],
  text: string,
  file = fileURLToPath(new URL('../../docs/compatibility.md', import.meta.url)),
): Promise<void> {
  await withLock(`${file}.lock`, async () => {
    const page = await readFile(file, 'utf8').catch(() => '');
    const parts = sections.map((section) => {
      const content = section === name ? text.trim() : readSection(page, section);
      return `${beginOf(section)}\n\n${content}\n\n${endOf(section)}`;
    });
    await writeFile(`${file}.new`, `${title}\n\n${parts.join('\n\n')}\n`);
    await rename(`${file}.new`, file);
  });
}

function readSection(page: string, section: string): string {
  const start = page.indexOf(beginOf(section));
  const end = page.indexOf(endOf(section));
  if (start === -1 || end === -1) return 'Not run yet.';
  return page.slice(start + beginOf(section).length, end).trim();
}

function beginOf(section: string): string {
  return `<!-- ${section}: written by npm run test:compatibility -->`;
}

function endOf(section: string): string {
  return `<!-- end of ${section} -->`;
}

/** A file that exists while somebody writes. One that was left behind by a run that was killed is taken over after a minute. */
async function withLock(lock: string, work: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      await (await open(lock, 'wx')).close();
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (Date.now() > deadline) break;
      await delay(20);
    }
  }
  try {
    await work();
  } finally {
    await rm(lock, { force: true });
  }
}
