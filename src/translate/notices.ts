// Remarks for people that no condition carries: a route whose Gateway does not exist, a Gateway of an unknown class.
import { compareText, type Named } from './order.ts';

/** One remark about one resource. */
export interface Notice {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
}

/** Collects notices while resources are translated. */
export interface Notices {
  readonly add: (kind: string, resource: Named, message: string) => void;
  readonly addAll: (notices: readonly Notice[]) => void;
  /** Sorted, each once. */
  readonly list: () => readonly Notice[];
}

/** An empty collection. */
export function collectNotices(): Notices {
  const notices = new Map<string, Notice>();
  const keep = (notice: Notice): void => {
    notices.set(JSON.stringify(notice), notice);
  };
  return {
    add(kind, { metadata }, message) {
      keep({ kind, namespace: metadata.namespace ?? '', name: metadata.name, message });
    },
    addAll(others) {
      for (const notice of others) keep(notice);
    },
    list: () => [...notices].toSorted(([left], [right]) => compareText(left, right)).map(([, notice]) => notice),
  };
}
