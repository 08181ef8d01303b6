// What is in the images, and what is not.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type BuiltImage, buildImages } from '../../scripts/build-image.ts';
import { imageComponents } from '../../scripts/image/components.ts';
import { readElf } from '../../scripts/image/elf.ts';
import { readTree, type TreeEntry } from './file-tree.ts';
import { requireImageMachine } from './image-machine.ts';
import { runInRoot } from './run-in-root.ts';

const checkout = join(import.meta.dirname, '..', '..');
const largest = 150e6;

interface Sbom {
  readonly metadata: { readonly component: { readonly version: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly licenses: readonly { readonly expression: string }[];
  }[];
}

interface LockedPackage {
  readonly version: string;
}

let folder: string;
let built: readonly BuiltImage[];

before(async () => {
  requireImageMachine();
  folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-image-'));
  built = await buildImages(join(folder, 'first'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('the same checkout gives the same images, whoever makes them', async () => {
  const mask = process.umask(0o077);
  try {
    const again = await buildImages(join(folder, 'again'));
    for (const [index, image] of built.entries()) {
      assert.deepEqual(readTree(again[index]!.root), readTree(image.root));
      assert.equal(readFileSync(again[index]!.sbom, 'utf8'), readFileSync(image.sbom, 'utf8'));
    }
  } finally {
    process.umask(mask);
  }
});

for (const { name } of imageComponents) {
  describe(`the image ${name}`, () => {
    let image: BuiltImage;
    let tree: readonly TreeEntry[];
    let sbom: Sbom;
    before(() => {
      image = built.find(({ component }) => component.name === name)!;
      tree = readTree(image.root);
      sbom = JSON.parse(readFileSync(image.sbom, 'utf8')) as Sbom;
    });

    test('is small', () => {
      console.log(`${name}: ${(image.bytes / 1e6).toFixed(1)} MB`);
      assert.ok(image.bytes < largest, `${image.bytes} bytes`);
    });

    test('has Node, its libraries, the program, authorities, a user, and nothing else', () => {
      const known = [
        /^\/app\/(?:package\.json|[\w-]+\.js)$/,
        /^\/etc\/(?:passwd|group|nsswitch\.conf|ssl\/certs\/ca-certificates\.crt)$/,
        /^\/lib(?:64)?\/ld-linux-[\w-]+\.so\.\d$/,
        /^\/usr\/lib\/[\w-]+-linux-gnu\/lib(?:c|m|dl|pthread|gcc_s|atomic|stdc\+\+)\.so\.\d$/,
        /^\/usr\/local\/bin\/(?:node|mcp-gatehouse)$/,
        /^\/usr\/share\/doc\/[\w+-]+\/copyright$/,
        /^\/usr\/share\/doc\/mcp-gatehouse\/(?:third-party-licences\.txt|sbom\.cdx\.json)$/,
      ];
      const others = tree.filter(({ kind, path }) => kind !== 'folder' && !known.some((pattern) => pattern.test(path)));
      assert.deepEqual(others, []);
    });

    test('can run Node, its loader and the program, and no shell', () => {
      const programs = tree.filter(({ kind, mode }) => kind === 'file' && (mode & 0o111) !== 0);
      assert.deepEqual(
        programs.map(({ path }) => path.replace(/^.*\/ld-linux-.*$/, 'the loader')),
        ['/app/mcp-gatehouse.js', 'the loader', '/usr/local/bin/node'],
      );
    });

    test('belongs to root, and only /tmp can be written', () => {
      assert.deepEqual(
        tree.filter(({ owner }) => owner !== '0:0'),
        [],
      );
      const writable = tree.filter(({ kind, mode }) => kind !== 'link' && (mode & 0o022) !== 0);
      assert.deepEqual(
        writable.map(({ path, mode }) => [path, mode]),
        [['/tmp', 0o1777]],
      );
      assert.deepEqual(
        tree.filter(({ path, mode }) => path !== '/tmp' && mode > 0o777),
        [],
      );
      const unreadable = tree.filter(({ mode }) => (mode & 0o004) === 0);
      assert.deepEqual(unreadable, []);
    });

    test('has every library that one of its files names, and the loader finds them', async () => {
      const binaries = tree.filter(({ kind, path }) => kind === 'file' && /\.so\.\d$|\/node$/.test(path));
      const there = new Set(binaries.map(({ path }) => path.slice(path.lastIndexOf('/') + 1)));
      const needed = binaries.flatMap(({ path }) => readElf(readFileSync(join(image.root, path))).needed);
      assert.ok(needed.length > 8, `${needed.length} needed`);
      assert.deepEqual(
        needed.filter((library) => !there.has(library)),
        [],
      );

      const program = readElf(readFileSync(join(image.root, 'usr/local/bin/node'))).interpreter!;
      const loaded = await runInRoot({ root: image.root, program, args: ['--list', '/usr/local/bin/node'] });
      assert.equal(loaded.exitCode, 0, loaded.output);
      assert.doesNotMatch(loaded.output, /not found/);
      assert.match(loaded.output, /libstdc\+\+\.so\.6 => \/usr\/lib\//);
    });

    test('says what it is made of, inside and beside', () => {
      assert.equal(
        readFileSync(join(image.root, 'usr/share/doc/mcp-gatehouse/sbom.cdx.json'), 'utf8'),
        readFileSync(image.sbom, 'utf8'),
      );
      const parts = sbom.components;
      assert.equal(new Set(parts.map(({ purl }) => purl)).size, parts.length);
      assert.deepEqual(
        parts.filter(({ version, licenses }) => version === '' || (licenses[0]?.expression ?? '') === ''),
        [],
      );
      const versions = new Map(parts.map(({ purl, version }) => [purl.replace(/@[^@]*$/, ''), version]));
      assert.equal(versions.get('pkg:generic/node'), process.versions.node);
      for (const deb of ['libc6', 'libstdc%2B%2B6', 'libgcc-s1', 'libatomic1', 'ca-certificates']) {
        assert.ok(
          [...versions.keys()].some((url) => url.startsWith('pkg:deb/') && url.endsWith(`/${deb}`)),
          deb,
        );
      }
      assert.ok(versions.has('pkg:npm/yaml'));
      assert.ok(versions.has('pkg:npm/%40bufbuild/protobuf'));
    });

    test('has packages of the bundle only, in the versions of the lock file', () => {
      const lock = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
        readonly packages: Readonly<Record<string, LockedPackage>>;
      };
      const locked = new Set(
        Object.entries(lock.packages).map(
          ([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`,
        ),
      );
      const npm = sbom.components.filter(({ purl }) => purl.startsWith('pkg:npm/'));
      assert.ok(npm.length > 5, `${npm.length} packages`);
      // Of the demo, of tests and of the toolchain.
      const strangers =
        /^(?:oidc-provider|koa|jose|fast-check|esbuild|typescript|ox.*|playwright-core|axe-core|@modelcontextprotocol\/.*|@types\/.*)$/;
      assert.deepEqual(
        npm.filter(({ name: part }) => strangers.test(part)),
        [],
      );
      assert.deepEqual(
        npm.filter((each) => !locked.has(`${each.name} ${each.version}`)),
        [],
      );
    });

    test('has the text of every licence', () => {
      const text = readFileSync(join(image.root, 'usr/share/doc/mcp-gatehouse/third-party-licences.txt'), 'utf8');
      for (const { name: part, version, purl } of sbom.components) {
        if (purl.startsWith('pkg:npm/')) assert.ok(text.includes(`${part} ${version} (`), part);
        else
          assert.ok(
            tree.some(({ path }) => path === `/usr/share/doc/${part}/copyright`),
            part,
          );
      }
    });

    test('knows nothing of the machine that made it, and has no part of the demo', () => {
      for (const { path } of tree.filter((entry) => entry.path.startsWith('/app/'))) {
        const text = readFileSync(join(image.root, path), 'utf8');
        assert.ok(!text.includes(checkout), path);
        assert.ok(!text.includes('oidc-provider'), path);
      }
    });

    test('has authorities that can be read', () => {
      const text = readFileSync(join(image.root, 'etc/ssl/certs/ca-certificates.crt'), 'utf8');
      assert.ok(text.split('-----BEGIN CERTIFICATE-----').length > 100);
    });
  });
}
