// How hard tests try. `npm test` tries little, so that it is quick, and the same each time, so that it says the same twice. `npm run test:long` tries
// everything, with another seed each time: TEST_EFFORT=full, TEST_SEED=N.

/** Every input is tried that a test knows of. */
export const isFull = process.env['TEST_EFFORT'] === 'full';

/** What `npm test` draws from. */
const fixedSeed = 20_261_101;

/** Of all random inputs. scripts/test-run/lane.ts hands it to fast-check. */
export const seed = Number(process.env['TEST_SEED'] ?? fixedSeed);

/** Some of these, from all over the list. */
export function select<T>(all: readonly T[], quick: number): readonly T[] {
  return isFull ? all : all.filter((_each, index) => index % Math.ceil(all.length / quick) === 0);
}

/** How many inputs a property is tried on, or how often something is done. `quick` is for inputs that are expensive each. */
export function effort(full: number, quick: number = Math.min(full, 1_000)): number {
  return isFull ? full : quick;
}
