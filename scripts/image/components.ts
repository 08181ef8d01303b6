// The images that there are, and how each is started. The Dockerfile says the same to a container builder; test/image compares them.

/** One image of the product. */
export interface ImageComponent {
  readonly name: 'controller' | 'gateway';
  readonly title: string;
  readonly description: string;
  /** The file of src/cmd that lists its commands. */
  readonly entry: string;
  /** Its default arguments. */
  readonly defaultArgs: readonly string[];
  /** At most one: it stands in the first line of the program, and the kernel takes all that follows the interpreter as one argument. */
  readonly nodeFlag?: string;
  readonly ports: readonly number[];
}

/** The images. */
export const imageComponents: readonly ImageComponent[] = [
  {
    name: 'controller',
    title: 'mcp-gatehouse controller',
    description: 'Configures MCP gateways on Kubernetes',
    entry: 'src/cmd/controller-image.ts',
    defaultArgs: ['controller'],
    // It translates in bursts: young objects that are many for a moment would otherwise keep their room for good, about 35 MB with thousands of routes.
    nodeFlag: '--max-semi-space-size=16',
    ports: [9978, 9093, 9092],
  },
  {
    name: 'gateway',
    title: 'mcp-gatehouse gateway',
    description: 'Puts OAuth 2.0 in front of MCP servers',
    entry: 'src/cmd/gateway-image.ts',
    defaultArgs: ['gateway'],
    // Most objects from the start live on: with V8's initial 1 MB young generation they would be copied again and again. The memory is released when idle.
    nodeFlag: '--min-semi-space-size=4',
    ports: [15_020, 15_021],
  },
];

/** The user and the group that programs of an image run as. */
export const imageUser = 65_532;

/** What an image starts. */
export const imageProgram = '/usr/local/bin/mcp-gatehouse';

/** The authorities that programs trust beside those that Node brings along: a file, so that another one can be mounted in its place. */
export const authoritiesFile = '/etc/ssl/certs/ca-certificates.crt';

/** Variables that every container has. */
export const imageEnvironment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/bin',
  SSL_CERT_FILE: authoritiesFile,
  NODE_USE_SYSTEM_CA: '1',
};
