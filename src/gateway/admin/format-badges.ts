// What protects a route, as HTML: a badge for each word, and beside it the policies behind it.
import { escapeHtml } from '../../base/escape-html.ts';
import type { OverviewRoute } from './describe-overview.ts';

/** The badges of a route; what it answers instead, when it is not served. */
export function formatBadges({ badges, answers, filters }: OverviewRoute): string {
  const parts = badges.map(({ word, tone, policies }) => {
    const names = policies.map((policy) => `<code>${escapeHtml(policy)}</code>`).join(', ');
    return `<span><span class="badge ${tone}">${escapeHtml(word)}</span>${names === '' ? '' : ` ${names}`}</span>`;
  });
  if (parts.length === 0 && answers === undefined && filters.some((filter) => filter.startsWith('redirect')))
    parts.push('<span class="badge quiet">redirect</span>');
  const list = parts.length === 0 ? '' : `<div class="badges">${parts.join('')}</div>`;
  return answers === undefined ? list : `${list}<p class="bad">answers ${escapeHtml(answers)}</p>`;
}
