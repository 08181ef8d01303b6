// The report for a person: a table per kind, then what is not well, why, and what to do. Pure.
import { formatAccess } from '../../base/access-count.ts';
import { createPalette, escapeControls, type Palette } from '../../base/terminal.ts';
import { formatProblems, formatRemarks, formatRollouts, indentText, listRollouts } from './format-findings.ts';
import { formatTable, listTables } from './format-tables.ts';
import type { StatusController, StatusReport, StatusState } from './status-report.ts';

interface FormatOptions {
  readonly color: boolean;
  /** Columns of the terminal; undefined: as wide as it gets. */
  readonly width: number | undefined;
}

/** Formats the whole report. */
export function formatStatus(report: StatusReport, { color, width }: FormatOptions): string {
  const palette = createPalette(color);
  const tables = listTables(report);
  const parts = [
    formatController(report.controller, width, palette),
    ...tables.filter(({ rows }) => rows.length > 0).map((table) => formatTable(table, width, palette)),
    formatNothing(report),
    formatOthers(report, palette),
    formatRollouts(report, width, palette),
    formatOpenRoutes(report, palette),
    formatProblems(report, width, palette),
    formatRemarks(report, width, palette),
    formatEnd(report, palette),
  ];
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** One line, and what could not be seen. */
function formatController(controller: StatusController, width: number | undefined, palette: Palette): string[] {
  const { namespace, deployments, leader, notes } = controller;
  const said = deployments.map(
    ({ name: own, replicas, readyReplicas }) => `${namespace}/${own}, ${readyReplicas} of ${replicas} ready`,
  );
  if (leader !== null) said.push(leader.expired ? 'nobody leads' : `led by ${leader.holder}`);
  const text = said.length > 0 ? said.join(', ') : `not to be seen in namespace ${namespace}`;
  const isGood = leader?.expired !== true && deployments.every(({ readyReplicas }) => readyReplicas > 0);
  const head = `${palette.bold('Controller')}  ${said.length === 0 ? palette.dim(text) : isGood ? escapeControls(text) : palette.red(escapeControls(text))}`;
  return [
    head,
    ...notes.flatMap((note) => indentText(escapeControls(note), 2, width).map((line) => palette.dim(line))),
  ];
}

function formatNothing(report: StatusReport): string[] {
  const isRead = !report.unread.some(({ kind }) => kind !== 'GatewayClass');
  const count = countResources(report) - report.gatewayClasses.length;
  if (count > 0 || !isRead) return [];
  return report.namespace === null
    ? ['There are no Gateways, HTTPRoutes, ProxyPolicies or ProxyBackends.']
    : [
        `There are no Gateways, HTTPRoutes, ProxyPolicies or ProxyBackends in namespace ${report.namespace}; -A shows all namespaces.`,
      ];
}

function formatOthers({ ofOthers: { gateways, httpRoutes } }: StatusReport, palette: Palette): string[] {
  const counted = [describeCount(gateways, 'Gateway'), describeCount(httpRoutes, 'HTTPRoute')].filter(
    (text) => text !== '',
  );
  return counted.length === 0
    ? []
    : [palette.dim(`Not shown, because other controllers serve them: ${counted.join(', ')}.`)];
}

function describeCount(count: number, what: string): string {
  return count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`;
}

function formatOpenRoutes({ access }: StatusReport, palette: Palette): string[] {
  if (access.open === 0 && access.closed === 0) return [];
  const text = `${formatAccess(access)}.`;
  return [access.open > access.publicAccess ? palette.yellow(text) : text];
}

function formatEnd(report: StatusReport, palette: Palette): string[] {
  if (report.well && listRollouts(report).length > 0) return [palette.green('All is well so far.')];
  if (report.well) return [palette.green('All is well.')];
  const all = listResources(report);
  const bad = all.filter(({ state }) => state !== 'well').length;
  if (bad === 0) return [palette.red('Not all is well.')];
  return [palette.red(`${bad} of ${all.length} resources ${bad === 1 ? 'is' : 'are'} not well.`)];
}

function listResources(report: StatusReport): readonly { readonly state: StatusState }[] {
  const { gatewayClasses, gateways, httpRoutes, proxyPolicies, proxyBackends, inferencePools } = report;
  return [...gatewayClasses, ...gateways, ...httpRoutes, ...proxyPolicies, ...proxyBackends, ...inferencePools];
}

function countResources(report: StatusReport): number {
  return listResources(report).length;
}
