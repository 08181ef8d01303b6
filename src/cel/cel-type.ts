// The types of expressions, as far as they are known before anything is evaluated.
import {
  describeKind,
  type Duration,
  type Kind,
  type ListValue,
  type MapValue,
  type Timestamp,
  type TypeName,
  type Uint,
  type Value,
} from './values.ts';

/** A type. `V` is what its values are in JavaScript; nothing is stored for it. */
export type CelType<V extends Value = Value> = (
  | { readonly kind: ScalarKind }
  | { readonly kind: 'list'; readonly element: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
) & { readonly values?: V };

/** `dyn` is known only at run time, such as a claim; `none` is the type of elements of `[]`, which has no values. */
type ScalarKind = 'dyn' | 'none' | Exclude<Kind, 'list' | 'map'>;

export const dynType: CelType = { kind: 'dyn' };
const noneType: CelType = { kind: 'none' };
export const boolType: CelType<boolean> = { kind: 'bool' };
export const intType: CelType<bigint> = { kind: 'int' };
export const uintType: CelType<Uint> = { kind: 'uint' };
export const doubleType: CelType<number> = { kind: 'double' };
export const stringType: CelType<string> = { kind: 'string' };
export const bytesType: CelType<Uint8Array> = { kind: 'bytes' };
export const nullType: CelType<null> = { kind: 'null' };
export const timestampType: CelType<Timestamp> = { kind: 'timestamp' };
export const durationType: CelType<Duration> = { kind: 'duration' };
export const typeType: CelType<TypeName> = { kind: 'type' };

/** A list of such elements. */
export function listOf(element: CelType): CelType<ListValue> {
  return { kind: 'list', element };
}

/** A map with such keys and values. */
export function mapOf(key: CelType, value: CelType): CelType<MapValue> {
  return { kind: 'map', key, value };
}

/** The type of [], which is compatible with every list. */
export const emptyList: CelType<ListValue> = listOf(noneType);
export const emptyMap: CelType<MapValue> = mapOf(noneType, noneType);

export const anyList: CelType<ListValue> = listOf(dynType);
export const anyMap: CelType<MapValue> = mapOf(dynType, dynType);

/** False when no value can be of both types. */
export function areCompatible(left: CelType, right: CelType): boolean {
  if (isOpen(left) || isOpen(right)) return true;
  if (left.kind === 'list') return right.kind === 'list' && areCompatible(left.element, right.element);
  if (left.kind === 'map')
    return right.kind === 'map' && areCompatible(left.key, right.key) && areCompatible(left.value, right.value);
  return left.kind === right.kind;
}

/** Whether the type is not known before evaluation, or has no values. */
export function isOpen({ kind }: CelType): boolean {
  return kind === 'dyn' || kind === 'none';
}

/** The narrowest type that has the values of both. */
export function joinTypes(left: CelType, right: CelType): CelType {
  if (left.kind === 'none') return right;
  if (right.kind === 'none') return left;
  if (left.kind === 'list' && right.kind === 'list') return listOf(joinTypes(left.element, right.element));
  if (left.kind === 'map' && right.kind === 'map')
    return mapOf(joinTypes(left.key, right.key), joinTypes(left.value, right.value));
  return left.kind === right.kind ? left : dynType;
}

/** True when no check at run time is needed: the type is fully known. */
export function isSettled(wanted: CelType, type: CelType): boolean {
  return wanted.kind === 'dyn' || wanted.kind === type.kind;
}

/** For people: "a list of strings". */
export function describeType(type: CelType): string {
  switch (type.kind) {
    case 'dyn':
    case 'none':
      return 'any value';
    case 'list':
      return isOpen(type.element) ? 'a list' : `a list of ${describeMany(type.element)}`;
    case 'map':
      if (!isOpen(type.key) && type.key.kind !== 'string')
        return `a map from ${describeMany(type.key)} to ${describeMany(type.value)}`;
      return isOpen(type.value) ? 'a map' : `a map of ${describeMany(type.value)}`;
    default:
      return describeKind(type.kind);
  }
}

/** "strings" */
export function describeMany(type: CelType): string {
  if (isOpen(type)) return 'anything';
  return type.kind === 'bytes' ? type.kind : `${type.kind}s`;
}
