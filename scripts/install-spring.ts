// Builds the Spring Authorization Server of test/idp/spring into the user's cache folder with Maven, once per version of its sources.
// Run by `npm run test:compatibility`; `node scripts/install-spring.ts` does it alone.
import { createHash } from 'node:crypto';
import { access, copyFile, cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findCacheFolder } from './cache-folder.ts';
import { installOnce, runInstaller } from './install-once.ts';
import { mavenFlags, requireJavaTools, runStep } from './java-programs.ts';

/** The version of Spring Security, which Spring Authorization Server is part of since 7.0. The Spring Boot in test/idp/spring/pom.xml brings it along. */
export const springVersion = '7.1.1';

const title = 'Spring Authorization Server';
const sources = join(import.meta.dirname, '..', 'test', 'idp', 'spring');

/** Makes sure that it is built, and returns the path of the program (a jar). */
export async function installSpring(report: (line: string) => void): Promise<string> {
  await requireJavaTools(title);
  const folder = join(findCacheFolder(), `spring-${springVersion}-${await hashSources()}`);
  const program = join(folder, 'spring-idp.jar');
  await installOnce({
    title: `${title} ${springVersion}`,
    folder,
    isInstalled: () => exists(program),
    async install(building) {
      report(`Building ${title} ${springVersion} with Maven. This happens once and takes about two minutes.`);
      const started = Date.now();
      const [project, done] = [join(building, 'project'), join(building, 'done')];
      await cp(sources, project, { recursive: true });
      await runStep(title, 'mvn', [...mavenFlags, '-Dmaven.test.skip=true', 'package'], project);
      await mkdir(done);
      await copyFile(join(project, 'target', 'spring-idp.jar'), join(done, 'spring-idp.jar'));
      report(`  ${title}: done after ${Math.round((Date.now() - started) / 1000)} s`);
      return done;
    },
    report,
  });
  return program;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Changed sources get another folder, so that the build of an older checkout is never run. */
async function hashSources(): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(sources, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.toSorted()) hash.update(file.slice(sources.length)).update(await readFile(file));
  return hash.digest('hex').slice(0, 10);
}

if (import.meta.main) await runInstaller(`${title} ${springVersion}`, installSpring);
