// A real Keycloak for tests: one process on loopback that forgets everything when it ends, and its administration interface.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** It runs. */
export interface Keycloak {
  /** http://127.0.0.1:port */
  readonly origin: string;
  /**
   * Calls the administration interface (/admin/realms + path) and returns its JSON answer; undefined when there is none.
   * `through` is another address that leads here: Keycloak binds the tokens that it hands out to the address it was called by.
   */
  administer(method: string, path: string, body?: object, through?: string): Promise<unknown>;
  /** Runs commands for a shell, among them kcadm.sh, as the administrator; returns what they print. */
  runCommands(commands: string): Promise<string>;
  stop(): Promise<void>;
}

/** Thrown when Keycloak does not start, or refuses what a test sets up. */
export class KeycloakError extends Error {
  readonly code = 'KEYCLOAK_FAILED';
}

/** Starts the Keycloak of this folder. The signal ends it, ready or not. */
export async function startKeycloak(
  folder: string,
  report: (line: string) => void,
  signal?: AbortSignal,
): Promise<Keycloak> {
  const password = randomBytes(18).toString('base64url');
  const temporary = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-keycloak-'));
  report('Starting Keycloak');
  // Port 0: it takes a free one and says which. The database is in memory. The script starts Java as a child of its own, so both are a process group.
  const options = ['--http-host=127.0.0.1', '--http-port=0', '--cache=local', '--db=dev-mem'];
  const child = spawn('sh', [join(folder, 'bin', 'kc.sh'), 'start-dev', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      ...process.env,
      KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
      KC_BOOTSTRAP_ADMIN_PASSWORD: password,
      JAVA_OPTS_KC_HEAP: '-Xms128m -Xmx768m',
      // It lives for minutes: what the optimising compiler and parallel collectors cost does not come back.
      JAVA_OPTS_APPEND: `-Djava.io.tmpdir=${temporary} -XX:TieredStopAtLevel=1 -XX:-UseG1GC -XX:+UseSerialGC`,
    },
  });
  let output = '';
  const leaveNothing = (): void => killGroup(child.pid, 'SIGKILL');
  process.once('exit', leaveNothing);
  const exited = once(child, 'close').finally(() => process.off('exit', leaveNothing));
  signal?.addEventListener('abort', () => killGroup(child.pid, 'SIGTERM'), { once: true });
  const listening = new Promise<string>((resolve) => {
    const hear = (text: string): void => {
      output += text;
      const origin = /Listening on: (http:\/\/127\.0\.0\.1:\d+)/.exec(output)?.[1];
      if (origin !== undefined) resolve(origin);
    };
    child.stdout.setEncoding('utf8').on('data', hear);
    child.stderr.setEncoding('utf8').on('data', hear);
  });
  const stop = async (): Promise<void> => {
    killGroup(child.pid, 'SIGTERM');
    const insist = setTimeout(() => killGroup(child.pid, 'SIGKILL'), 20_000);
    await exited.catch(() => {});
    clearTimeout(insist);
    await rm(temporary, { recursive: true, force: true });
  };
  const ended = exited.then(
    () => undefined,
    (error: unknown) => void (output += String(error)),
  );
  const origin = await Promise.race([listening, ended]);
  if (origin === undefined) {
    await stop();
    throw new KeycloakError(`Keycloak ended before it was ready:\n${output}`);
  }
  report(`Keycloak is ready at ${origin}`);
  const runCommands = async (commands: string): Promise<string> => {
    // Unpacked without permissions, it is a command by this function only.
    const kcadm = `kcadm.sh() { sh '${join(folder, 'bin', 'kcadm.sh')}' "$@"; }`;
    const shell = spawn('bash', ['-e', '-c', `${kcadm}\n${commands}`], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // kcadm.sh keeps its session in the home directory.
      env: {
        ...process.env,
        HOME: temporary,
        KC_CLI_PASSWORD: password,
        KC_OPTS: `-Duser.home=${temporary} -XX:TieredStopAtLevel=1`,
      },
    });
    let printed = '';
    const hear = (text: string): void => void (printed += text);
    shell.stdout.setEncoding('utf8').on('data', hear);
    shell.stderr.setEncoding('utf8').on('data', hear);
    const [code] = (await once(shell, 'close')) as [number | null];
    if (code !== 0) throw new KeycloakError(`The commands end with ${code}:\n${printed}`);
    return printed;
  };
  return { origin, administer: createAdministration(origin, password), runCommands, stop };
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended already.
  }
}

function createAdministration(origin: string, password: string): Keycloak['administer'] {
  return async (method, path, body, through = origin) => {
    // Tokens of the administrator live for a minute. A new one for each call is never too old.
    const login = await fetch(`${through}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', username: 'admin', password }),
    });
    const { access_token: token } = (await login.json()) as { access_token?: string };
    if (token === undefined) throw new KeycloakError(`The administrator cannot log in: ${login.status}`);
    const response = await fetch(`${through}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new KeycloakError(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  };
}
