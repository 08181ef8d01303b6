// The flags that `sessions list` and `sessions revoke` have in common.
import { defineFlags } from '../flags.ts';
import { adminTokenFileFlag } from '../gateway-flags.ts';

export const sessionsFlags = defineFlags({
  user: {
    type: 'string',
    placeholder: 'NAME',
    help: 'Of this user: a name, what the identity provider calls them, or the sub of their tokens',
  },
  admin: {
    type: 'string',
    default: 'http://127.0.0.1:15000',
    placeholder: 'URL',
    help: 'The admin port of a running gateway; with a shared store any of them will do',
  },
  adminTokenFile: adminTokenFileFlag,
  json: { type: 'boolean', help: 'Print one JSON object on standard output, and nothing else' },
});
