// A reporter for `node --test` that writes which files had a test that failed, a line each: scripts/run-tests.ts reads it.
export default async function* reportFailedFiles(source) {
  const failed = new Set();
  for await (const { type, data } of source) {
    if (type !== 'test:fail') continue;
    const file = data.entryFile ?? data.file;
    if (file === undefined || failed.has(file)) continue;
    failed.add(file);
    yield `${file}\n`;
  }
}
