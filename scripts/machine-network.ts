// The machine's network, for whoever runs in a network of its own (test-run/own-network.ts) and has to download something.

/** The variable that names a file which stands for the machine's network. Without it, this process is in that network. */
export const machineNetworkVariable = 'TEST_MACHINE_NETWORK';

/** The words of a command that runs in the machine's network, wherever this process is. */
export function reachMachineNetwork(
  command: string,
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  const network = process.env[machineNetworkVariable];
  return network === undefined
    ? { command, args }
    : { command: 'nsenter', args: [`--net=${network}`, command, ...args] };
}
