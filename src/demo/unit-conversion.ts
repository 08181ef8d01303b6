// Units that the sample MCP server converts between, each as a factor (and for temperatures an offset) to a base unit.

interface Unit {
  readonly quantity: string;
  readonly factor: number;
  readonly offset?: number;
}

const units = {
  mm: { quantity: 'length', factor: 0.001 },
  cm: { quantity: 'length', factor: 0.01 },
  m: { quantity: 'length', factor: 1 },
  km: { quantity: 'length', factor: 1000 },
  in: { quantity: 'length', factor: 0.0254 },
  ft: { quantity: 'length', factor: 0.3048 },
  mi: { quantity: 'length', factor: 1609.344 },
  g: { quantity: 'mass', factor: 0.001 },
  kg: { quantity: 'mass', factor: 1 },
  oz: { quantity: 'mass', factor: 0.028349523125 },
  lb: { quantity: 'mass', factor: 0.45359237 },
  ml: { quantity: 'volume', factor: 0.001 },
  l: { quantity: 'volume', factor: 1 },
  gal: { quantity: 'volume', factor: 3.785411784 },
  'km/h': { quantity: 'speed', factor: 1 / 3.6 },
  'm/s': { quantity: 'speed', factor: 1 },
  mph: { quantity: 'speed', factor: 0.44704 },
  K: { quantity: 'temperature', factor: 1 },
  C: { quantity: 'temperature', factor: 1, offset: 273.15 },
  F: { quantity: 'temperature', factor: 5 / 9, offset: 459.67 * (5 / 9) },
} as const satisfies Record<string, Unit>;

/** The symbol of a unit. */
type UnitSymbol = keyof typeof units;

/** All unit symbols, for schemas. */
export const unitSymbols = Object.keys(units) as [UnitSymbol, ...UnitSymbol[]];

/** The result of a conversion. */
type Conversion =
  | { readonly kind: 'converted'; readonly value: number; readonly quantity: string }
  | { readonly kind: 'incompatible'; readonly from: string; readonly to: string };

/** Converts a value between two units of the same quantity. */
export function convertUnits(value: number, from: UnitSymbol, to: UnitSymbol): Conversion {
  const source: Unit = units[from];
  const target: Unit = units[to];
  if (source.quantity !== target.quantity) {
    return { kind: 'incompatible', from: source.quantity, to: target.quantity };
  }
  const base = value * source.factor + (source.offset ?? 0);
  const converted = (base - (target.offset ?? 0)) / target.factor;
  // Ten significant digits hide what binary fractions add, and keep everything that was measured.
  return { kind: 'converted', value: Number(converted.toPrecision(10)), quantity: source.quantity };
}
