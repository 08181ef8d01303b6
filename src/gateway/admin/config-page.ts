// /config as a page: the configuration in force, resource by resource, as operators write them.
import { escapeHtml } from '../../base/escape-html.ts';
import type { Configuration } from '../../ir/configuration.ts';
import type { DescribedFederation, DescribedTarget } from './describe-federations.ts';
import { describeResources, type DescribedResource } from './describe-resources.ts';
import { writeTarget } from './format-federations.ts';
import { formatYaml } from './format-yaml.ts';
import { answerPage } from './page-frame.ts';
import type { PlainAnswer } from './plain-server.ts';

/** Few resources are shown open. */
const maxOpen = 12;

/** The page. */
export function answerConfigPage(
  configuration: Configuration,
  version: number,
  federations: readonly DescribedFederation[] = [],
): PlainAnswer {
  const servers = new Map(federations.map(({ backend, targets }) => [backend, targets]));
  const resources = describeResources(configuration);
  const byKind = [...Map.groupBy(resources, ({ kind }) => kind)];
  const isOpen = resources.length <= maxOpen;
  const counts = byKind.map(
    ([kind, own]) =>
      `<a href="#kind-${escapeHtml(kind)}">${own.length} ${escapeHtml(own.length === 1 ? kind : formPlural(kind))}</a>`,
  );
  const sections = byKind.map(
    ([kind, own]) =>
      `<h2 id="kind-${escapeHtml(kind)}">${escapeHtml(kind)}</h2>\n${own.map((each) => formatResource(each, isOpen, servers)).join('\n')}`,
  );
  return answerPage(
    'Configuration - mcp-gatehouse admin',
    `<h1>Configuration</h1>
<p class="soft">Version ${version}, as it is in force: defaults are filled in, references to Services are followed, secrets are redacted. Resources that lead nowhere are not part of it.
<a href="/config?format=json">As JSON, for programs</a></p>
<p>${counts.length === 0 ? 'Nothing is configured.' : counts.join(', ')}</p>
${sections.join('\n')}`,
    { current: '/config', wide: true },
  );
}

const stateTones: Readonly<Record<DescribedTarget['health'], string>> = { up: '', down: 'bad', unknown: 'soft' };

function formPlural(kind: string): string {
  return kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`;
}

function formatResource(
  resource: DescribedResource,
  isOpen: boolean,
  servers: ReadonlyMap<string, readonly DescribedTarget[]>,
): string {
  const { kind, namespace, name, spec, problems } = resource;
  const targets = servers.get(`${kind}/${namespace}/${name}`) ?? [];
  const states = targets.map(
    (target) => `<li class="${stateTones[target.health]}">${escapeHtml(writeTarget(target))}</li>`,
  );
  const title = [namespace, name].filter((part) => part !== '').join('/') || resource.kind;
  const notes = problems.map((problem) => `<p class="notice">${escapeHtml(problem)}</p>`).join('');
  const state = problems.length === 0 ? '' : ' <span class="state bad">has problems</span>';
  return `<details${isOpen || problems.length > 0 ? ' open' : ''}>
<summary><code>${escapeHtml(title)}</code>${state}</summary>
${notes}${states.length === 0 ? '' : `<ul class="servers">${states.join('')}</ul>`}<pre>${escapeHtml(formatYaml(spec))}</pre>
</details>`;
}
