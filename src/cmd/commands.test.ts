// Every command, as the command line runs it: help, wrong usage, exit codes, and the form of error lines.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allCommands } from './all-commands.ts';
import { defineCommand, executeCommand, fail, refuse } from './command.ts';
import { runCommandLine } from './command-line.ts';
import type { Flag } from './flag-values.ts';
import { describePlaceholder } from './flag-values.ts';
import { formatFlagName } from './flags.ts';
import { StartError } from './start-error.ts';
import { version } from '../base/version.ts';

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Run = (io: Parameters<typeof runCommandLine>[2] & object) => Promise<number>;

async function collect(run: Run, env: NodeJS.ProcessEnv): Promise<Ended> {
  let [out, err] = ['', ''];
  const code = await run({
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color: false,
    // No command may find the files of whoever runs the tests.
    env: { HOME: '', ...env },
    isWhole: false,
  });
  return { code, out, err };
}

/** The program with these words. */
function runProgram(words: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const all = [...words.split(' ').filter((word) => word !== ''), ...args];
  return collect((io) => runCommandLine(allCommands, all, io), env);
}

/** Wrong usage is exit code 2, one line for each problem, and where help is; nothing else is printed. */
async function expectRefusal(
  name: string,
  args: readonly string[],
  problems: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const program = `mcp-gatehouse ${name}`.trimEnd();
  const lines = [...problems.map((problem) => `${program}: ${problem}`), `See ${program} --help.`];
  const expected: Ended = { code: 2, out: '', err: `${lines.join('\n')}\n` };
  assert.deepEqual(await runProgram(name, args, env), expected, `${program} ${args.join(' ')}`);
}

/** What no type of flag takes that can refuse something. */
const nonsense = '-1 parsec';
const isStrict = ({ type }: Flag): boolean => type !== 'string' && type !== 'strings' && type !== 'paths';

for (const name of [...Object.keys(allCommands), 'version']) {
  const command = await allCommands[name]?.load();
  describe(`mcp-gatehouse ${name}`, () => {
    const flags: readonly (readonly [flagName: string, flag: Flag])[] = Object.entries(command?.flags ?? {}).map(
      ([key, flag]) => [formatFlagName(key), flag],
    );

    test('is listed under the name that it has', () => assert.equal(command?.name ?? 'version', name));

    test('--help has one layout', async () => {
      const { code, out, err } = await runProgram(name, ['--help', '--no-such-flag']);
      const common = flags.filter(
        ([, flag]) => command?.commonFlags?.some((key) => command.flags[key] === flag) ?? true,
      );
      assert.deepEqual([code, err], [0, '']);
      const parts = /^Usage: mcp-gatehouse (.*)\n\n(.+?)\n\nFlags:\n(.+?)\n(?:\nExamples:\n((?: {2}\S.*\n)+))?$/s.exec(
        out,
      );
      assert.ok(parts !== null, out);
      const [, usage = '', summary = '', table = '', examples] = parts;
      assert.ok(usage === name || usage.startsWith(`${name} `), usage);
      assert.match(summary, /^[A-Z]/);
      for (const line of [...summary.split('\n').filter((each) => !each.startsWith(' ')), ...table.split('\n')])
        assert.ok(line.length <= 100, line);
      for (const [flagName, flag] of common) {
        assert.match(table, new RegExp(`^ {2}(-\\w,| {3}) ${flagName.replace(/^--/, '--(no-)?')}( |$)`, 'm'));
        if (flag.env !== undefined) assert.match(table, new RegExp(`env\\s+${flag.env}\\b`));
      }
      assert.match(table, /^ {2}-h, --help +print this text$/m);
      assert.ok(common.length <= 12, 'about ten flags: name those that most people need in commonFlags');
      assert.equal(examples === undefined, flags.length === 0, 'commands with flags have examples');
      assert.deepEqual(await runProgram(name, ['-h']), { code, out, err });
      assert.deepEqual(await runProgram(`help ${name}`), { code, out, err });
    });

    test('--help-all lists all flags, and --help says how many more there are', async () => {
      const { code, out, err } = await runProgram(name, ['--help-all']);
      assert.deepEqual([code, err], [0, '']);
      for (const [flagName, flag] of flags) {
        assert.match(out, new RegExp(`^ {2}(-\\w,| {3}) ${flagName.replace(/^--/, '--(no-)?')}( |$)`, 'm'));
        if (flag.env !== undefined) assert.match(out, new RegExp(`env\\s+${flag.env}\\b`));
      }
      const help = await runProgram(name, ['--help']);
      const hidden = flags.length - (command?.commonFlags?.length ?? flags.length);
      if (hidden === 0) assert.equal(help.out, out);
      else assert.match(help.out, new RegExp(`^ {6}--help-all +list ${hidden} more flags$`, 'm'));
    });

    test('unknown flags are refused, with the flag that was meant', async () => {
      await expectRefusal(name, ['--no-such-flag'], ['unknown flag --no-such-flag; --help lists the flags']);
      await expectRefusal(name, ['-?', 'value'], ['unknown flag -?; --help lists the flags']);
      for (const [flagName] of flags)
        await expectRefusal(name, [`${flagName}q`], [`unknown flag ${flagName}q; did you mean ${flagName}?`]);
    });

    test('flags without a value are refused', async () => {
      for (const [flagName, flag] of flags.filter(([, { type }]) => type !== 'boolean')) {
        const problem = `${flagName} needs a value: ${flagName} ${describePlaceholder(flag)}`;
        await expectRefusal(name, [flagName], [problem]);
        await expectRefusal(name, [flagName, '--no-such-flag'], [problem]);
      }
    });

    test('values that do not parse are refused, in flags and in variables', async () => {
      for (const [flagName, flag] of flags.filter(([, each]) => isStrict(each))) {
        const { err, code } = await runProgram(name, [`${flagName}=${nonsense}`]);
        const [line = '', ...more] = err.split('\n');
        const said = line.slice(`mcp-gatehouse ${name}: ${flagName} `.length);
        assert.match(said, /^must be .+, not "-1 parsec"$/, line);
        assert.deepEqual([code, more], [2, [`See mcp-gatehouse ${name} --help.`, '']]);
        if (flag.env === undefined) continue;
        await expectRefusal(name, [], [`the environment variable ${flag.env} ${said}`], { [flag.env]: nonsense });
      }
    });

    test('flags that are no lists are refused when they are given twice', async () => {
      for (const [flagName, flag] of flags.filter(([, { type }]) => type === 'string' || type === 'boolean')) {
        const once = flag.type === 'boolean' ? flagName : `${flagName}=x`;
        await expectRefusal(name, [once, once], [`${flagName} is given 2 times; give it once`]);
      }
    });

    test('arguments that belong nowhere are refused', async () => {
      const owner = command?.positionals === undefined ? undefined : command.flags[command.positionals];
      if (owner?.type === 'paths' || owner?.type === 'strings') return;
      const args = owner === undefined ? ['stray'] : ['taken', 'stray'];
      await expectRefusal(name, args, [command?.strayArgument ?? 'unexpected argument "stray"']);
    });
  });
}

describe('what a command finds wrong itself has the same form', () => {
  const cases: readonly (readonly [name: string, args: readonly string[], problems: readonly string[]])[] = [
    ['run', [], ['say what to serve: -f PATH or --target URL']],
    [
      'run',
      ['-f', 'x', '--print', '--issuer', 'y', '--workers', '0'],
      [
        '--print goes with --target: with -f the resources are in your files already',
        '--issuer goes with --target: with -f a ProxyPolicy says who is let in',
        '--workers must be auto or a whole number between 1 and 64, not "0"',
      ],
    ],
    [
      'run',
      ['--target', 'http://x/', '--audience', 'y'],
      ['--audience goes with --issuer: the URL of the identity provider'],
    ],
    [
      'gateway',
      [],
      [
        'say where the controller is: --controller URL, or MCP_GATEHOUSE_CONTROLLER',
        'say which Gateway to serve: --gateway NAMESPACE/NAME, or MCP_GATEHOUSE_GATEWAY',
      ],
    ],
    ['check', [], ['say what to check: -f PATH']],
    ['check', ['-f', 'x', '--try-registration'], ['--try-registration goes with --online']],
    ['explain', [], ["say what to explain: --request 'POST https://host/mcp', or --request-id ID"]],
    ['token inspect', ['--online'], ['--online goes with -f']],
    ['login', [], ['say which server: mcp-gatehouse login URL']],
    ['login', ['x'], ['"x" is not a URL such as https://mcp.example.com/mcp']],
    ['login', ['http://x/', '--client-secret-file', 'y'], ['--client-secret-file goes with --client-id']],
    ['admin-token', [], ['say which file: --admin-token-file PATH; without one the admin port asks for no token']],
    ['rotate-key', [], ['say which file: --seal-key-file PATH; neither XDG_STATE_HOME nor HOME is set']],
    ['schema', ['Gatway'], ['no kind Gatway; did you mean Gateway?']],
    ['controller', ['--pod-address', 'x'], ['--pod-address must be an IP address, not "x"']],
    ['probe', ['--ca', 'x'], ['say what to check: --ready URL, --xds HOST:PORT', '--ca goes with --xds']],
    ['demo', ['--workers', '0'], ['--workers must be auto or a whole number between 1 and 64, not "0"']],
    ['status', ['-A', '-n', 'x'], ['give -n or -A, not both: one namespace, or all of them']],
  ];
  for (const [name, args, problems] of cases)
    test([name, ...args].join(' '), () => expectRefusal(name, args, problems));

  test('what is no wrong usage points to no help', async () => {
    assert.deepEqual(await runProgram('run', ['-f', '/does/not/exist']), {
      code: 1,
      out: '',
      err: 'mcp-gatehouse run: /does/not/exist: does not exist\n',
    });
  });
});

describe('the end of a command', () => {
  const base = { name: 'a b', usage: '', summary: 'Tests.', flags: {} };
  const end = (run: () => ReturnType<typeof refuse>): Promise<Ended> =>
    collect((io) => executeCommand(defineCommand({ ...base, run }), [], io), {});

  for (const [what, run, code, err] of [
    ['a code', () => 1, 1, ''],
    [
      'wrong usage',
      () => refuse('x', 'y'),
      2,
      'mcp-gatehouse a b: x\nmcp-gatehouse a b: y\nSee mcp-gatehouse a b --help.\n',
    ],
    ['a failure', () => fail(1, 'x'), 1, 'mcp-gatehouse a b: x\n'],
    [
      'a start that cannot succeed',
      () => {
        throw new StartError('x\ny');
      },
      1,
      'mcp-gatehouse a b: x\nmcp-gatehouse a b: y\n',
    ],
  ] as const)
    test(what, async () => assert.deepEqual(await end(run), { code, out: '', err }));

  test('other errors are mistakes of the program, and stay errors', async () => {
    const run = (): never => {
      throw new TypeError('x');
    };
    await assert.rejects(end(run), TypeError);
  });
});

describe('without a command', () => {
  test('the commands are listed, but for those that the program starts itself', async () => {
    const help = await runProgram('--help');
    assert.deepEqual([help.code, help.err], [0, '']);
    assert.match(help.out, /^mcp-gatehouse \S+: .+\n\nUsage: mcp-gatehouse COMMAND \[flags\]\n\n/);
    for (const [name, { summary, isInternal }] of Object.entries(allCommands))
      assert.equal(help.out.includes(`\n  ${name.padEnd(15)}  ${summary}\n`), isInternal !== true, name);
    assert.deepEqual(await runProgram('-h'), help);
    assert.deepEqual(await runProgram('help'), help);
    assert.deepEqual(await runProgram(''), { code: 2, out: '', err: help.out });
  });

  test('the commands of a group are listed in the same way', async () => {
    const help = await runProgram('token --help');
    assert.deepEqual([help.code, help.err], [0, '']);
    assert.match(
      help.out,
      /^Usage: mcp-gatehouse token COMMAND \[flags\]\n\n {2}token inspect {2}Show .+\n {2}token new {6}Make .+\n\n"mcp-gatehouse token/,
    );
    assert.deepEqual(await runProgram('help token'), help);
    assert.deepEqual(await runProgram('token'), { code: 2, out: '', err: help.out });
  });

  test('an unknown command is refused, with the command that was meant', async () => {
    await expectRefusal('', ['chekc'], ['there is no command "chekc"; did you mean check?']);
    await expectRefusal('', ['__proto__'], [`there is no command "__proto__"; there is ${listNames()}`]);
    await expectRefusal('', ['tokn', 'inspect'], ['there is no command "tokn"; did you mean token?']);
    await expectRefusal('', ['validate'], ['there is no command "validate"; did you mean check?']);
    await expectRefusal('', ['help', 'chekc'], ['there is no command "chekc"; did you mean check?']);
    await expectRefusal('', ['-f', 'a.yaml'], ['flags follow a command, as in mcp-gatehouse run --help']);
    await expectRefusal('token', ['inspct'], ['there is no such command; did you mean inspect?']);
    await expectRefusal('token', ['eyJhbGciOiJub25lIn0'], ['there is no such command; there is inspect or new']);
  });

  test('--version and -v are the command version', async () => {
    for (const words of ['version', '--version', '-v'])
      assert.deepEqual(await runProgram(words), { code: 0, out: `${version}\n`, err: '' });
  });
});

function listNames(): string {
  const names = Object.keys(allCommands).filter((name) => allCommands[name]!.isInternal !== true);
  return `${names.join(', ')} or version`;
}
