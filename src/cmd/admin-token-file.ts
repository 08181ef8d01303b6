// The file with the token of the admin port: made with the first start, readable by its owner only, and kept as long as the file is.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The token, or why there is none, in a sentence that names the file. */
type AdminToken =
  | { readonly ok: true; readonly token: string }
  | { readonly ok: false; readonly isMissing: boolean; readonly message: string };

/** Reads the file. */
export function readAdminToken(path: string): AdminToken {
  try {
    const { mode } = statSync(path);
    if ((mode & 0o077) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, '0');
      return fail(
        `The admin token file ${path} has mode ${shown}: others can read it. Run chmod 600 ${path}, or delete it.`,
      );
    }
    const token = readFileSync(path, 'utf8').trim();
    if (/^[\w-]{32,128}$/.test(token)) return { ok: true, token };
    return fail(
      `The admin token file ${path} has no token of 32 letters and digits or more. Delete it: a new one is made.`,
    );
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ENOENT';
    return fail(
      `The admin token file ${path} ${isMissing ? 'does not exist' : `cannot be read (${code})`}.`,
      isMissing,
    );
  }
}

/** Reads the file, and makes it when there is none. */
export function readOrCreateAdminToken(path: string): AdminToken {
  const read = readAdminToken(path);
  if (read.ok || !read.isMissing) return read;
  const token = randomBytes(32).toString('base64url');
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // Fails when somebody else was faster.
    writeFileSync(path, `${token}\n`, { mode: 0o600, flag: 'wx' });
    return { ok: true, token };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EEXIST' ? readAdminToken(path) : fail(`The admin token file ${path} cannot be written (${code}).`);
  }
}

function fail(message: string, isMissing = false): AdminToken {
  return { ok: false, isMissing, message };
}
