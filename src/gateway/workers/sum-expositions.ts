// The metrics of several processes as those of one gateway, in the Prometheus text format.

/** How the numbers of several processes become one. */
type Fold = 'sum' | 'max' | 'min' | 'own';

/**
 * Metrics that are not listed here are summed. `own`: only the number of the process that holds the configuration counts. An endpoint that all
 * workers have ejected counts as one, and a server that any of them cannot reach is down.
 */
const folds: readonly (readonly [pattern: RegExp, fold: Fold])[] = [
  [/^mcp_gateway_(?:config_|build_info|controller_|store_|workers|worker_)/, 'own'],
  [/^mcp_gateway_upstream_ejected_endpoints$/, 'max'],
  [/^mcp_gateway_federation_target_up$/, 'min'],
  [/^mcp_gateway_federation_target_tools$/, 'max'],
  [/^nodejs_eventloop_lag_/, 'max'],
  [/^(?:process_start_time_seconds|process_max_fds|nodejs_version_info)$/, 'own'],
  // Quantiles and means cannot be summed.
  [/^nodejs_gc_duration_seconds_(?:p\d+|mean)$/, 'max'],
];

interface Family {
  readonly name: string;
  /** The lines of # HELP and # TYPE. */
  readonly head: readonly string[];
  readonly type: string;
  /** By name and labels, as written. */
  readonly samples: Map<string, number>;
}

/** Counters of processes that have ended: they stay counted. */
export type CountedExposition = ReadonlyMap<string, number>;

/** Sums. `own` is the exposition of the process that answers; `departed` has the last counts of those that have ended. */
export function sumExpositions(own: string, others: readonly string[], departed: CountedExposition): string {
  const families = new Map<string, Family>();
  addExposition(families, own, true);
  for (const text of others) addExposition(families, text, false);
  for (const [key, value] of departed) {
    const family = families.get(findFamilyName(key, families));
    if (family !== undefined && chooseFold(family.name) === 'sum')
      family.samples.set(key, (family.samples.get(key) ?? 0) + value);
  }
  const lines = [...families.values()].flatMap(({ head, samples }) => [
    ...head,
    ...Array.from(samples, ([key, value]) => `${key} ${formatValue(value)}`),
    '',
  ]);
  return `${lines.join('\n').trimEnd()}\n`;
}

/** Adds the counts of one more process that has ended. */
export function addDeparted(departed: CountedExposition, text: string): CountedExposition {
  const families = new Map<string, Family>();
  addExposition(families, text, false);
  const sum = new Map(departed);
  for (const { type, samples } of families.values()) {
    if (type !== 'counter' && type !== 'histogram') continue;
    for (const [key, value] of samples) sum.set(key, (sum.get(key) ?? 0) + value);
  }
  return sum;
}

function addExposition(families: Map<string, Family>, text: string, isOwn: boolean): void {
  let family: Family | undefined;
  let head: string[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    if (line.startsWith('# HELP ')) {
      head = [line];
    } else if (line.startsWith('# TYPE ')) {
      const [, , name, type] = line.split(' ') as [string, string, string, string];
      family = families.get(name) ?? { name, head: [...head, line], type, samples: new Map() };
      families.set(name, family);
    } else if (family !== undefined && !line.startsWith('#')) {
      addSample(family, line, isOwn);
    }
  }
}

function addSample({ name, samples }: Family, line: string, isOwn: boolean): void {
  // Labels may hold spaces; values never do, and our own text has no time stamps.
  const end = line.lastIndexOf(' ');
  const key = line.slice(0, end);
  const value = Number(line.slice(end + 1));
  const before = samples.get(key);
  switch (chooseFold(name)) {
    case 'own':
      if (isOwn) samples.set(key, value);
      return;
    case 'max':
      samples.set(key, Math.max(before ?? value, value));
      return;
    case 'min':
      samples.set(key, Math.min(before ?? value, value));
      return;
    case 'sum':
      samples.set(key, (before ?? 0) + value);
  }
}

function chooseFold(name: string): Fold {
  return folds.find(([pattern]) => pattern.test(name))?.[1] ?? 'sum';
}

/** The lines of a histogram have more than its name. */
function findFamilyName(key: string, families: ReadonlyMap<string, Family>): string {
  const name = key.split('{', 1)[0]!;
  return families.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '');
}

function formatValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}
