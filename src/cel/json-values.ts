// JSON (claims, headers, arguments of tools) as values of expressions. Nothing is copied: a member is converted when it is read.
// Members are an object's own ones: `jwt.constructor` is a claim of that name, or absent.
import { ambiguous } from './expression.ts';
import { Failure, ListValue, MapValue, type Result, type Value } from './values.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const sentTwice = new Failure('the parameter was sent more than once, and the backend may use another of its values');
const tooLarge = new Failure('the number is beyond 2^53 and cannot be represented exactly');
const noJson = new Failure('the value has a type that rules cannot read');

/**
 * A JSON value as a value. Whole numbers are ints, others doubles. Beyond 2^53 the number that was read may be a neighbour of the one that
 * was written: a rule about it could not be trusted.
 */
function fromJson(value: unknown): Result {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isSafeInteger(value)) return BigInt(value);
      return Math.abs(value) > Number.MAX_SAFE_INTEGER ? tooLarge : value;
    case 'object':
      if (value === null) return null;
      return Array.isArray(value) ? new JsonList(value) : new JsonMap(value as JsonObject);
    default:
      return value === ambiguous ? sentTwice : noJson;
  }
}

class JsonList extends ListValue {
  readonly #items: readonly unknown[];
  constructor(items: readonly unknown[]) {
    super();
    this.#items = items;
  }
  get size(): number {
    return this.#items.length;
  }
  get(index: number): Result {
    return fromJson(this.#items[index]);
  }
}

/** A JSON object as a map from strings. */
export class JsonMap extends MapValue {
  readonly #members: JsonObject;
  constructor(members: JsonObject) {
    super();
    this.#members = members;
  }
  get size(): number {
    return Object.keys(this.#members).length;
  }
  get(key: Value): Result | undefined {
    return typeof key === 'string' ? readMember(this.#members, key) : undefined;
  }
  has(key: Value): boolean {
    return typeof key === 'string' && Object.hasOwn(this.#members, key);
  }
  keys(): readonly Value[] {
    return Object.keys(this.#members);
  }
}

/** An object's own member; undefined when there is none. */
function readMember(members: JsonObject, name: string): Result | undefined {
  return Object.hasOwn(members, name) ? fromJson(members[name]) : undefined;
}
