// Files that a command reads once, for all commands that look at resources without serving them.
import type { Resources } from '../api/resources.ts';
import { FilesSource } from '../sources/files/files-source.ts';
import type { StartResult } from '../sources/resource-source.ts';
import { loadInferenceTranslation } from '../translate/load-inference-translation.ts';
import { translate, type Translation } from '../translate/translate.ts';
import { listExtensions } from './resource-flags.ts';

type ReadFiles =
  | {
      readonly ok: true;
      readonly source: FilesSource;
      readonly resources: Resources;
      readonly translation: Translation;
    }
  | Extract<StartResult, { readonly ok: false }>;

/** Reads and translates files as `run` does. */
export async function readFiles(
  paths: readonly string[],
  environment: NodeJS.ProcessEnv,
  inferenceExtension: boolean,
): Promise<ReadFiles> {
  const extensions = listExtensions({ inferenceExtension });
  const source = new FilesSource({ paths, environment, watch: false, extensions });
  const started = await source.start();
  if (!started.ok) return started;
  const resources = source.resources.get();
  const translation = translate(resources, { inference: await loadInferenceTranslation(inferenceExtension) });
  return { ok: true, source, resources, translation };
}
