// The address rules of the gateway, but clients may name loopback: the "public" servers of tests are there. Production code cannot reach it.
import { type AddressPolicy, classifyAddress, guardAddress } from '../../src/base/address-guard.ts';

/** For `addressPolicy` of a fetcher. */
export const guardAddressExceptLoopback: AddressPolicy = (address, chosenBy) =>
  classifyAddress(address).kind === 'loopback' ? undefined : guardAddress(address, chosenBy);
