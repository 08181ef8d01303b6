// A profile as a tree of calls with a weight, whatever was weighed: microseconds or bytes.
import type { AllocationNode, AllocationProfile, CallFrame, CpuProfile } from './inspector-client.ts';

/** A function as it was called from somewhere. */
export interface CallNode {
  readonly name: string;
  /** Where it is, short: the path from the repository, a package, or a part of node. Empty for V8's own work. */
  readonly place: string;
  /** Without what it called. */
  readonly self: number;
  /** With it. */
  readonly total: number;
  readonly children: readonly CallNode[];
}

/** One function, wherever it was called from. */
export interface FunctionWeight {
  readonly name: string;
  readonly place: string;
  readonly self: number;
  /** As a part of all. */
  readonly share: number;
}

/** Where the time went. Waiting is left out: it costs nothing. */
export function foldCpuProfile({ nodes, samples, timeDeltas }: CpuProfile): CallNode {
  const own = new Map<number, number>();
  for (const [index, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + Math.max(0, timeDeltas[index] ?? 0));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const fold = (id: number): CallNode => {
    const { callFrame, children = [] } = byId.get(id)!;
    return createNode(callFrame, own.get(id) ?? 0, children.map(fold));
  };
  const root = fold(nodes[0]!.id);
  return sumUp(
    root,
    root.children.filter(({ name }) => name !== '(idle)'),
  );
}

/** What was allocated where. */
export function foldAllocationProfile({ head }: AllocationProfile): CallNode {
  const fold = ({ callFrame, selfSize, children }: AllocationNode): CallNode =>
    createNode(callFrame, selfSize, children.map(fold));
  return fold(head);
}

/** The same tree with another sum: samples tell how time is shared, and a clock that others do not disturb tells how much it was. */
export function scaleTo(root: CallNode, sum: number): CallNode {
  const factor = root.total > 0 ? sum / root.total : 0;
  const scale = (node: CallNode): CallNode => ({
    ...node,
    self: node.self * factor,
    total: node.total * factor,
    children: node.children.map(scale),
  });
  return scale(root);
}

/** The functions with the most weight of their own, heaviest first. */
export function listFunctions(root: CallNode, most: number): readonly FunctionWeight[] {
  const weights = new Map<string, { readonly name: string; readonly place: string; self: number }>();
  const visit = ({ name, place, self, children }: CallNode): void => {
    const key = `${name} ${place}`;
    const known = weights.get(key);
    if (known === undefined) weights.set(key, { name, place, self });
    else known.self += self;
    for (const child of children) visit(child);
  };
  visit(root);
  return [...weights.values()]
    .filter(({ self }) => self > 0)
    .toSorted((a, b) => b.self - a.self)
    .slice(0, most)
    .map((each) => ({ ...each, share: each.self / root.total }));
}

function createNode(frame: CallFrame, self: number, children: readonly CallNode[]): CallNode {
  const name = frame.functionName === '' ? '(anonymous)' : frame.functionName;
  return sumUp({ name, place: shortenPlace(frame), self, total: 0, children: [] }, mergeAlike(children));
}

/** V8 keeps calls apart that were optimized at different times. Those are one to a reader. */
function mergeAlike(children: readonly CallNode[]): readonly CallNode[] {
  const merged = new Map<string, CallNode>();
  for (const child of children) {
    const key = `${child.name} ${child.place}`;
    const known = merged.get(key);
    merged.set(
      key,
      known === undefined
        ? child
        : sumUp({ ...known, self: known.self + child.self }, mergeAlike([...known.children, ...child.children])),
    );
  }
  return [...merged.values()];
}

function sumUp(node: CallNode, children: readonly CallNode[]): CallNode {
  return { ...node, children, total: children.reduce((sum, { total }) => sum + total, node.self) };
}

const root = new URL('../../../', import.meta.url).href;

/** The part of an address that a reader of this repository needs, with the line. */
function shortenPlace({ url, lineNumber }: CallFrame): string {
  if (url === '') return '';
  const path = url.startsWith(root) ? url.slice(root.length) : url;
  return `${path.replace(/^.*node_modules\//, '')}:${lineNumber + 1}`;
}
