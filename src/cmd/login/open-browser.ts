// Opens the user's browser. The URL comes from somebody's metadata: it never goes through a shell (CVE-2025-6514).
import { spawn } from 'node:child_process';

/** Tries to; false when there is no way to. Only http(s) URLs may come here. */
export function openBrowser(url: string): Promise<boolean> {
  const href = new URL(url).href;
  if (!/^https?:\/\//.test(href)) return Promise.resolve(false);
  const [command, ...args] = chooseCommand(href);
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true, shell: false });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

function chooseCommand(href: string): [string, ...string[]] {
  if (process.platform === 'darwin') return ['open', href];
  // Takes the URL as it is; `start` is a command of the shell.
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', href];
  return ['xdg-open', href];
}
