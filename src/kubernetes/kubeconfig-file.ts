// The content of kubeconfig files, several of them merged as kubectl does. Pure.
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
import { parse } from 'yaml';
import { isJsonObject, type JsonObject } from '../base/json-object.ts';
import { describeFailure } from './describe-failure.ts';

/** Why a kubeconfig cannot be used, for the operator: a sentence without a full stop. It never quotes credentials. */
export class KubeconfigProblem extends Error {
  readonly code = 'kubeconfig_problem';
}

/** A cluster, user or context as its file has it. */
export interface KubeconfigEntry {
  readonly fields: JsonObject;
  /** The folder of the file: relative paths start there. */
  readonly folder: string;
}

type Entries = ReadonlyMap<string, KubeconfigEntry>;

/** One file, or several merged ones. */
export interface Kubeconfig {
  readonly clusters: Entries;
  readonly users: Entries;
  readonly contexts: Entries;
  readonly currentContext: string | undefined;
}

/** Reads one file. */
export function parseKubeconfig(file: string, text: string, folder: string): Kubeconfig {
  try {
    const document: unknown = parse(text);
    if (!isJsonObject(document)) throw new KubeconfigProblem('it holds no kubeconfig');
    const current = document['current-context'] ?? '';
    if (typeof current !== 'string') throw new KubeconfigProblem('current-context must be a string');
    return {
      clusters: readEntries(document, 'clusters', 'cluster', folder),
      users: readEntries(document, 'users', 'user', folder),
      contexts: readEntries(document, 'contexts', 'context', folder),
      currentContext: current === '' ? undefined : current,
    };
  } catch (error) {
    // The first line of what the YAML parser says has the place; the lines after it quote the file.
    throw new KubeconfigProblem(`the kubeconfig ${file} cannot be used: ${describeFailure(error)}`);
  }
}

/** Of entries with the same name only that of the first file counts, and all of it; the first current-context counts. */
export function mergeKubeconfigs(files: readonly Kubeconfig[]): Kubeconfig {
  const merge = (entriesOf: (file: Kubeconfig) => Entries): Entries =>
    new Map(files.toReversed().flatMap((file) => [...entriesOf(file)]));
  return {
    clusters: merge(({ clusters }) => clusters),
    users: merge(({ users }) => users),
    contexts: merge(({ contexts }) => contexts),
    currentContext: files.find(({ currentContext }) => currentContext !== undefined)?.currentContext,
  };
}

function readEntries(document: JsonObject, list: string, field: string, folder: string): Entries {
  const entries: unknown = document[list] ?? [];
  if (!Array.isArray(entries)) throw new KubeconfigProblem(`${list} must be a list`);
  const read = new Map<string, KubeconfigEntry>();
  for (const [index, entry] of (entries as unknown[]).entries()) {
    const where = `${list}[${index}]`;
    if (!isJsonObject(entry)) throw new KubeconfigProblem(`${where} must be an object`);
    const { name } = entry;
    if (typeof name !== 'string' || name === '') throw new KubeconfigProblem(`${where}.name is missing`);
    // A user without credentials is one.
    const fields = entry[field] ?? (field === 'user' ? {} : undefined);
    if (fields === undefined) throw new KubeconfigProblem(`${where}.${field} is missing`);
    if (!isJsonObject(fields)) throw new KubeconfigProblem(`${where}.${field} must be an object`);
    if (read.has(name)) throw new KubeconfigProblem(`${list} has the name ${name} twice`);
    read.set(name, { fields, folder });
  }
  return read;
}
