// What became of the discovery of an identity provider: its metadata, its issuer, and its clock.
import { describeOffset } from '../../base/clock-offset.ts';
import type { Discovery } from '../../gateway/authentication/login/idp/discover-metadata.ts';
import type { McpAuthenticationConfig } from '../../gateway/config/protected-resource.ts';
import type { Findings } from './online-report.ts';

/** Where the metadata is, or why none can be used. */
export function reportDiscovery(findings: Findings, discovery: Discovery, { message }: McpAuthenticationConfig): void {
  if (!discovery.ok) {
    const problems = discovery.tries.map(({ url, problem = '' }) =>
      problem.includes(url) ? problem : `${url}: ${problem}`,
    );
    for (const problem of problems) findings.remark('metadata', problem);
    findings.bad(
      'metadata',
      `No metadata of ${message.issuer} can be used.`,
      adviseOnMetadata(problems, message.metadataUrl),
    );
    return;
  }
  const used = discovery.tries.find(({ url }) => url === discovery.url);
  findings.good('metadata', `${discovery.url} in ${Math.round(used?.durationMs ?? 0)} ms`);
  for (const { url, problem } of discovery.tries) {
    // Other places need not have anything. A document that contradicts the one in use is worth knowing.
    if (problem?.startsWith('the document') === true) findings.remark('metadata', `${url}: ${problem}`);
  }
  const { issuer } = discovery.metadata;
  if (issuer === message.issuer) findings.good('issuer', 'identical in the policy and in the metadata');
  else findings.remark('issuer', `${issuer} in the metadata; this provider's tokens name ${message.issuer}`);
}

/** Tokens are judged by the gateway's clock. Which one is off cannot be told from here: two clocks have no referee. */
export function reportClock(findings: Findings, offsetMs: number | undefined): void {
  if (offsetMs === undefined || Math.abs(offsetMs) <= agreeingClocksMs) return;
  const isAhead = offsetMs > 0;
  findings.remark(
    'clock',
    `the identity provider's is ${describeOffset(offsetMs)} ${isAhead ? 'ahead of' : 'behind'} this machine's`,
    `Set the one that is off (NTP). Where the gateway's clock is as this machine's, ${isAhead ? 'new tokens seem to come from the future' : 'tokens seem to expire that much too early'}; clockSkew of the policy bridges a minute, and 10 at most.`,
  );
}

/** Dates are whole seconds, and answers travel. */
const agreeingClocksMs = 15_000;

/** An identity provider may have an address inside, and another one in its tokens: the metadata is then where it was found, and the issuer is what it says. */
function adviseOnAddress(url: string, issuer: string): string {
  return URL.parse(url)?.origin === URL.parse(issuer)?.origin
    ? ''
    : `, and metadataUrl: ${url}, if the gateway reaches it only there`;
}

/** By the most telling problem of all places. */
function adviseOnMetadata(problems: readonly string[], metadataUrl: string): string {
  const said = problems.join('\n');
  const [, url = '', found] = /^(\S+): the document names the issuer "([^"]+)"/m.exec(said) ?? [];
  if (found !== undefined)
    return `Set issuer: ${found} (exactly), if this is the identity provider that you mean${metadataUrl === '' ? adviseOnAddress(url, found) : '; otherwise correct metadataUrl'}.`;
  if (/the document/.test(said)) return 'This is for the identity provider to mend. Another document: set metadataUrl.';
  if (/not trusted/.test(said)) return 'For a private authority set jwks.caCertificateRef.';
  if (/allowInsecureHttp/.test(said)) return 'Use https; in a network that you trust, set allowInsecureHttp: true.';
  if (/a redirect/.test(said)) return 'Set issuer, or metadataUrl, to where it leads.';
  if (/answers \d/.test(said))
    return metadataUrl === ''
      ? 'Is issuer right, down to the last slash? If its metadata is elsewhere, set metadataUrl.'
      : 'Is metadataUrl right? Without it the usual places under issuer are asked.';
  return 'Is the identity provider up, and reachable from this machine?';
}
