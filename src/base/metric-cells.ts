// The numbers of one metric by label values, within declared bounds: the hot half of metrics.ts. A request pays one map lookup.

/** What a label may hold: one of these values, or the first `max` distinct ones. Everything else becomes "other". */
type LabelBounds = { readonly values: readonly string[] } | { readonly max: number };

/** The labels of a metric, by name. */
export type Labels = Readonly<Record<string, LabelBounds>>;

/** A value for every label of a metric. */
export type LabelValues<L extends Labels> = { readonly [Name in keyof L]: string };

/** The value of a label that is past its bounds. */
const otherLabel = 'other';

/** Combinations of label values that one metric keeps; later ones are counted with every label "other". */
const defaultMaxSeries = 10_000;

/** One combination of label values. */
interface Cell<C> {
  readonly labels: Readonly<Record<string, string>>;
  readonly content: C;
}

/** Cells by label values; nothing that a caller passes makes it grow past its bounds. */
export class MetricCells<L extends Labels, C> {
  readonly #names: readonly string[];
  readonly #bounds: readonly { readonly known: Set<string>; readonly max: number }[];
  readonly #cells = new Map<string, Cell<C>>();
  readonly #create: () => C;
  readonly #maxSeries: number;

  constructor(labels: L, create: () => C, maxSeries = defaultMaxSeries) {
    this.#names = Object.keys(labels);
    this.#bounds = Object.values(labels).map((bounds) => ({
      known: new Set('values' in bounds ? bounds.values : []),
      max: 'values' in bounds ? 0 : bounds.max,
    }));
    this.#create = create;
    this.#maxSeries = maxSeries;
  }

  /** The content for these values, made when it is the first time. */
  find(values: LabelValues<L>): C {
    let key = '';
    for (const name of this.#names) key += `${values[name]!}\n`;
    // Only values within their bounds are ever stored, so a hit needs no further check.
    return this.#cells.get(key)?.content ?? this.#findBounded(this.#bind(values)).content;
  }

  *[Symbol.iterator](): Iterator<Cell<C>> {
    yield* this.#cells.values();
  }

  /** Forgets all cells; what the bounds have seen stays seen. */
  clear(): void {
    this.#cells.clear();
  }

  #bind(values: LabelValues<L>): string[] {
    return this.#names.map((name, index) => {
      const { known, max } = this.#bounds[index]!;
      const value = values[name]!;
      if (known.has(value)) return value;
      if (known.size >= max) return otherLabel;
      known.add(value);
      return value;
    });
  }

  #findBounded(values: readonly string[]): Cell<C> {
    const key = values.map((value) => `${value}\n`).join('');
    const existing = this.#cells.get(key);
    if (existing !== undefined) return existing;
    const isOverflow = values.every((value) => value === otherLabel);
    if (this.#cells.size >= this.#maxSeries && !isOverflow) return this.#findBounded(values.map(() => otherLabel));
    const labels = Object.fromEntries(this.#names.map((name, index) => [name, values[index]!]));
    const cell = { labels, content: this.#create() };
    this.#cells.set(key, cell);
    return cell;
  }
}
