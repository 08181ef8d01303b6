// What the files of this suite install before their tests. What the machine lacks ends the run with the line that says what to do.
import { InstallationError } from '../../scripts/install-once.ts';

/** What `install` resolves with. `report` tells of what takes long. */
export async function installedOrExit<T>(install: (report: (line: string) => void) => Promise<T>): Promise<T> {
  try {
    return await install((line) => console.log(line));
  } catch (error) {
    if (!(error instanceof InstallationError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
