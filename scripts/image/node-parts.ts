// Parts of Node, by the names that a program uses of them. A module that imports one name makes Node fill in all others as well, and some of those load further
// parts: an import of node:fs brings terminals and the history of a prompt along.
import { isBuiltin } from 'node:module';
import type { Plugin } from 'esbuild';

const parts = /^(node:)?(crypto|fs|net|util)$/;

/** For esbuild: imports of these parts become a look at each name that somebody imports. */
export const nodePartsByName: Plugin = {
  name: 'node-parts',
  setup(bundler) {
    bundler.onResolve({ filter: parts }, ({ path, kind }) =>
      // What is required, by packages in the older form, is the part itself: nothing is filled in.
      kind === 'import-statement' && isBuiltin(path)
        ? { path: path.replace('node:', ''), namespace: 'node' }
        : undefined,
    );
    bundler.onLoad({ filter: parts, namespace: 'node' }, ({ path }) => {
      const part: object = process.getBuiltinModule(path)!;
      const names = Object.getOwnPropertyNames(part).filter((name) => name !== 'default');
      return {
        contents: [
          `const part = process.getBuiltinModule(${JSON.stringify(path)});`,
          'const look = (name) => part[name];',
          'export default part;',
          // Marked as pure, so that those that nobody imports are left out.
          ...names.map((name) => `export const ${name} = /* @__PURE__ */ look(${JSON.stringify(name)});`),
        ].join('\n'),
      };
    });
  },
};
