// What `check --online` prints about an identity provider, in the words of a page of docs/idp: hosts, times and keys as the page has them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { checkCommand } from '../../src/cmd/check.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { formatResources } from '../idp/protected-gateway.ts';
import type { ProtectedSystem } from '../idp/protected-system.ts';

/** The lines about the identity provider, without those about clients. `issuer` is the page's. */
export async function checkForPage({ idp, mcpServer, url }: ProtectedSystem, issuer: string): Promise<string> {
  const { origin, pathname } = new URL(url);
  const target = new URL(mcpServer.url);
  const resources = formatResources(Number(new URL(url).port), {
    backends: [
      { path: pathname, port: Number(target.port), targetPath: target.pathname, authentication: idp.authentication },
    ],
    secrets: idp.secrets,
    origin,
  });
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-check-'));
  try {
    writeFileSync(join(folder, 'gateway.yaml'), resources.map((resource) => stringify(resource)).join('---\n'));
    let output = '';
    const write = (text: string): void => void (output += text);
    await executeCommand(checkCommand, ['-f', folder, '--online'], {
      stdout: write,
      stderr: write,
      color: false,
      env: {},
    });
    const block = /^Identity provider of [\s\S]*?(?=^MCP clients$|^$)/m.exec(output)?.[0] ?? output;
    return block
      .replaceAll(idp.issuer, issuer)
      .replaceAll(new URL(idp.issuer).origin, new URL(issuer).origin)
      .replaceAll(`${origin}/.oauth${pathname}/`, 'https://mcp.example.com/.oauth/mcp/')
      .replaceAll(/ in \d+ ms$/gm, ' in 38 ms')
      .replaceAll(/ key \S+ is /g, ' key 7Zq... is ');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
