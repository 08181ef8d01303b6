// Reads a small text file whole. The size is bounded while reading, so that neither a growing file nor a device fills the memory.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { describeFileError } from './file-set.ts';

/** The text of a file, or why it cannot be read, worded to follow the file's name. */
export type ReadTextResult =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly message: string };

/** Reads UTF-8. Never throws. */
export async function readText(path: string, maxBytes: number): Promise<ReadTextResult> {
  try {
    // Without waiting for a writer: a named pipe would hold it up for ever.
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      if (!(await handle.stat()).isFile()) return { ok: false, message: 'is not a regular file' };
      const chunks: Buffer[] = [];
      let length = 0;
      for (;;) {
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(64 * 1024));
        if (bytesRead === 0) break;
        length += bytesRead;
        if (length > maxBytes) return { ok: false, message: `is larger than ${formatBytes(maxBytes)}, the maximum` };
        chunks.push(buffer.subarray(0, bytesRead));
      }
      const bytes = Buffer.concat(chunks);
      if (isUtf16(bytes)) return { ok: false, message: 'is UTF-16 text; save it as UTF-8' };
      return { ok: true, value: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    const isBadText =
      error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
    return { ok: false, message: isBadText ? 'is not UTF-8 text; save it as UTF-8' : describeFileError(error) };
  }
}

/** By its byte order mark. Redirections of PowerShell write such files. */
function isUtf16(bytes: Buffer): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

function formatBytes(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : `${bytes / 1024} KiB`;
}
