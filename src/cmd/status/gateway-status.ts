// `status --admin`: how the servers of federations are, as a running gateway without a cluster sees them. Reads its admin port.
import { createPalette, escapeControls } from '../../base/terminal.ts';
import type { JsonObject } from '../../base/json-object.ts';
import type { DescribedFederation } from '../../gateway/admin/describe-federations.ts';
import { writeFederations } from '../../gateway/admin/format-federations.ts';
import { type AdminPort, askAdminPort } from '../explain/ask-gateway.ts';

/** The JSON form is this, and documented in docs/status.md. */
export interface GatewayStatus {
  readonly server: string;
  /** No server is down. */
  readonly well: boolean;
  readonly federations: readonly DescribedFederation[];
}

type Read = { readonly ok: true; readonly status: GatewayStatus } | { readonly ok: false; readonly problem: string };

/** Asks the gateway. */
export async function readGatewayStatus(admin: AdminPort): Promise<Read> {
  const answer = await askAdminPort(admin, '/routes?format=json');
  if (!answer.ok) return answer;
  const { status, body, origin } = answer;
  if (status !== 200 || !hasFederations(body))
    return { ok: false, problem: `${origin} is not the admin port of a gateway: it answers ${status}` };
  const { federations } = body;
  const well = federations.every(({ targets }) => targets.every(({ health }) => health !== 'down'));
  return { ok: true, status: { server: origin, well, federations } };
}

/** For a person. */
export function formatGatewayStatus({ server, federations }: GatewayStatus, color: boolean): string {
  const palette = createPalette(color);
  if (federations.length === 0) return `The gateway at ${server} has no federation; its other pages: ${server}/\n`;
  const targets = federations.flatMap((each) => each.targets);
  const down = targets.filter(({ health }) => health === 'down').length;
  const lines = writeFederations(federations).map((line) => {
    const text = escapeControls(line);
    if (text.startsWith('federation ')) return palette.bold(text);
    return /^ {2}\S+(?: \(\S+\))?: down\b/.test(text) ? palette.red(text) : text;
  });
  return `${lines.join('\n')}${down} of ${targets.length} ${targets.length === 1 ? 'server' : 'servers'} ${down === 1 ? 'is' : 'are'} down.\n`;
}

function hasFederations(
  body: JsonObject | undefined,
): body is JsonObject & { readonly federations: readonly DescribedFederation[] } {
  return Array.isArray(body?.['federations']);
}
