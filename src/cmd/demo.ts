// `mcp-gatehouse demo` (npm start): an identity provider, two sample MCP servers and a landing page, with the gateway in front. All on loopback.
import { connect } from 'node:net';
import { demoScopes, startDemoIdp } from '../demo/demo-idp.ts';
import { startLandingPage } from '../demo/landing-page.ts';
import { describePolicy, ruleVariants } from '../demo/demo-rules.ts';
import { createRuleSwitch } from '../demo/rule-switch.ts';
import { type SamplePart, startSampleServer } from '../demo/sample-mcp-server.ts';
import type { Configuration } from '../ir/configuration.ts';
import { needsSigningKeys } from '../ir/signing-keys.ts';
import { createFixedSource } from '../sources/fixed-source.ts';
import { translate } from '../translate/translate.ts';
import { defineCommand, fail, refuse } from './command.ts';
import { findTakenDemoPorts } from './demo-ports.ts';
import { defineFlags, type FlagValues } from './flags.ts';
import { findGatewayFlagProblems, gatewayFlags } from './gateway-flags.ts';
import { listMovable, type OwnPort } from './own-ports.ts';
import type { ProcessHost } from './process-host.ts';
import { addSealKeys, makeSealKeys } from './seal-keys.ts';
import { addSigningKeys, makeSigningKeys, scheduleSigningKeys } from './signing-keys.ts';
import { StartError } from './start-error.ts';
import { startGatewayProcess } from './start-gateway.ts';

const demoFlagTable = defineFlags({
  port: { type: 'port', default: 3000, env: 'MCP_GATEHOUSE_PORT', help: 'Port of the gateway, on 127.0.0.1' },
  idpPort: {
    type: 'port',
    default: 3002,
    env: 'MCP_GATEHOUSE_DEMO_IDP_PORT',
    help: "Port of the demo's identity provider",
  },
  serverPort: {
    type: 'port',
    default: 3001,
    env: 'MCP_GATEHOUSE_DEMO_SERVER_PORT',
    help: 'Port of the help desk, one of the two sample MCP servers',
  },
  officePort: {
    type: 'port',
    default: 3003,
    env: 'MCP_GATEHOUSE_DEMO_OFFICE_PORT',
    help: 'Port of the office server, the other one',
  },
  ...gatewayFlags,
  // The page holds streams open: Ctrl-C should not wait for it.
  drainTimeout: { ...gatewayFlags.drainTimeout, default: 1_000 },
});

export const demoCommand = defineCommand({
  name: 'demo',
  usage: '[flags]',
  summary:
    'Runs an identity provider and two sample MCP servers behind the gateway, and a page that explains it. For trying out: loopback only.',
  flags: demoFlagTable,
  commonFlags: ['port', 'idpPort', 'serverPort', 'officePort', 'adminPort', 'logLevel'],
  examples: ['npm start', 'npm start -- --port 4000'],
  async run(values, host: ProcessHost, origins) {
    const problems = findGatewayFlagProblems(values);
    if (problems.length > 0) return refuse(...problems);
    const movable = listMovable(origins);
    const taken = await findTakenDemoPorts(values, movable);
    if (taken.length > 0) return fail(1, ...taken);
    try {
      await serve(values, host, movable);
      return 0;
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      // What is already running must not keep a demo alive that cannot serve.
      setImmediate(() => process.exit(1));
      const lines = error.message.split('\n').map((line) => line.replace(/\.$/, ''));
      return fail(1, ...lines.map((line) => `${line}. Another port: npm start -- --help lists the flags.`));
    }
  },
});

const mcpPath = '/mcp';
const backendName = 'sample';

async function serve(
  values: FlagValues<typeof demoFlagTable>,
  host: ProcessHost,
  movablePorts: ReadonlySet<OwnPort>,
): Promise<void> {
  const support = await openPort(values.serverPort, 'the help desk', '--server-port', () =>
    startSampleServer({ host: '127.0.0.1', port: values.serverPort, part: 'support' }),
  );
  const office = await openPort(values.officePort, 'the office server', '--office-port', () =>
    startSampleServer({ host: '127.0.0.1', port: values.officePort, part: 'office' }),
  );
  const idp = await openPort(values.idpPort, 'the identity provider', '--idp-port', () =>
    startDemoIdp({ port: values.idpPort }),
  );
  const gateway = await startGatewayProcess(values, host, { movablePorts, otherwise: 'the demo has no files' });
  const mcpUrl = `http://127.0.0.1:${values.port}${mcpPath}`;
  // In memory only: they live as long as the process.
  const sealKeys = makeSealKeys();
  const signingKeys = scheduleSigningKeys(makeSigningKeys(Date.now()), Date.now());
  const configure = (policy: object): Configuration => {
    const resources = describeDemo(values.port, { support: support.url, office: office.url }, page.port, idp.issuer);
    const source = createFixedSource([...resources, policy]);
    const configuration = addSealKeys(translate(source.resources.get()).configuration, sealKeys);
    return needsSigningKeys(configuration) ? addSigningKeys(configuration, signingKeys) : configuration;
  };
  const rules = createRuleSwitch(backendName, async (policy) => {
    const { problems } = await gateway.applyChange(configure(policy));
    if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('; '));
  });
  const page = await startLandingPage({
    mcpUrl,
    rules,
    adminUrl: gateway.pages.admin,
    exampleCall: { name: 'office_convert_units', arguments: { value: 42, from: 'km', to: 'mi' } },
    parts: [
      {
        name: 'Gateway',
        url: new URL('/', mcpUrl).href,
        detail: `Serves both MCP servers as one at ${mcpPath}, and this page at /`,
        check: async () => (await fetch(`${gateway.pages.readiness}/ready`)).ok,
      },
      {
        name: 'Identity provider',
        url: idp.issuer,
        detail: 'oidc-provider with two users, Alice and Bob',
        check: async () => (await fetch(`${idp.issuer}/.well-known/openid-configuration`)).ok,
      },
      {
        name: 'Help desk',
        url: support.url,
        detail: 'An MCP server with tickets; its tools are support_... for clients',
        check: () => canConnect(support.url),
      },
      {
        name: 'Office',
        url: office.url,
        detail: 'An MCP server for time, text and units; its tools are office_... for clients',
        check: () => canConnect(office.url),
      },
    ],
  });
  gateway.shutdown.addStep({
    name: 'stop the sample servers, the identity provider and the page',
    timeoutMs: 2_000,
    run: async () => void (await Promise.all([support.close(), office.close(), page.close(), idp.close()])),
  });
  await gateway.applyFirst(configure(describePolicy(ruleVariants[0], backendName).resource));
  gateway.announceServing();
  // What the newcomer needs stands last.
  gateway.log.flushSync();
  host.stdout(
    `\nThe demo is ready: http://127.0.0.1:${values.port}/\nConnect an MCP client to ${mcpUrl}. Ctrl-C stops everything.\n\n`,
  );
}

/** The demo's resources, as a user would write them, except for the policy that the page can change. */
function describeDemo(
  port: number,
  servers: Readonly<Record<SamplePart, string>>,
  pagePort: number,
  issuer: string,
): object[] {
  const gatewayApi = 'gateway.networking.k8s.io/v1';
  return [
    {
      apiVersion: gatewayApi,
      kind: 'Gateway',
      metadata: { name: 'demo' },
      spec: {
        gatewayClassName: 'proxy',
        addresses: [{ type: 'IPAddress', value: '127.0.0.1' }],
        listeners: [{ name: 'http', protocol: 'HTTP', port }],
      },
    },
    {
      apiVersion: gatewayApi,
      kind: 'HTTPRoute',
      metadata: { name: 'demo' },
      spec: {
        parentRefs: [{ name: 'demo' }],
        rules: [
          {
            name: 'mcp',
            matches: [{ path: { type: 'PathPrefix', value: mcpPath } }],
            backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: backendName }],
          },
          {
            name: 'page',
            matches: [{ path: { type: 'Exact', value: '/' } }, { path: { type: 'PathPrefix', value: '/demo' } }],
            backendRefs: [{ name: 'page', port: 80 }],
          },
        ],
      },
    },
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyBackend',
      metadata: { name: backendName },
      spec: {
        mcp: {
          targets: Object.entries(servers).map(([name, url]) => ({
            name,
            static: { host: '127.0.0.1', port: Number(new URL(url).port), path: '/mcp' },
          })),
        },
      },
    },
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyPolicy',
      metadata: { name: 'sample' },
      spec: {
        targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: backendName }],
        backend: {
          mcp: {
            authentication: {
              issuer,
              resourceMetadata: { resourceName: 'Sample MCP servers', scopesSupported: demoScopes },
              claimsToHeaders: [{ claim: 'sub', header: 'x-auth-subject' }],
              // The page of the demo itself: the gateway does not ask about it.
              registration: {
                trustedRedirectUris: ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${port}/demo/callback`),
              },
            },
          },
        },
      },
    },
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'page' }, spec: { ports: [{ name: 'http', port: 80 }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'page', labels: { 'kubernetes.io/service-name': 'page' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['127.0.0.1'] }],
      ports: [{ name: 'http', port: pagePort }],
    },
  ];
}

async function openPort<T>(port: number, part: string, flag: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new StartError(`port ${port} for ${part} is in use; choose another with ${flag}`, { cause: error });
  }
}

function canConnect(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
