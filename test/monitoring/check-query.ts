// Whether a query fits the metrics that there are: names, labels and their values, and each metric used as its type allows.
import { type ExposedMetric, type ExposedMetrics, bucketType } from './exposed-metrics.ts';
import { type Matcher, type Query, type SelectorQuery, parsePromql } from './promql.ts';

/** What queries are checked against. */
export interface QueryWorld {
  readonly metrics: ExposedMetrics;
  /** Labels that scraping adds to everything. */
  readonly targetLabels: readonly string[];
  /** All values of labels that cannot all be provoked, by label. */
  readonly closedValues: Readonly<Record<string, readonly string[]>>;
}

/** What is known of a query. */
export interface QueryFindings {
  readonly problems: readonly string[];
  /** The metrics that it reads. */
  readonly metrics: readonly string[];
  /** The labels that its result can have. */
  readonly labels: readonly string[];
}

/** What makes a number per second of a counter, or of a bucket. */
const ofCounters = new Set(['rate', 'increase', 'irate']);
/** What has a range of a gauge. */
const ofGauges = new Set(['max_over_time', 'min_over_time', 'avg_over_time']);
const setOperators = new Set(['and', 'or', 'unless']);

/** Checks a query. */
export function checkQuery(text: string, world: QueryWorld): QueryFindings {
  const problems: string[] = [];
  const metrics: string[] = [];

  /** Returns the labels of the result. `caller`: the function that it is directly in. */
  function visit(query: Query, caller: string | undefined, inQuantile: boolean): readonly string[] {
    switch (query.kind) {
      case 'number':
      case 'text':
        return [];
      case 'selector':
        return visitSelector(query, caller, inQuantile);
      case 'call':
        return visitCall(query.name, query.operands, inQuantile);
      case 'aggregation': {
        const labels = query.operands.flatMap((operand) => visit(operand, undefined, inQuantile));
        for (const label of query.by ?? [])
          if (!labels.includes(label)) problems.push(`${query.name} by (${label}): there is no such label`);
        if (inQuantile && query.by?.includes('le') !== true) problems.push(`${query.name} loses the label le`);
        return query.name === 'topk' || query.name === 'bottomk' ? labels : (query.by ?? []);
      }
      case 'binary': {
        const left = visit(query.left, isOfCounterPair(query) ? 'unless' : undefined, inQuantile);
        const right = visit(query.right, isOfCounterPair(query) ? 'unless' : undefined, inQuantile);
        for (const label of query.on ?? [])
          if (!left.includes(label) || !right.includes(label))
            problems.push(`on (${label}): not both sides have the label`);
        if (query.operator === 'or') return left.filter((label) => right.includes(label));
        return query.on === undefined || setOperators.has(query.operator) ? left : query.on;
      }
    }
  }

  function visitCall(name: string, operands: readonly Query[], inQuantile: boolean): readonly string[] {
    const isQuantile = name === 'histogram_quantile';
    if (isQuantile && operands[0]?.kind !== 'number') problems.push('histogram_quantile has no number in front');
    const labels = operands.flatMap((operand) => visit(operand, name, inQuantile || isQuantile));
    if (name === 'absent') return [];
    if (isQuantile && !labels.includes('le')) problems.push('histogram_quantile needs the buckets of a histogram');
    return isQuantile ? labels.filter((label) => label !== 'le') : labels;
  }

  function visitSelector(selector: SelectorQuery, caller: string | undefined, inQuantile: boolean): readonly string[] {
    const { metric, matchers, range } = selector;
    metrics.push(metric);
    const exposed = world.metrics.get(metric);
    if (exposed === undefined) {
      problems.push(`${metric} does not exist`);
      return [];
    }
    const rated = caller !== undefined && ofCounters.has(caller);
    const isCounted = exposed.type === 'counter' || exposed.type === bucketType;
    if (isCounted && !rated && caller !== 'absent' && caller !== 'unless')
      problems.push(`${metric} is a ${exposed.type}: it is for rate() or increase()`);
    if (!isCounted && rated) problems.push(`${metric} is a ${exposed.type}, and not for ${caller}()`);
    if ((range !== undefined) !== (rated || (caller !== undefined && ofGauges.has(caller))))
      problems.push(`${metric} has a range where there must be none, or none where there must be one`);
    if ((exposed.type === bucketType) !== inQuantile)
      problems.push(`${metric} is a ${exposed.type}: buckets, and nothing else, are for histogram_quantile`);
    for (const matcher of matchers) checkMatcher(metric, exposed, matcher);
    return [...exposed.labels.keys(), ...world.targetLabels];
  }

  function checkMatcher(metric: string, exposed: ExposedMetric, { label, operator, value }: Matcher): void {
    if (world.targetLabels.includes(label)) return;
    const seen = exposed.labels.get(label);
    if (seen === undefined) {
      problems.push(`${metric} has no label ${label}; it has ${[...exposed.labels.keys()].join(', ') || 'none'}`);
      return;
    }
    if (value === '' || value.startsWith('$')) return;
    const known = world.closedValues[label];
    const words = operator === '=' || operator === '!=' ? [value] : value.split('|');
    for (const word of words) {
      const pattern = new RegExp(`^(?:${operator === '=' || operator === '!=' ? escapeText(word) : word})$`);
      if (![...(known ?? seen)].some((each) => pattern.test(each)))
        problems.push(
          `${metric}{${label}}: nothing has the value ${word}; there are ${[...(known ?? seen)].join(', ')}`,
        );
    }
  }

  const labels = visit(parsePromql(text), undefined, false);
  return { problems, metrics, labels: [...new Set(labels)] };
}

/** `x unless x offset 5m`: series that were not there before, whose first number rate() does not see. */
function isOfCounterPair({ operator, left, right }: Extract<Query, { readonly kind: 'binary' }>): boolean {
  return operator === 'unless' && left.kind === 'selector' && right.kind === 'selector' && left.metric === right.metric;
}

function escapeText(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
