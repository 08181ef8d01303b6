// By which configuration a request is explained: that of files, of a cluster, or of a running gateway.
import { namespaceNameSchema } from '../../api/kubernetes-names.ts';
import { silentLog } from '../../base/log.ts';
import { ApiError, type KubernetesClient } from '../../kubernetes/client.ts';
import { connectKubernetes } from '../../kubernetes/connect.ts';
import { loadInferenceTranslation } from '../../translate/load-inference-translation.ts';
import { translate } from '../../translate/translate.ts';
import { findContradiction } from '../protection-flags.ts';
import { listExtensions } from '../resource-flags.ts';
import { formatStatusProblems } from '../status-problems.ts';
import { chooseGateway } from './choose-gateway.ts';
import { type FileSettings, readConfiguration, type ReadConfiguration } from './compile-files.ts';
import type { ExplainValues } from './explain-flags.ts';
import { readCluster } from './read-cluster.ts';
import type { AdminPort } from './ask-gateway.ts';
import { readGatewayConfig } from './read-gateway-config.ts';
import type { RequestLine } from './request-line.ts';

/** Where the configuration comes from. */
export type ExplainSource =
  | ({ readonly kind: 'files'; readonly paths: readonly string[] } & FileSettings)
  | {
      readonly kind: 'cluster';
      readonly kubeconfig: string | undefined;
      readonly context: string | undefined;
      readonly namespace: string | undefined;
      readonly gateway: string | undefined;
      readonly inferenceExtension: boolean;
    }
  | ({ readonly kind: 'gateway' } & AdminPort);

/** The source that the flags name, or what is wrong with them. `adminIsGiven`: --admin is on the command line. */
export function chooseSource(
  values: ExplainValues,
  adminIsGiven: boolean,
  filesAreGiven: boolean,
): { readonly ok: true; readonly source: ExplainSource } | { readonly ok: false; readonly problem: string } {
  const {
    file,
    fromCluster,
    namespace,
    context,
    kubeconfig,
    gateway,
    admin,
    online,
    inferenceExtension,
    allowUnattached,
    denyUnprotected,
    adminTokenFile,
  } = values;
  // Files from the environment are what is meant when nothing else is said.
  const named = [
    ...(filesAreGiven ? ['-f'] : []),
    ...(fromCluster ? ['--from-cluster'] : []),
    ...(adminIsGiven ? ['--admin'] : []),
  ];
  if (named.length > 1) return { ok: false, problem: `give one of ${named.join(' and ')}: one configuration decides` };
  const clusterFlags = { '-n': namespace, '--context': context, '--kubeconfig': kubeconfig, '--gateway': gateway };
  const stray = Object.entries(clusterFlags).find(([, value]) => value !== undefined);
  if (!fromCluster && stray !== undefined) return { ok: false, problem: `${stray[0]} goes with --from-cluster` };
  if (namespace !== undefined && !namespaceNameSchema.safeParse(namespace).success)
    return { ok: false, problem: `-n must be the name of a namespace, not ${JSON.stringify(namespace)}` };
  if (fromCluster)
    return {
      ok: true,
      source: { kind: 'cluster', kubeconfig, context, namespace, gateway, inferenceExtension },
    };
  if (adminIsGiven) {
    if (online)
      return {
        ok: false,
        problem: '--online goes with -f or --from-cluster: a gateway does not show all that it fetches keys with',
      };
    return { ok: true, source: { kind: 'gateway', admin, adminTokenFile } };
  }
  if (file.length > 0) {
    const contradiction = findContradiction(values);
    if (contradiction !== undefined) return { ok: false, problem: contradiction };
    return {
      ok: true,
      source: { kind: 'files', paths: file, inferenceExtension, allowUnattached, denyUnprotected },
    };
  }
  return { ok: false, problem: 'say by which files: -f PATH; or --from-cluster, or --admin URL of a running gateway' };
}

/** What is asked, as far as it chooses a configuration. */
interface SourceQuestion {
  readonly line: RequestLine;
  readonly listener: string | undefined;
}

/** Reads the configuration. Every failure is a line. */
export async function readSource(
  source: ExplainSource,
  question: SourceQuestion,
  environment: NodeJS.ProcessEnv,
): Promise<ReadConfiguration> {
  switch (source.kind) {
    case 'files':
      return readConfiguration(source.paths, environment, source);
    case 'cluster':
      return readFromCluster(source, question, environment);
    case 'gateway': {
      const read = await readGatewayConfig(source);
      return read.ok ? { ...read, problems: [] } : { ok: false, problems: [read.problem] };
    }
  }
}

async function readFromCluster(
  { kubeconfig, context, namespace, gateway, inferenceExtension }: Extract<ExplainSource, { kind: 'cluster' }>,
  question: SourceQuestion,
  env: NodeJS.ProcessEnv,
): Promise<ReadConfiguration> {
  let client: KubernetesClient | undefined;
  try {
    client = await connectKubernetes({ log: silentLog, env, kubeconfig, context, name: 'mcp-gatehouse-explain' });
    const read = await readCluster(client, namespace, listExtensions({ inferenceExtension }));
    if (!read.ok) return read;
    const inference = await loadInferenceTranslation(inferenceExtension);
    const translation = translate(read.resources, { placement: 'pods', inference });
    const problems = formatStatusProblems(translation, read.resources);
    const invalid = read.resources.invalid.map(({ kind, name }) => `${kind} ${name} is invalid`);
    const chosen = chooseGateway(translation.configuration, { ...question, gateway });
    if (!chosen.ok) return { ok: false, problems: [chosen.problem] };
    return {
      ok: true,
      configuration: chosen.configuration,
      problems: [...problems, ...invalid],
      notes: read.notes,
    };
  } catch (error) {
    return { ok: false, problems: [describeFailure(error)] };
  } finally {
    await client?.close();
  }
}

function describeFailure(error: unknown): string {
  if (error instanceof ApiError && error.status.code === 401)
    return `the API server does not accept the credentials of the kubeconfig: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
