// Loaded before the unit tests of src/api (`node --import`): it writes down every resource that they judge, so that the API server
// can judge the same ones. Their own expectations stay where they are.
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const judge = 'testing/expect-problems.ts';

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    const isOurs = context.parentURL?.startsWith('data:') ?? false;
    if (!resolved.url.endsWith(judge) || isOurs) return resolved;
    const source = `
      import { fillTemplate as fill, listProblems as judge } from ${JSON.stringify(resolved.url)};
      export function fillTemplate(template, yaml) {
        const raw = fill(template, yaml);
        globalThis.recordApiCase(raw);
        return raw;
      }
      export function listProblems(raw, origin) {
        globalThis.recordApiCase(raw);
        return judge(raw, origin);
      }`;
    return { url: `data:text/javascript,${encodeURIComponent(source)}`, shortCircuit: true };
  },
});

Object.assign(globalThis, {
  recordApiCase(raw: unknown) {
    appendFileSync(process.env['API_CASES_FILE'] ?? '/dev/null', `${JSON.stringify(raw) ?? 'null'}\n`);
  },
});
