// The shell script that turns a process into a container. It runs as the first process of new mount, process, host name and IPC
// namespaces, in the pod's network namespace, and becomes the container's program. Pure: the text alone.

/** A file or folder that the container sees. */
export interface Bind {
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
  /** The source is a folder. */
  readonly isFolder: boolean;
}

/** What the container is. */
export interface ContainerPlan {
  /** An empty folder for the container's own layer. */
  readonly scratch: string;
  /** The folder that becomes the container's root; `/` for the machine's own files. */
  readonly root: string;
  readonly hostname: string;
  readonly binds: readonly Bind[];
  /** Holds `hosts` and `resolv.conf`; files in it are replaced while the container runs. */
  readonly networkFolder: string;
  readonly isReadOnly: boolean;
  readonly user: number;
  readonly group: number;
  readonly supplementalGroups: readonly number[];
  readonly noNewPrivileges: boolean;
  /** Capabilities that programs of the container can ever have. */
  readonly capabilities: readonly string[];
  readonly workingDir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

/** What a container runtime leaves to root in a container. */
export const defaultCapabilities =
  'chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod audit_write setfcap'.split(
    ' ',
  );

/** The file descriptor on which the script says that it is about to become the container's program. */
export const launchDescriptor = 4;

const networkMount = '/.network';
const toolsMount = '/.tools';

/** What the script runs after the container's root is in place. */
const tools = ['mount', 'umount', 'mkdir', 'rmdir', 'ln', 'env', 'setpriv'];

/** The script. */
export function formatContainerScript(plan: ContainerPlan): string {
  const root = `${plan.scratch}/root`;
  // A root of its own may have no tools, no libraries for them, and no folders to mount on.
  const hasTools = plan.root === '/';
  return [
    'set -e',
    `cd ${quote(plan.scratch)}`,
    // The container's own layer over the files below: it may write anywhere and changes nothing.
    'mount -t tmpfs -o mode=0755 tmpfs .',
    `cd ${quote(plan.scratch)}`,
    'mkdir upper work root',
    `mount -t overlay -o lowerdir=${plan.root},upperdir=${plan.scratch}/upper,workdir=${plan.scratch}/work overlay root`,
    'mkdir root/.machine',
    ...(hasTools ? [] : bringTools),
    `cd ${quote(root)}`,
    'pivot_root . .machine',
    'cd /',
    ...(hasTools ? [] : tools.map((tool) => `${tool}() { ${nameTool(tool).join(' ')} "$@"; }`)),
    // From here on paths are the container's, links too. The machine is in /.machine.
    'mount -t proc proc /proc',
    'mount --rbind /.machine/dev /dev',
    'mount -t sysfs -o ro sysfs /sys',
    'mount -t tmpfs -o mode=1777 tmpfs /tmp',
    'mount -t tmpfs -o mode=0755 tmpfs /run',
    `echo ${quote(plan.hostname)} > /proc/sys/kernel/hostname`,
    `mkdir ${networkMount}`,
    `mount --bind ${quote(`/.machine${plan.networkFolder}`)} ${networkMount}`,
    `mount -o remount,bind,ro ${networkMount}`,
    // Links, so that the files behind them can be replaced in one step.
    ...['hosts', 'resolv.conf'].map((file) => `ln -sfn ${networkMount}/${file} /etc/${file}`),
    ...plan.binds.flatMap((bind) => formatBind(bind)),
    'umount -l /.machine',
    'rmdir /.machine',
    `mkdir -p ${quote(plan.workingDir)}`,
    ...(plan.isReadOnly ? ['/tmp', '/run', '/'].map((path) => `mount -o remount,bind,ro ${path}`) : []),
    `cd ${quote(plan.workingDir)}`,
    // From here on it is the container, and nothing of the machine can be reached through it.
    `echo launched >&${launchDescriptor}`,
    `exec ${launchDescriptor}>&-`,
    `exec ${formatProgram(plan, hasTools ? (tool) => [tool] : nameTool)}`,
    '',
  ].join('\n');
}

/** Copies the tools, the libraries that they need, and the loader of both. They stay in the container, beside what an image has. */
const bringTools: readonly string[] = [
  'mkdir -p root/proc root/dev root/sys root/tmp root/run root/etc',
  `mkdir root${toolsMount}`,
  `for tool in ${tools.join(' ')}; do cp -L "$(command -v "$tool")" root${toolsMount}/; done`,
  `ldd root${toolsMount}/* | sed -n 's|^.* => \\(/[^ ]*\\) .*|\\1|p' | sort -u | xargs -I FILE cp -L FILE root${toolsMount}/`,
  `cp -L "$(ldd root${toolsMount}/mount | sed -n 's|^[[:space:]]*\\(/[^ ]*\\) (.*|\\1|p')" root${toolsMount}/loader`,
];

/** The words that run one of the tools that were brought along. */
function nameTool(tool: string): readonly string[] {
  return [`${toolsMount}/loader`, '--library-path', toolsMount, `${toolsMount}/${tool}`];
}

/** One word for the shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function formatBind({ source, target, isReadOnly, isFolder }: Bind): readonly string[] {
  const place = quote(target);
  const parent = quote(target.replace(/\/[^/]*$/, '') || '/');
  return [
    ...(isFolder ? [`mkdir -p ${place}`] : [`mkdir -p ${parent}`, `[ -e ${place} ] || : > ${place}`]),
    `mount --bind ${quote(`/.machine${source}`)} ${place}`,
    ...(isReadOnly ? [`mount -o remount,bind,ro ${place}`] : []),
  ];
}

function formatProgram(plan: ContainerPlan, findTool: (tool: string) => readonly string[]): string {
  const groups =
    plan.supplementalGroups.length === 0 ? ['--clear-groups'] : [`--groups=${plan.supplementalGroups.join(',')}`];
  const bounding = ['-all', ...plan.capabilities.map((capability) => `+${capability}`)].join(',');
  const privileges = [
    `--reuid=${plan.user}`,
    `--regid=${plan.group}`,
    ...groups,
    '--inh-caps=-all',
    `--bounding-set=${bounding}`,
    ...(plan.noNewPrivileges ? ['--no-new-privs'] : []),
  ];
  const variables = Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`);
  const words = [...findTool('setpriv'), ...privileges, '--', ...findTool('env'), '-i', ...variables, ...plan.command];
  return words.map((word) => quote(word)).join(' ');
}
