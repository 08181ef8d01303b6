// inNetwork(address, network): CEL has no function for addresses, and comparing their texts is how rules get bypassed.
import { type IpNetwork, isInNetwork, parseIpAddress, parseIpNetwork } from '../../base/ip-network.ts';
import { boolType, stringType } from '../cel-type.ts';
import { Failure, type Result } from '../values.ts';
import { overload, type FunctionTable } from './overload.ts';

const noAddress = new Failure('the text is not an IP address');
const noNetwork = new Failure(
  'the text is not a network such as 10.0.0.0/8 or 2001:db8::/32, without bits after the prefix',
);

export const networks: FunctionTable = {
  inNetwork: [
    overload(
      [stringType, stringType],
      boolType,
      (address, network) => {
        const parsed = parseIpNetwork(network);
        return parsed === undefined ? noNetwork : judge(address, parsed);
      },
      ([address, network]) => {
        if (typeof address === 'string' && parseIpAddress(address) === undefined)
          return { problem: noAddress.message, argument: 0 };
        if (typeof network !== 'string') return undefined;
        const parsed = parseIpNetwork(network);
        if (parsed === undefined) return { problem: noNetwork.message, argument: 1 };
        return { run: (text: string) => judge(text, parsed) };
      },
    ),
  ],
};

function judge(text: string, network: IpNetwork): Result {
  const address = parseIpAddress(text);
  return address === undefined ? noAddress : isInNetwork(address, network);
}
