// Asks for the keys of a JWT provider as a gateway does, and judges what that means for the tokens of its issuer (RFC 7517).
import type { GuardedFetcher } from '../../base/fetch-json.ts';
import type { JwtAuthenticationConfig } from '../../gateway/config/jwt-authentication-config.ts';
import { readCacheDuration, readKeyOrigin } from '../../gateway/authentication/token/key-origin.ts';
import { openKeySource } from '../../gateway/authentication/token/open-key-source.ts';
import { silentLog } from '../../base/log.ts';
import type { JwtProvider } from '../../ir/gen/config_pb.ts';
import { behindService, reportKeys } from './check-keys.ts';
import { Findings, type OnlineReport } from './online-report.ts';

interface CheckProviderOptions {
  readonly fetcher: GuardedFetcher;
  /** The trust anchors of a key, as PEM; undefined: the system's roots. */
  readonly readCa: (key: string) => string | undefined;
}

/** Looks at every provider of a policy. Never throws on what an identity provider answers. */
export function checkJwtProviders(
  { source, message }: JwtAuthenticationConfig,
  options: CheckProviderOptions,
): Promise<OnlineReport[]> {
  return Promise.all(message.providers.map((provider) => checkJwtProvider(source, provider, options)));
}

async function checkJwtProvider(
  policy: string,
  provider: JwtProvider,
  options: CheckProviderOptions,
): Promise<OnlineReport> {
  const findings = new Findings();
  await checkProviderKeys(findings, provider, options);
  if (provider.audiences.length > 0) findings.good('audience', provider.audiences.join(', '));
  else
    findings.remark(
      'audience',
      'any: a token that the issuer made for another service is taken as well',
      'Set audiences to what its tokens for this service carry.',
    );
  return {
    policy,
    provider: provider.name,
    issuer: provider.issuer,
    ok: findings.list.every(({ mark }) => mark !== 'bad'),
    findings: findings.list,
    flow: null,
    clients: [],
  };
}

async function checkProviderKeys(
  findings: Findings,
  { keys, ca }: JwtProvider,
  { fetcher, readCa }: CheckProviderOptions,
): Promise<void> {
  const origin = readKeyOrigin(keys, () => []);
  if (origin === undefined || origin.kind === 'endpoints') {
    findings.remark('keys', behindService);
    return;
  }
  const fetching = { fetcher, ca: readCa(ca), cacheDurationMs: readCacheDuration(keys), log: silentLog };
  await reportKeys(findings, openKeySource(origin, fetching), (why) => advise(origin.kind, why));
}

/** By the most telling part of the problem. */
function advise(kind: 'url' | 'inline', why: string): string {
  const effect = 'Without keys every token of this issuer is answered 503.';
  return `${effect} ${kind === 'inline' ? 'Put its public signing keys there.' : adviseOnUrl(why)}`;
}

function adviseOnUrl(why: string): string {
  if (/not trusted/.test(why)) return 'For a private authority set jwks.caCertificateRef.';
  if (/allowInsecureHttp/.test(why)) return 'Use https; in a network that you trust, set jwks.allowInsecureHttp: true.';
  if (/a redirect/.test(why)) return 'Set jwks.url to where it leads.';
  if (/answers \d|is no JSON|not JSON/.test(why))
    return "Is jwks.url right? It is the jwks_uri of the issuer's metadata.";
  if (/the key set at/.test(why)) return 'Does the identity provider publish its public signing keys there?';
  return 'Is the identity provider up, and reachable from this machine?';
}
