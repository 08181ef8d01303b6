// The namespace that a person means who names none: that of the kubeconfig context, as for kubectl. Looks where src/kubernetes/connect.ts looks.
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { parse } from 'yaml';
import { serviceAccountFolder } from '../../kubernetes/in-cluster.ts';
import { readList, readText } from '../../translate/read-raw.ts';

export interface ContextOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
}

const fallback = 'default';

/** Reads it; `default` where nobody says. Files that cannot be used are no problem here: connecting tells of them. */
export async function readContextNamespace({ env, kubeconfig, context }: ContextOptions): Promise<string> {
  const named = kubeconfig === undefined ? (env['KUBECONFIG'] ?? '').split(delimiter) : [kubeconfig];
  const files = named.filter((file) => file !== '');
  if (files.length === 0) {
    if (context === undefined && (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '') {
      const own = await readIfThere(join(serviceAccountFolder, 'namespace'));
      if (own !== undefined && own.trim() !== '') return own.trim();
    }
    files.push(join(env['HOME'] ?? env['USERPROFILE'] ?? '', '.kube', 'config'));
  }
  const configs = (await Promise.all(files.map(readIfThere))).map(parseYaml);
  const name =
    context ?? configs.map((config) => readText(config, 'current-context')).find((each) => each !== undefined);
  const found = configs
    .flatMap((config) => readList(config, 'contexts') ?? [])
    .find((each) => name !== undefined && readText(each, 'name') === name);
  return readText(found, 'context', 'namespace') ?? fallback;
}

function parseYaml(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : parse(text);
  } catch {
    return undefined;
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return undefined;
  }
}
