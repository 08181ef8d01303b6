// `mcp-gatehouse login URL`: acts as an MCP client against any protected MCP server and tells each step of the flow.
import { createPalette, escapeControls } from '../base/terminal.ts';
import { readText } from '../sources/files/read-text.ts';
import { defineCommand, fail, refuse } from './command.ts';
import type { Tool } from './login/list-tools.ts';
import { isLoopbackUri, LoopbackListenError } from './login/loopback-listener.ts';
import { LineNarrator, type Narrator, StepCollector, tellAll } from './login/narration.ts';
import { openBrowser } from './login/open-browser.ts';
import { runLogin } from './login/run-login.ts';
import { useEgress } from './login/use-egress.ts';
import type { CommandIo } from './process-host.ts';

/** What the command needs beyond standard output; tests put their own browser here. */
export interface LoginIo extends CommandIo {
  readonly openBrowser?: (url: string) => Promise<boolean>;
}

export const loginCommand = defineCommand({
  name: 'login',
  usage: 'URL [flags]',
  summary: `Connects to a protected MCP server as a client does, and tells each step of the flow: the request, the answer, what was found, and the
standard that asks for it. It ends with the list of tools, or with the step that failed and what to change. It works with any server,
behind this gateway or not. Tokens, codes and secrets are never shown, and a registration is removed at the end where the server offers it.

Exit code: 0 the tools were listed, 1 a step failed, 2 wrong usage.

With --json: {url, ok, steps: [{title, standard, ok, exchanges: [{method, url, note, answer: {status, contentType, milliseconds} |
{problem, milliseconds}}], findings: [{mark: good | remark | bad, text, advice}], values}], tools: [{name, description}]}`,
  flags: {
    url: { type: 'string', placeholder: 'URL', help: 'The MCP server; may be given without the flag' },
    clientId: { type: 'string', help: 'A client that is registered already, or the URL of a client metadata document' },
    clientSecretFile: { type: 'string', placeholder: 'PATH', help: 'With --client-id: the file with its secret' },
    scope: { type: 'string', help: 'Scopes to ask for, separated by spaces; when absent, those that the server names' },
    redirectUri: {
      type: 'string',
      default: 'http://127.0.0.1:0/callback',
      placeholder: 'URL',
      help: 'Where the browser comes back to, on loopback; port 0 is any free one',
    },
    browser: { type: 'boolean', default: true, help: 'Only print the address of the login, do not open it' },
    timeout: { type: 'duration', default: 300_000, min: 1_000, max: 3_600_000, help: 'How long to wait for the login' },
    refresh: {
      type: 'boolean',
      help: 'Also refresh the token once, and ask the server again with the new one',
    },
    verbose: {
      type: 'boolean',
      short: 'v',
      help: 'Also show endpoints, and the claims of the token that name no person',
    },
    json: {
      type: 'boolean',
      help: 'Print one JSON object on standard output at the end; the address of the login goes to standard error',
    },
  },
  positionals: 'url',
  examples: [
    'mcp-gatehouse login http://127.0.0.1:3000/mcp',
    'mcp-gatehouse login https://mcp.example.com/mcp --no-browser --verbose',
    'mcp-gatehouse login https://mcp.example.com/mcp --client-id my-client --redirect-uri http://localhost:8976/callback',
  ],
  async run(values, io: LoginIo) {
    if (values.url === undefined) return refuse('say which server: mcp-gatehouse login URL');
    const url = readServerUrl(values.url);
    if (url === undefined)
      return refuse(
        `${JSON.stringify(values.url)} is not a URL such as https://mcp.example.com/mcp${suggestUrl(values.url)}`,
      );
    if (!isLoopbackUri(values.redirectUri))
      return refuse('--redirect-uri must be http on 127.0.0.1, localhost or [::1]: this program waits there itself');
    if (values.clientSecretFile !== undefined && values.clientId === undefined)
      return refuse('--client-secret-file goes with --client-id');
    const secret = await readSecret(values.clientSecretFile);
    if (!secret.ok) return fail(2, `--client-secret-file: ${values.clientSecretFile} ${secret.message}`);

    const collector = new StepCollector();
    const lines = new LineNarrator({ write: io.stdout, color: io.color, verbose: values.verbose });
    const narrator: Narrator = values.json ? collector : tellAll([collector, lines]);
    if (!values.json) io.stdout(`${createPalette(io.color).bold(`Logging in at ${escapeControls(url)}`)}\n`);
    let tools: readonly Tool[] | undefined;
    const leaveProxy = useEgress(io.env);
    try {
      tools = await runLogin(narrator, {
        url,
        clientId: values.clientId,
        clientSecret: secret.value,
        scope: values.scope,
        redirectUri: values.redirectUri,
        timeoutMs: values.timeout,
        refresh: values.refresh,
        showUrl: (href) => showUrl(href, { ...values, io }),
      });
    } catch (error) {
      if (error instanceof LoopbackListenError) return fail(2, error.message);
      throw error;
    } finally {
      leaveProxy();
    }
    if (values.json) {
      const { steps } = collector;
      io.stdout(`${JSON.stringify({ url, ok: tools !== undefined, steps, tools: tools ?? [] }, null, 2)}\n`);
    } else io.stdout(formatEnd(tools, collector, io.color));
    return tools === undefined ? 1 : 0;
  },
});

async function showUrl(
  href: string,
  { io, json, browser }: { readonly io: LoginIo; readonly json: boolean; readonly browser: boolean },
): Promise<void> {
  const write = json ? io.stderr : io.stdout;
  const palette = createPalette(io.color);
  const opened = browser && (await (io.openBrowser ?? openBrowser)(href));
  const what = opened ? 'The browser opens. If it does not, log in at:' : 'Log in with a browser at:';
  write(`      ${what}\n      ${palette.cyan(escapeControls(href))}\n      ${palette.dim('Waiting...')}\n`);
}

function formatEnd(tools: readonly Tool[] | undefined, collector: StepCollector, color: boolean): string {
  const palette = createPalette(color);
  if (tools === undefined) {
    const failed = collector.steps.findLastIndex(({ ok }) => !ok);
    const title = collector.steps[failed]?.title ?? '';
    return `\n${palette.red(palette.bold(`Failed at step ${failed + 1}: ${title}`))}\n`;
  }
  const width = Math.min(32, Math.max(0, ...tools.map(({ name }) => name.length)));
  const lines = tools.map(({ name, description }) => {
    const short = description.split('\n')[0]!.slice(0, 100);
    return `    ${escapeControls(name).padEnd(width)}  ${palette.dim(escapeControls(short))}`.trimEnd();
  });
  return `\n${palette.green(palette.bold('It works.'))}${tools.length === 0 ? ' The server has no tools.' : ' Tools:'}\n${lines.map((line) => `${line}\n`).join('')}`;
}

function readServerUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '') return undefined;
  url.hash = '';
  // As it was written: clients compare `resource` with it, and "https://host" is not "https://host/".
  return url.pathname === '/' && url.search === '' && !text.endsWith('/') ? url.origin : url.href;
}

type ReadSecret =
  | { readonly ok: true; readonly value: string | undefined }
  | { readonly ok: false; readonly message: string };

async function readSecret(file: string | undefined): Promise<ReadSecret> {
  if (file === undefined) return { ok: true, value: undefined };
  const read = await readText(file, 64 * 1024);
  if (!read.ok) return read;
  const value = read.value.replace(/\r?\n$/, '');
  return value === '' ? { ok: false, message: 'is empty' } : { ok: true, value };
}

/** For a host without a scheme; http for this machine. */
function suggestUrl(text: string): string {
  if (!/^[\w-]+(?:\.[\w-]+)*(?::\d+)?(?:\/\S*)?$/.test(text) || !/[.:]/.test(text)) return '';
  const url = `${/^(?:localhost|127\.)/.test(text) ? 'http' : 'https'}://${text}`;
  return URL.canParse(url) ? `; did you mean ${url} ?` : '';
}
