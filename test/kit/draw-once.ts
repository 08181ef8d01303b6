// Several properties of the same inputs: all of them begin with the same seed, so they draw the same inputs, and what is expensive to make is made once.
import * as fc from 'fast-check';

/** The same inputs as `arbitrary`, for properties of nothing else: what is drawn beside them would depend on who drew them first. */
export function drawOnce<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return new DrawnOnce(arbitrary);
}

class DrawnOnce<T> extends fc.Arbitrary<T> {
  readonly #arbitrary: fc.Arbitrary<T>;
  readonly #drawn = new Map<string, fc.Value<T>>();

  constructor(arbitrary: fc.Arbitrary<T>) {
    super();
    this.#arbitrary = arbitrary;
  }

  override generate(random: fc.Random, biasFactor: number | undefined): fc.Value<T> {
    const key = JSON.stringify([random.getState(), biasFactor]);
    let value = this.#drawn.get(key);
    if (value === undefined) this.#drawn.set(key, (value = this.#arbitrary.generate(random, biasFactor)));
    return value;
  }

  override canShrinkWithoutContext(value: unknown): value is T {
    return this.#arbitrary.canShrinkWithoutContext(value);
  }

  override shrink(value: T, context: unknown): fc.Stream<fc.Value<T>> {
    return this.#arbitrary.shrink(value, context);
  }
}
