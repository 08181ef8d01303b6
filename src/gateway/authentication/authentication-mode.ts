// The mode of an authentication policy, in the policy's spelling.
import { AuthenticationMode } from '../../ir/gen/config_pb.ts';

/** Names a mode. An unknown mode is treated as the strictest one. */
export function describeMode(mode: AuthenticationMode): 'Strict' | 'Optional' | 'Permissive' {
  switch (mode) {
    case AuthenticationMode.OPTIONAL:
      return 'Optional';
    case AuthenticationMode.PERMISSIVE:
      return 'Permissive';
    default:
      return 'Strict';
  }
}
