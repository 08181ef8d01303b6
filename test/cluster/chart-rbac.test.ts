// The rights of the controller are the least that it needs: everything that the chart's roles grant is used, nothing else is asked for, and each right that is
// taken away is missed: what it is for does not happen, and somebody is told.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { renderChart } from '../chart/helm.ts';
import type { RenderedObject, Rendering } from '../chart/rendering.ts';
import { nameCase, toValues, valueCases } from '../chart/value-cases.ts';
import type { Cluster } from './cluster.ts';
import { type Act, createActs } from './controller-acts.ts';
import { buildStage, type ControllerStage, stageValues } from './controller-stage.ts';
import { formatRight, isCovered, listRights, LiveRights, type Right } from './granted-rights.ts';
import { installationNamespace } from './installed-controller.ts';
import { startCluster } from './start-cluster.ts';

const user = `system:serviceaccount:${installationNamespace}:proxy`;
/** Of the roles that the controller is bound to: others are for people. */
const listGranted = (rendering: Rendering): readonly Right[] => {
  const bindings = [...rendering.list('ClusterRoleBinding'), ...rendering.list('RoleBinding')];
  const isBound = ({ kind, metadata }: RenderedObject): boolean =>
    bindings.some(
      (binding) =>
        binding.kind === `${kind}Binding` &&
        binding.metadata.namespace === metadata.namespace &&
        (binding['roleRef'] as { readonly name: string }).name === metadata.name,
    );
  return listRights([...rendering.list('ClusterRole'), ...rendering.list('Role')].filter(isBound));
};
const granted = listGranted(await renderChart(stageValues));
let cluster: Cluster;
let stage: ControllerStage;
let rights: LiveRights;
let acts: readonly Act[];

before(async () => {
  // With the plugin that asks who sets `blockOwnerDeletion`: some distributions have it.
  cluster = await startCluster({
    recordedUser: user,
    admissionPlugins: ['OwnerReferencesPermissionEnforcement'],
    hasInferenceExtension: true,
  });
  rights = new LiveRights(cluster, user, granted);
  stage = await buildStage(cluster);
  acts = createActs(stage);
});
after(() => cluster?.stop());

test('every right is granted once, and by name, not by asterisk', () => {
  const names = granted.map(formatRight);
  assert.deepEqual(names, [...new Set(names)]);
  assert.doesNotMatch(names.join('\n'), /\*/);
});

test('no value changes the rights but those for InferencePools, network policies and TLS, which add these, and the one for Secrets', async () => {
  const pools = 'inference.networking.k8s.io/inferencepools';
  const policies = 'networking.k8s.io/networkpolicies';
  const ofTls = [`core/secrets update in ${installationNamespace}`];
  /** By the value, or the first part of its key. */
  const addedFor: Readonly<Record<string, readonly string[]>> = {
    'controller.xds.tls.enabled': ofTls,
    'controller.xds.tls.generate': ofTls,
    inferenceExtension: [`${pools} get`, `${pools} list`, `${pools} watch`, `${pools}/status update`],
    networkPolicy: ['get', 'list', 'watch', 'create', 'patch', 'delete'].map((verb) => `${policies} ${verb}`),
  };
  const added = new Set(Object.values(addedFor).flat());
  const all = granted.map(formatRight);
  const usual = all.filter((right) => !added.has(right));
  assert.equal(usual.length, all.length - added.size);
  const everywhere = ['core/secrets list', 'core/secrets watch'];
  assert.deepEqual(
    usual.filter((right) => everywhere.includes(right)),
    everywhere,
  );
  for (const valueCase of valueCases) {
    const given = listGranted(await renderChart(toValues(valueCase))).map(formatRight);
    const { key } = valueCase;
    const own = addedFor[key] ?? addedFor[key.split('.')[0]!] ?? [];
    const expected = all.filter((right) => usual.includes(right) || own.includes(right));
    if (key === 'rbac.secretsInNamespaces') {
      const inNamespaces = (valueCase.value as readonly string[]).flatMap((namespace) =>
        everywhere.map((right) => `${right} in ${namespace}`),
      );
      const narrowed = [...usual.filter((right) => !everywhere.includes(right)), ...inNamespaces];
      assert.deepEqual(given.toSorted(), narrowed.toSorted(), nameCase(valueCase));
    } else assert.deepEqual(given, expected, nameCase(valueCase));
  }
});

test('the table of acts has every right once, and no other', () => {
  const needed = acts.flatMap(({ needs }) => needs);
  assert.deepEqual(needed.toSorted(), granted.map(formatRight).toSorted());
});

test('with all rights everything happens', async (t) => {
  const played = new Set<string>();
  for (const act of acts) {
    if (played.has(act.what)) continue;
    played.add(act.what);
    await t.test(act.what, async () => {
      await act.prepare?.();
      await act.begin();
      await waitUntilDone(act);
      await act.end?.();
    });
  }
});

test('nothing is refused, and nothing is granted that is not used', async () => {
  const asked = await cluster.readAuthorizations();
  const others = asked.filter((each) => !granted.some((right) => isCovered(each, right)));
  const names = others.map(({ subresource, resource, ...rest }) =>
    formatRight({
      ...rest,
      resource: [resource, subresource].filter(Boolean).join('/'),
      name: undefined,
      namespace: undefined,
    }),
  );
  assert.deepEqual([...new Set(names)].toSorted(), [
    // The admission plugin asks for everything first, and then for what it is about.
    '*/*/finalizers update',
    // Everybody may.
    'authentication.k8s.io/selfsubjectreviews create',
  ]);
  // What is granted everywhere is used elsewhere than at home: otherwise a right at home would do.
  const isUsed = (right: Right): boolean =>
    asked.some(
      (each) => isCovered(each, right) && (right.namespace !== undefined || each.namespace !== installationNamespace),
    );
  assert.deepEqual(granted.filter((right) => !isUsed(right)).map(formatRight), []);
  // `forbidden` is also how writing in a namespace that is being deleted is refused, whatever rights there are.
  assert.deepEqual(await stage.listLines('forbidden', 'cannot '), []);
});

test('each right that is taken away is missed', async (t) => {
  for (const act of acts.filter(({ needs }) => needs.length > 0))
    await t.test(`${act.what}: ${act.needs.join(', ')}`, () => miss(act));
});

/** Takes the rights of an act away, sees that each is missed, gives them back, and sees that the act is done. */
async function miss(act: Act): Promise<void> {
  await act.prepare?.();
  const needed = act.needs.map((name) => rights.get(name));
  for (const together of act.isOneByOne === true ? needed.map((right) => [right]) : [needed])
    await missTogether(act, together);
  if (act.isOnce === true) await act.begin();
  await waitUntilDone(act);
  await act.end?.();
}

async function missTogether(act: Act, needed: readonly Right[]): Promise<void> {
  const told = await Promise.all(needed.map((right) => act.listen(right)));
  try {
    await rights.take(needed);
    await act.begin();
    for (const [index, right] of needed.entries()) {
      await cluster.waitFor(told[index]!, { what: `somebody is told that the right ${formatRight(right)} is missing` });
      if (act.isDoneAnyway !== true)
        await cluster.waitFor(async () => !(await act.isDone(right)), { what: `${act.what}, in vain` });
      if (act.isChain === true) await rights.give([right]);
    }
  } finally {
    await rights.give(needed);
  }
}

function waitUntilDone(act: Act): Promise<boolean> {
  return cluster.waitFor(() => act.isDone(), { what: act.what });
}
