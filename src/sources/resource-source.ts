// What every source of resources offers, be it files or, later, Kubernetes: a consistent set of resources, and what is wrong with the rest.
import type { ProblemCode } from '../api/problem.ts';
import type { Resources } from '../api/resources.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';

/** A source of resources. Its values change only between start and stop. */
export interface ResourceSource {
  /** The resources in force. Changes only when their content does; every value is complete and consistent. */
  readonly resources: ReadonlyWatchable<Resources>;
  /** All present problems. Updated before the resources that belong to them. */
  readonly problems: ReadonlyWatchable<readonly SourceProblem[]>;
  /** Reads everything once, then keeps watching. A failed start leaves nothing running. */
  start(): Promise<StartResult>;
  /** Ends the watching. Nothing changes after the returned promise settled. */
  stop(): Promise<void>;
  /** The position of a resource or one of its fields, if the source knows it. */
  locate(identity: ResourceIdentity, path?: readonly (string | number)[]): SourcePosition | undefined;
}

/** Whether a source could start. A failure has at least one problem; nothing is safe to serve then. */
export type StartResult = { readonly ok: true } | { readonly ok: false; readonly problems: readonly SourceProblem[] };

/** What makes two resources the same resource. `namespace` is empty for kinds that have none. */
export interface ResourceIdentity {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** A place in a file. Lines and columns count from 1. */
export interface SourcePosition {
  /** Absolute path. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** What kind of problem: those of the resource itself, and those of where it was written. */
export type SourceProblemCode =
  | ProblemCode
  | 'not_found' // a path that was asked for does not exist
  | 'unreadable' // a file or folder cannot be read
  | 'no_resources' // a path that holds nothing to load
  | 'syntax' // not YAML, or YAML that is refused
  | 'emptied' // a file that had resources has none any more
  | 'duplicate' // the same resource is written twice
  | 'unresolved_value'; // a Secret's value comes from somewhere that does not have it

/** What is wrong, where, and what the source did about it. Holds no value of a Secret. */
export interface SourceProblem {
  /** Absolute path. */
  readonly file: string;
  /** Absent when the file as a whole is meant. */
  readonly line?: number;
  readonly column?: number;
  /** Which resource, as far as it could be told. */
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly path: readonly (string | number)[];
  readonly code: SourceProblemCode;
  /** What is wrong, and what would be right. */
  readonly message: string;
  /** What stays in force because of it; absent when nothing was there before. */
  readonly consequence?: string;
}

/** A text that is equal for two mentions of the same resource and different for any two others. */
export function formatIdentity(identity: ResourceIdentity): string {
  return `${identity.kind}/${identity.namespace}/${identity.name}`;
}
