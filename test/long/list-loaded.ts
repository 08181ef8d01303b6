// Imported before the program: on SIGUSR2 it writes down what has been loaded, into the file that LOADED_LIST names.
import { renameSync, writeFileSync } from 'node:fs';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import vm from 'node:vm';

/** What a process has loaded. */
export interface Loaded {
  /** URLs of files. */
  readonly files: readonly string[];
  /** Node's own parts, as it names them. */
  readonly builtins: readonly string[];
}

const file = process.env['LOADED_LIST'];
if (file !== undefined) {
  const files = new Set<string>();
  registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:')) files.add(url);
      return next(url, context);
    },
  });
  // Files of a bundle (src/cmd/load-bundle.ts).
  vm.Script = class extends vm.Script {
    constructor(code: string, options: vm.ScriptOptions) {
      super(code, options);
      files.add(options.filename!);
    }
  };
  syncBuiltinESMExports();
  process.on('SIGUSR2', () => {
    // Not in the types: it is for Node's own tests, which make sure of the same.
    const { moduleLoadList } = process as unknown as { readonly moduleLoadList: readonly string[] };
    const builtins = moduleLoadList.map((name) => name.replace(/^(?:NativeModule|Internal Binding) /, ''));
    writeFileSync(`${file}.tmp`, JSON.stringify({ files: [...files], builtins } satisfies Loaded));
    renameSync(`${file}.tmp`, file);
  });
}
