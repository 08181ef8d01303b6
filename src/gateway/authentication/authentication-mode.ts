// The mode of an authentication policy, as it is spelled there.
import { AuthenticationMode } from '../../ir/gen/config_pb.ts';

/** Names a mode. One that this gateway does not know is treated as the strictest one. */
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
