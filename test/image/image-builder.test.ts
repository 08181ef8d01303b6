// The Dockerfile, in the hands of a real builder: what it makes of the roots, and what it tells a container runtime.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type BuiltImage, buildImages, imageFolder } from '../../scripts/build-image.ts';
import { imageComponents, imageEnvironment, imageProgram, imageUser } from '../../scripts/image/components.ts';
import { version } from '../../src/base/version.ts';
import { runCommand } from '../cluster/run-command.ts';
import { readTree } from './file-tree.ts';
import { requireImageMachine } from './image-machine.ts';

const checkout = join(import.meta.dirname, '..', '..');
const largest = 150e6;
const licence = (JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { readonly license: string })
  .license;

interface ImageConfiguration {
  readonly os: string;
  readonly config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly ExposedPorts: Readonly<Record<string, object>>;
    readonly Labels: Readonly<Record<string, string>>;
  };
}

let storage: string;
let built: readonly BuiltImage[];

before(async () => {
  requireImageMachine({ buildah: 'buildah' });
  storage = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-buildah-'));
  built = await buildImages(imageFolder);
});
after(() => rmSync(storage, { recursive: true, force: true }));

/** Images and containers of this test, apart from those of the machine. No container is run. */
async function buildah(...args: readonly string[]): Promise<string> {
  const own = ['--root', join(storage, 'root'), '--runroot', join(storage, 'run'), '--storage-driver', 'vfs'];
  return (await runCommand('buildah', [...own, ...args], { cwd: checkout, timeoutMs: 300_000 })).stdout;
}

for (const { name, title, description, defaultArgs, ports } of imageComponents) {
  test(`buildah makes the image ${name} of its root`, async () => {
    const tag = `localhost/${name}:test`;
    const variables = { COMPONENT: name, VERSION: version, REVISION: '0123abc' };
    const settings = Object.entries(variables).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
    await buildah('build', '--isolation', 'chroot', '--layers=false', ...settings, '--tag', tag, '.');

    const inspected = JSON.parse(await buildah('inspect', '--type', 'image', tag)) as {
      readonly OCIv1: ImageConfiguration;
    };
    const { os, config } = inspected.OCIv1;
    assert.equal(os, 'linux');
    assert.equal(config.User, `${imageUser}:${imageUser}`);
    assert.deepEqual(config.Entrypoint, [imageProgram]);
    assert.deepEqual(config.Cmd, defaultArgs);
    assert.deepEqual(
      Object.fromEntries(config.Env.map((line) => line.split('=') as [string, string])),
      imageEnvironment,
    );
    assert.deepEqual(new Set(Object.keys(config.ExposedPorts)), new Set(ports.map((port) => `${port}/tcp`)));
    const { 'io.buildah.version': _, ...labels } = config.Labels;
    assert.deepEqual(labels, {
      'org.opencontainers.image.title': title,
      'org.opencontainers.image.description': description,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': '0123abc',
      'org.opencontainers.image.source': '',
      'org.opencontainers.image.licenses': licence,
    });

    const [image] = JSON.parse(await buildah('images', '--json', tag)) as [{ readonly size: string }];
    console.log(`${name}: ${image.size}`);
    const [, size, unit] = /^(\d+(?:\.\d+)?) (MB)$/.exec(image.size) ?? [];
    assert.equal(unit, 'MB', image.size);
    assert.ok(Number(size) * 1e6 < largest, image.size);

    const container = (await buildah('from', '--pull-never', tag)).trim();
    const mounted = (await buildah('mount', container)).trim();
    const root = built.find(({ component }) => component.name === name)!.root;
    assert.deepEqual(listEssentials(mounted), listEssentials(root));
    await buildah('rm', container);
  });
}

/** Without times, and without the root folder itself: those are the builder's business. */
function listEssentials(folder: string): readonly string[] {
  return readTree(folder)
    .filter(({ path }) => path !== '/')
    .map(({ path, kind, mode, owner, content }) => `${path} ${kind} ${mode.toString(8)} ${owner} ${content}`);
}
