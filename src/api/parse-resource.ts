// Parses one resource: every problem at once, in words for the person who wrote it. Never throws, whatever it is given.
import { checkFields } from './check-fields.ts';
import { describeIssue, isShapeIssue } from './describe-issue.ts';
import { listFields } from './field-tree.ts';
import {
  extensions as knownExtensions,
  findExtension,
  isKind,
  kindNames,
  kinds,
  kindsNotSupportedYet,
  listApiVersions,
  listKinds,
  type Extension,
  type Kind,
  type KindDefinition,
  type ResourceOf,
} from './kinds.ts';
import { isMapping } from './mapping.ts';
import { findNearestName, listAlternatives } from '../base/nearest-name.ts';
import type { Origin } from './origin.ts';
import type { Problem } from './problem.ts';

/** A resource that is valid, with its kind to tell it by. */
export type ParsedResource = {
  [K in Kind]: { readonly ok: true; readonly kind: K; readonly resource: ResourceOf<K> };
}[Kind];

/** A resource that is not, with what could be learned of its identity. */
interface RejectedResource {
  readonly ok: false;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly problems: readonly Problem[];
}

/** Where the resource was read from. */
interface ParseOptions {
  readonly origin: Origin;
  /** Kinds of other extensions are refused; all extensions when absent. */
  readonly extensions?: readonly Extension[] | undefined;
}

/** Parses a resource of any kind. */
export function parseResource(raw: unknown, options: ParseOptions): ParsedResource | RejectedResource {
  if (!isMapping(raw))
    return reject(raw, [
      { path: [], code: 'invalid', message: 'must be a resource: a mapping with apiVersion, kind and metadata' },
    ]);
  const found = findKind(raw, options.extensions);
  if (!found.ok) return reject(raw, found.problems);
  const { kind } = found;
  const definition: KindDefinition = kinds[kind];
  const checked = checkFields(listFields(definition.schema), raw, options.origin);
  const parsed = definition.schema.safeParse(checked.value, { reportInput: true, jitless: true });
  if (parsed.success && checked.problems.length === 0)
    return { ok: true, kind, resource: parsed.data } as ParsedResource;

  const problems = [...checked.problems];
  const taken = new Set(checked.problems.map(({ path }) => keyOf(path)));
  const expectedElsewhere = new Set(checked.misspelled.map(keyOf));
  const issues = parsed.success ? [] : parsed.error.issues;
  // Shape first: a rule that spans fields adds nothing to a field that is wrong by itself.
  for (const issue of issues.toSorted((left, right) => Number(isShapeIssue(right)) - Number(isShapeIssue(left)))) {
    const problem = describeIssue(issue);
    if (liesUnder(problem.path, taken)) continue;
    if (problem.code === 'required' && expectedElsewhere.has(keyOf(problem.path))) continue;
    if (problems.some((other) => other.message === problem.message && keyOf(other.path) === keyOf(problem.path)))
      continue;
    problems.push(problem);
    if (isShapeIssue(issue)) taken.add(keyOf(problem.path));
  }
  return reject(raw, problems.toSorted(byPosition(raw)));
}

type FoundKind =
  | { readonly ok: true; readonly kind: Kind }
  | { readonly ok: false; readonly problems: readonly Problem[] };

function findKind(raw: Readonly<Record<string, unknown>>, extensions: readonly Extension[] | undefined): FoundKind {
  const [kind, apiVersion] = [readOwn(raw, 'kind'), readOwn(raw, 'apiVersion')];
  const problems: Problem[] = [];
  if (typeof apiVersion !== 'string')
    problems.push(describeMissing('apiVersion', apiVersion, 'gateway.networking.k8s.io/v1'));
  if (typeof kind !== 'string') problems.push(describeMissing('kind', kind, 'HTTPRoute'));
  if (typeof kind !== 'string' || typeof apiVersion !== 'string') return { ok: false, problems };
  if (!isKind(kind)) return { ok: false, problems: [describeUnknownKind(kind)] };
  const extension = findExtension(kind);
  if (extension !== undefined && extensions?.includes(extension) === false)
    return { ok: false, problems: [describeExtension(kind, extension)] };
  const valid = listApiVersions(kind);
  if (valid.includes(apiVersion)) return { ok: true, kind };
  return {
    ok: false,
    problems: [
      { path: ['apiVersion'], code: 'invalid', message: `must be ${listAlternatives(valid)} for kind ${kind}` },
    ],
  };
}

function describeMissing(field: string, value: unknown, example: string): Problem {
  if (value === undefined || value === null)
    return { path: [field], code: 'required', message: `required: such as ${example}` };
  return { path: [field], code: 'invalid', message: `must be a string such as ${example}` };
}

function describeUnknownKind(kind: string): Problem {
  const path = ['kind'];
  if (Object.hasOwn(kindsNotSupportedYet, kind))
    return { path, code: 'not_supported_yet', message: `not supported yet: ${kindsNotSupportedYet[kind]}` };
  if (kind === 'List' || (kind.endsWith('List') && isKind(kind.slice(0, -'List'.length))))
    return {
      path,
      code: 'invalid',
      message: 'lists are not supported: write the items as separate documents, separated by ---',
    };
  const nearest = findNearestName(kind, kindNames);
  const advice = nearest === undefined ? `known are ${listAlternatives(listKinds([]))}` : `did you mean ${nearest}?`;
  return { path, code: 'invalid', message: `the gateway does not read this kind; ${advice}` };
}

function describeExtension(kind: Kind, extension: Extension): Problem {
  const { name, flag } = knownExtensions[extension];
  return { path: ['kind'], code: 'invalid', message: `${kind}s are only read with the ${name}: start with ${flag}` };
}

function reject(raw: unknown, problems: readonly Problem[]): RejectedResource {
  if (!isMapping(raw)) return { ok: false, problems };
  const kind = readOwn(raw, 'kind');
  const metadata = readOwn(raw, 'metadata');
  const [name, namespace] = isMapping(metadata) ? [readOwn(metadata, 'name'), readOwn(metadata, 'namespace')] : [];
  const known = typeof kind === 'string' && isKind(kind) ? kinds[kind] : undefined;
  const place = typeof namespace === 'string' ? namespace : 'default';
  return {
    ok: false,
    ...(typeof kind === 'string' && { kind }),
    ...(known?.namespaced !== false && { namespace: place }),
    ...(typeof name === 'string' && { name }),
    problems,
  };
}

function readOwn(mapping: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(mapping, key) ? mapping[key] : undefined;
}

function keyOf(path: readonly (string | number)[]): string {
  return JSON.stringify(path);
}

function liesUnder(path: readonly (string | number)[], taken: ReadonlySet<string>): boolean {
  for (let length = path.length; length > 0; length--) if (taken.has(keyOf(path.slice(0, length)))) return true;
  return false;
}

/** Problems in the order in which their fields stand in the resource, so that a reader can go down the file. */
function byPosition(raw: unknown): (left: Problem, right: Problem) => number {
  const positions = new Map<Problem, readonly number[]>();
  function locate(problem: Problem): readonly number[] {
    const known = positions.get(problem);
    if (known !== undefined) return known;
    const position: number[] = [];
    let at: unknown = raw;
    for (const step of problem.path) {
      const index = typeof step === 'number' ? step : isMapping(at) ? Object.keys(at).indexOf(step) : -1;
      // A missing field is reported where it would stand: at the end of its mapping.
      position.push(index < 0 ? Number.MAX_SAFE_INTEGER : index);
      at =
        isMapping(at) && typeof step === 'string'
          ? readOwn(at, step)
          : Array.isArray(at)
            ? (at as unknown[])[Number(step)]
            : undefined;
    }
    positions.set(problem, position);
    return position;
  }
  return (left, right) => {
    const [one, other] = [locate(left), locate(right)];
    for (let index = 0; index < Math.min(one.length, other.length); index++) {
      if (one[index] !== other[index]) return one[index]! - other[index]!;
    }
    return one.length - other.length;
  };
}
