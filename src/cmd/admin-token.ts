// `mcp-gatehouse admin-token`: prints the token of the admin port, for people who may run programs where the gateway runs.
import { readAdminToken } from './admin-token-file.ts';
import { defineCommand, fail, refuse } from './command.ts';
import { adminTokenFileFlag } from './gateway-flags.ts';

export const adminTokenCommand = defineCommand({
  name: 'admin-token',
  usage: '[--admin-token-file PATH]',
  summary: `Prints the token that the admin port asks for. In a cluster the file is known:
  kubectl exec -n NAMESPACE deploy/NAME -- mcp-gatehouse admin-token`,
  flags: { adminTokenFile: adminTokenFileFlag },
  examples: ['mcp-gatehouse admin-token --admin-token-file /run/mcp-gateway/admin-token'],
  run({ adminTokenFile: path }, io) {
    if (path === '')
      return refuse('say which file: --admin-token-file PATH; without one the admin port asks for no token');
    const token = readAdminToken(path);
    if (!token.ok) return fail(1, token.message);
    io.stdout(`${token.token}\n`);
    return 0;
  },
});
