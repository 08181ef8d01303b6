// What `status` prints: goldens in src/cmd/testdata/status-*.txt, made of resources whose statuses translation wrote. UPDATE_GOLDENS=1 writes them anew.
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { parseDocument } from 'yaml';
import { type ConditionSubject, conditionReasons } from '../../translate/conditions.ts';
import type { BehindGateway, GatewayFacts, KeysProblem, TargetFacts } from '../../translate/gateway-facts.ts';
import type { Translation } from '../../translate/translate.ts';
import { goodReasons } from './testing/good-reasons.ts';
import { buildStatusReport } from './build-status-report.ts';
import type { KindView } from './cluster-view.ts';
import { formatStatus } from './format-status.ts';
import { createNameFilter } from './name-filter.ts';
import { readObjects, viewObjects, writeStatuses } from './testing/cluster-case.ts';

const folder = join(import.meta.dirname, '../testdata');
const now = Date.parse('2026-01-31T12:00:05Z');

/** The first document of a case: how the command was called, and what it may not read. */
interface CaseOptions {
  readonly about: string;
  readonly namespace?: string;
  readonly widths: readonly number[];
  readonly filter?: readonly string[];
  readonly unread?: Readonly<Record<string, KindView>>;
  /** false: no controller has written any status. */
  readonly controller?: boolean;
  /** What the controller knows of the gateways that is not as it should be. */
  readonly facts?: {
    readonly addresses?: [];
    readonly processes?: number;
    readonly deployProblem?: string;
    readonly bindProblems?: Readonly<Record<string, string>>;
    readonly rollout?: GatewayFacts['rollout'];
    /** By key of the backend and name of the server. */
    readonly targets?: Readonly<Record<string, Readonly<Record<string, TargetFacts>>>>;
    /** By namespace/name of the policy. */
    readonly rejected?: Readonly<Record<string, string>>;
    readonly keyProblems?: Readonly<Record<string, KeysProblem>>;
    /** Gateways that have nothing of the present configuration. */
    readonly behind?: readonly BehindGateway[];
  };
}

/** The same by the keys of messages. */
function readFacts(facts: CaseOptions['facts'] = {}): (translation: Translation) => Partial<GatewayFacts> {
  const { rejected = {}, keyProblems = {}, bindProblems = {}, behind = [], targets = {}, ...rest } = facts;
  return ({ policyKeys }) => {
    const listKeys = (policy: string): readonly string[] => [...(policyKeys.get(policy)?.values() ?? [])].flat();
    return {
      ...rest,
      behind,
      targets: new Map(Object.entries(targets).map(([backend, own]) => [backend, new Map(Object.entries(own))])),
      isSettled: () => behind.length === 0,
      listBehind: () => behind,
      bindProblems: new Map(Object.entries(bindProblems).map(([port, problem]) => [Number(port), problem])),
      rejections: Object.entries(rejected).flatMap(([policy, reason]) =>
        listKeys(policy).map((key) => ({ list: 'policies', key, reason }) as const),
      ),
      keyProblems: new Map(
        Object.entries(keyProblems).flatMap(([policy, problem]) =>
          listKeys(policy).map((key) => [key, problem] as const),
        ),
      ),
    };
  };
}

function checkGolden(name: string, text: string): void {
  const file = join(folder, `${name}.txt`);
  if (process.env['UPDATE_GOLDENS'] === '1') writeFileSync(file, text);
  assert.equal(text, readFileSync(file, 'utf8'));
}

const cases = globSync('status-*.yaml', { cwd: folder }).toSorted();

describe('status: tables', () => {
  test('there are cases', () => assert.ok(cases.length >= 10, `${cases.length} found`));

  for (const file of cases) {
    const [head = '', ...rest] = readFileSync(join(folder, file), 'utf8').split(/^---$/m);
    const options = parseDocument(head).toJS() as CaseOptions;
    test(`${basename(file)}: ${options.about}`, () => {
      const objects = readObjects(rest.join('---'));
      const view = viewObjects(
        options.controller === false ? objects : writeStatuses(objects, readFacts(options.facts)),
        options,
      );
      const report = buildStatusReport(view, createNameFilter(options.filter ?? []), now);
      const parts = options.widths.map((width) => {
        const wide = width === 0 ? undefined : width;
        const text = formatStatus(report, { color: false, width: wide });
        assert.equal(stripVTControlCharacters(formatStatus(report, { color: true, width: wide })), text);
        return `${width === 0 ? 'not a terminal' : `${width} columns`}, exit code ${report.well ? 0 : 1}\n\n${text}`;
      });
      checkGolden(basename(file, '.yaml'), parts.join('\n'));
    });
  }
});

describe('status: every reason', () => {
  const apiVersions: Readonly<Record<string, string>> = {
    ProxyBackend: 'gateway.proxy/v1alpha1',
    ProxyPolicy: 'gateway.proxy/v1alpha1',
    InferencePool: 'inference.networking.k8s.io/v1',
  };
  const make = (kind: string, name: string, generated: object): object => ({
    apiVersion: apiVersions[kind] ?? 'gateway.networking.k8s.io/v1',
    kind,
    metadata: { name, generation: 2, ...(kind !== 'GatewayClass' && { namespace: 'default' }) },
    ...generated,
  });
  const controllerName = 'gateway.proxy/controller';
  const good = ['Accepted', 'Programmed', 'Attached', 'ResolvedRefs'];

  /** A resource that has this one condition bad, and the others good. */
  function makeSubject(subject: ConditionSubject, type: string, reason: string): object {
    const name = `${type}-${reason}`.toLowerCase();
    const goodWhenFalse = ['Conflicted', 'PartiallyInvalid', 'InsecureFrontendValidationMode', 'RolloutStuck'].includes(
      type,
    );
    const own = {
      type,
      status: goodWhenFalse || type === 'OverlappingTLSConfig' || type === 'Open' ? 'True' : 'False',
      reason,
      message: 'What the controller says about it.',
      observedGeneration: 2,
    };
    const known = Object.keys(conditionReasons[subject]);
    const conditions = [
      ...good
        .filter((each) => each !== type && known.includes(each))
        .map((each) => ({ type: each, status: 'True', reason: each, message: 'Fine.', observedGeneration: 2 })),
      own,
    ];
    const fine = conditions
      .filter((each) => each !== own && each.type !== 'ResolvedRefs')
      .concat([{ type: 'Programmed', status: 'True', reason: 'Programmed', message: '', observedGeneration: 2 }]);
    const gatewaySpec = { gatewayClassName: 'proxy', listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }] };
    switch (subject) {
      case 'gatewayClass':
        return make('GatewayClass', name, { spec: { controllerName }, status: { conditions } });
      case 'gateway':
        return make('Gateway', name, { spec: gatewaySpec, status: { conditions } });
      case 'listener':
        return make('Gateway', `listener-${name}`, {
          spec: gatewaySpec,
          status: {
            conditions: [{ type: 'Accepted', status: 'True', reason: 'Accepted', observedGeneration: 2 }, ...fine],
            listeners: [{ name: 'http', attachedRoutes: 0, conditions }],
          },
        });
      case 'routeParent':
        return make('HTTPRoute', name, {
          spec: { parentRefs: [{ name: 'public' }] },
          status: { parents: [{ parentRef: { name: 'public' }, controllerName, conditions }] },
        });
      case 'proxyBackend':
        return make('ProxyBackend', name, { spec: {}, status: { conditions } });
      case 'policyAncestor':
        return make('ProxyPolicy', name, {
          spec: { targetRefs: [{ kind: 'Gateway', name: 'public' }] },
          status: { ancestors: [{ ancestorRef: { kind: 'Gateway', name: 'public' }, controllerName, conditions }] },
        });
      case 'inferencePoolParent':
        return make('InferencePool', name, {
          spec: { endpointPickerRef: { name: 'picker', port: { number: 9002 } } },
          status: { parents: [{ parentRef: { name: 'public' }, controllerName, conditions }] },
        });
    }
  }

  test('is shown with its message and with what to do', () => {
    const subjects = (Object.keys(conditionReasons) as ConditionSubject[]).flatMap((subject) =>
      Object.entries(conditionReasons[subject]).flatMap(([type, reasons]) =>
        (reasons as readonly string[])
          .filter((reason) => !goodReasons.has(reason))
          .map((reason) => ({ subject, type, reason })),
      ),
    );
    const objects = readObjects(
      subjects.map(({ subject, type, reason }) => JSON.stringify(makeSubject(subject, type, reason))).join('\n---\n'),
    );
    const report = buildStatusReport(viewObjects(objects, { namespace: 'default' }), createNameFilter([]), now);
    for (const { type, reason } of subjects) {
      if (type === 'OverlappingTLSConfig' || type === 'Open') continue; // remarks, not faults
      const found = report.problems.filter(({ condition }) => condition?.type === type && condition.reason === reason);
      assert.ok(found.length > 0, `${type} ${reason}`);
      assert.ok(found.every(({ advice, message }) => advice !== '' && message !== ''));
    }
    checkGolden('status-every-reason', formatStatus(report, { color: false, width: 120 }));
  });
});
