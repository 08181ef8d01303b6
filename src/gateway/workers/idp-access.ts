// How a gateway gets to identity providers. A process that serves alone asks them itself.
import type { ConnectIdp } from '../config/idp-connection.ts';
import type { OpenKeySource } from '../authentication/token/open-key-source.ts';

export interface IdpAccess {
  readonly connectIdp: ConnectIdp;
  readonly openKeySource: OpenKeySource;
}
