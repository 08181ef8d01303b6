// /routes as a page: every listener with its routes in the order in which they are tried, and every protection in full.
import { formatAccess } from '../../base/access-count.ts';
import { escapeHtml } from '../../base/escape-html.ts';
import { formatCardTable, formatLines } from './card-table.ts';
import { type DescribedAuthentication, formatFlow } from './describe-authentications.ts';
import { type DescribedIssuedTokens, formatIssuedTokens } from './describe-issued-tokens.ts';
import { countAccess, describeRoute, formatPlace, groupRoutes } from './describe-overview.ts';
import type { ServedMatch, ServedRoutes } from './describe-routes.ts';
import type { DescribedFederation } from './describe-federations.ts';
import { formatBadges } from './format-badges.ts';
import { formatFederations } from './format-federations.ts';
import { ProtectionBlocks, type ProtectionLine } from './format-protection.ts';
import { answerPage } from './page-frame.ts';
import type { PlainAnswer } from './plain-server.ts';

const columns = [
  ['Match', 25],
  ['Protection', 40],
  ['Route', 20],
  ['To', 15],
] as const;
const resourceColumns = [
  ['Resource', 20],
  ['Policy', 15],
  ['Login at', 25],
  ['Metadata', 40],
] as const;

/** The page. */
export function answerRoutesPage(
  served: ServedRoutes,
  authentications: readonly DescribedAuthentication[],
  federations: readonly DescribedFederation[],
  nowMs: number,
): PlainAnswer {
  const blocks = new ProtectionBlocks();
  const listeners = served.ports.flatMap(({ address, port, protocol, listeners: own }) =>
    own.map(({ listener, hostname, matches }) => {
      const place = `${address === '' ? '*' : address}:${port} ${protocol}${hostname === '' ? '' : `, host ${hostname}`}`;
      const table =
        matches.length === 0
          ? '<p class="soft">No routes: every request is answered 404.</p>'
          : formatCardTable(
              `Routes of ${listener}`,
              columns,
              matches.map((match) => formatMatch(match, blocks)),
            );
      return `<h2><code>${escapeHtml(listener)}</code> <span class="soft">${escapeHtml(place)}</span></h2>\n${table}`;
    }),
  );
  return answerPage(
    'Routes - mcp-gatehouse admin',
    `<h1>Routes</h1>
<p class="soft"><strong>${formatAccess(countAccess(groupRoutes(served)))}.</strong> Of each listener the first match is served: by hostname, then in this order.
<a href="/routes?format=text">As text</a>, <a href="/routes?format=json">as JSON</a></p>
${listeners.length === 0 ? '<p>Nothing is served: the configuration has no usable listener.</p>' : listeners.join('\n')}
${formatBlocks(blocks)}
${formatResources(authentications)}
${formatFederations(federations, nowMs)}`,
    { current: '/routes', wide: true },
  );
}

function formatMatch(match: ServedMatch, blocks: ProtectionBlocks): string[] {
  const route = describeRoute(match, [], []);
  const number = /\[(\d+)\]$/.exec(blocks.refer(match.protection))?.[1];
  const reference = number === undefined ? '' : ` <a href="#protection-${number}">why [${number}]</a>`;
  return [
    `<code>${escapeHtml(formatPlace(match))}</code>`,
    `${formatBadges(route)}${reference}`,
    `<code>${escapeHtml(match.route)}</code> rule ${escapeHtml(match.rule)}`,
    formatLines([...route.backends, ...route.filters].map(escapeHtml)),
  ];
}

function formatBlocks(blocks: ProtectionBlocks): string {
  const list = blocks.list();
  if (list.length === 0) return '';
  const items = list.map(
    (lines, index) => `<li id="protection-${index + 1}"><ul class="plain">${lines.map(formatLine).join('')}</ul></li>`,
  );
  const rules = blocks.listRules();
  return `<h2>Protections</h2>
<ol class="numbered">${items.join('\n')}</ol>
${rules.length === 0 ? '' : `<h2>Rules</h2>\n<ul class="plain">${rules.map(formatLine).join('')}</ul>`}`;
}

function formatLine({ text, isDetail, kind }: ProtectionLine): string {
  const tone = kind === 'remark' ? 'wait' : kind === 'silent' ? 'soft' : '';
  const isExpression = isDetail && kind === 'plain';
  const content = isExpression ? `<code>${escapeHtml(text)}</code>` : escapeHtml(text);
  return `<li class="${isDetail ? 'detail ' : ''}${tone}">${content}</li>`;
}

function formatCallbacks(urls: readonly string[]): string {
  return urls.length === 0
    ? ''
    : `<p class="soft">Redirect URI of the client there:</p>${formatLines(urls.map((each) => `<code>${escapeHtml(each)}</code>`))}`;
}

/** Where the gateway issues the tokens: to whom, and how. */
function formatIssuing(whoGetsIn: string | null, tokens: DescribedIssuedTokens | null): string {
  return [
    whoGetsIn === null ? '' : `<p class="soft">Lets in ${escapeHtml(whoGetsIn)}.</p>`,
    tokens === null
      ? ''
      : `<p class="${tokens.activeKey === null ? 'bad' : 'soft'}">${escapeHtml(capitalize(formatIssuedTokens(tokens)))}.</p>`,
  ].join('');
}

function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function formatResources(authentications: readonly DescribedAuthentication[]): string {
  const rows = authentications.flatMap(({ policy, mode, issuer, flow, whoGetsIn, issuedTokens, resources }) =>
    resources.map(({ url, metadataUrls, callbackUrls }) => [
      `<code>${escapeHtml(url)}</code>`,
      `<code>${escapeHtml(policy)}</code> ${mode}`,
      `<code>${escapeHtml(issuer)}</code><p class="soft">${escapeHtml(formatFlow(flow))}</p>${formatIssuing(whoGetsIn, issuedTokens)}${formatCallbacks(callbackUrls)}`,
      formatLines(metadataUrls.map((each) => `<code>${escapeHtml(each)}</code>`)),
    ]),
  );
  if (rows.length === 0) return '';
  return `<h2>Protected resources</h2>
${formatCardTable('Protected resources and their metadata', resourceColumns, rows)}`;
}
