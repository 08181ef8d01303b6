// Several properties of the same inputs: all of them begin with the same seed, so they draw the same inputs, and what is expensive to make is made once.
import * as fc from 'fast-check';

/** The same inputs as `arbitrary`. What a property draws beside them does not depend on which property drew them first. */
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
    const own = random.clone();
    random.nextInt();
    let value = this.#drawn.get(key);
    if (value === undefined) this.#drawn.set(key, (value = this.#arbitrary.generate(own, biasFactor)));
    return value;
  }

  override canShrinkWithoutContext(value: unknown): value is T {
    return this.#arbitrary.canShrinkWithoutContext(value);
  }

  override shrink(value: T, context: unknown): fc.Stream<fc.Value<T>> {
    return this.#arbitrary.shrink(value, context);
  }
}
