// The values of expressions. A value that cannot be determined is a Failure, which is passed on like a value: absent claims are common, and an exception
// for each would cost more than the whole rule.

/** A CEL value: int is a bigint, double a number, null is null. */
export type Value =
  | boolean
  | bigint
  | number
  | string
  | null
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeName
  | ListValue
  | MapValue;

/** A value, or why there is none. */
export type Result = Value | Failure;

/** Why there is no value. Not an Error: no stack, and mostly made once for all requests. */
export class Failure {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly kind = 'uint';
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

/** A point in time, in nanoseconds since 1970. */
export class Timestamp {
  readonly kind = 'timestamp';
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A length of time. */
export class Duration {
  readonly kind = 'duration';
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A type as a value: what type() says, and what the words int, string... stand for. */
export class TypeName {
  readonly kind = 'type';
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A list. Elements are made when they are asked for. */
export abstract class ListValue {
  readonly kind = 'list';
  abstract readonly size: number;
  /** The index is within the list. */
  abstract get(index: number): Result;
}

/** A map. */
export abstract class MapValue {
  readonly kind = 'map';
  abstract readonly size: number;
  /** Undefined: there is no such key. */
  abstract get(key: Value): Result | undefined;
  abstract has(key: Value): boolean;
  abstract keys(): readonly Value[];
}

/** A list that an expression made. */
export class MadeList extends ListValue {
  readonly #items: readonly Value[];
  constructor(items: readonly Value[]) {
    super();
    this.#items = items;
  }
  get size(): number {
    return this.#items.length;
  }
  get(index: number): Value {
    return this.#items[index]!;
  }
}

/** A map that an expression made. Keys are bool, int, uint or string; numbers are the same key when they are equal. */
export class MadeMap extends MapValue {
  readonly #entries: ReadonlyMap<boolean | bigint | string, readonly [key: Value, value: Value]>;
  constructor(entries: ReadonlyMap<boolean | bigint | string, readonly [key: Value, value: Value]>) {
    super();
    this.#entries = entries;
  }
  get size(): number {
    return this.#entries.size;
  }
  get(key: Value): Value | undefined {
    return this.#entries.get(indexKey(key)!)?.[1];
  }
  has(key: Value): boolean {
    return this.#entries.has(indexKey(key)!);
  }
  keys(): readonly Value[] {
    return Array.from(this.#entries.values(), ([key]) => key);
  }
}

/** Under which key an entry is kept; undefined when the value cannot be a key. */
export function indexKey(key: Value): boolean | bigint | string | undefined {
  if (typeof key === 'string' || typeof key === 'bigint' || typeof key === 'boolean') return key;
  if (key instanceof Uint) return key.value;
  // Only for looking up: 1.0 finds 1.
  return typeof key === 'number' && Number.isInteger(key) ? BigInt(key) : undefined;
}

/** The kind of a value, in the words of CEL. */
export type Kind =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'null'
  | 'timestamp'
  | 'duration'
  | 'type'
  | 'list'
  | 'map';

/** Tells the kind of a value. */
export function kindOf(value: Value): Kind {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    default:
      if (value === null) return 'null';
      return value instanceof Uint8Array ? 'bytes' : value.kind;
  }
}

/** For people: "a string", "an int". */
export function describeKind(kind: Kind): string {
  if (kind === 'null' || kind === 'bytes') return kind;
  return `${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind}`;
}
