// What the files of this suite install before their tests. What the machine lacks ends the run with the line that says what to do.

type Lack = abstract new (...args: never) => Error;

/** What `install` resolves with. `report` tells of what takes long; `lacks` are the errors whose message is that line. */
export async function installedOrExit<T>(
  install: (report: (line: string) => void) => Promise<T>,
  ...lacks: readonly Lack[]
): Promise<T> {
  try {
    return await install((line) => console.log(line));
  } catch (error) {
    if (!(error instanceof Error && lacks.some((lack) => error instanceof lack))) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
