import assert from 'node:assert/strict';
import { delimiter } from 'node:path';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { formatDuration } from '../base/format-duration.ts';
import { formatBytes, parseBytes, parseDuration } from './flag-values.ts';
import { type CommandFlags, defineFlags, type FlagTable, readFlags } from './flags.ts';
import { formatHelp } from './format-help.ts';

const flags = defineFlags({
  file: { type: 'paths', short: 'f', env: 'T_FILES', help: 'Files and folders with resources' },
  port: { type: 'port', default: 3000, env: 'T_PORT', help: 'Port of the gateway' },
  adminPort: { type: 'port', env: 'T_ADMIN_PORT', help: 'Port of the admin pages' },
  drain: {
    type: 'duration',
    default: 30_000,
    max: 3_600_000,
    env: 'T_DRAIN',
    former: { name: 'grace', env: 'T_GRACE' },
    help: 'Time for streams to end',
  },
  maxHeaderBytes: { type: 'bytes', default: 65_536, min: 1024, help: 'Size of a request head' },
  workers: { type: 'int', default: 1, min: 1, max: 64, help: 'Workers' },
  level: { type: 'enum', values: ['debug', 'info'], default: 'info', env: 'T_LEVEL', help: 'How much is logged' },
  target: { type: 'string', help: 'URL of an MCP server' },
  header: { type: 'strings', env: 'T_HEADERS', help: 'Headers' },
  json: { type: 'boolean', help: 'For machines' },
  accessLog: { type: 'boolean', default: true, env: 'T_ACCESS_LOG', help: 'Log requests' },
});

const command: CommandFlags<typeof flags> = {
  name: 'run',
  usage: '[-f PATH...] [flags]',
  summary: 'Runs the gateway.',
  flags,
  positionals: 'file',
  examples: ['mcp-gatehouse run -f gateway.yaml'],
};

function readValues(args: readonly string[], env: Record<string, string> = {}) {
  const result = readFlags(command, args, env);
  assert.equal(result.kind, 'values', JSON.stringify(result));
  return result.kind === 'values' ? result : assert.fail();
}

function readProblems(args: readonly string[], env: Record<string, string> = {}): readonly string[] {
  const result = readFlags(command, args, env);
  return result.kind === 'problems' ? result.problems : assert.fail(JSON.stringify(result));
}

describe('values', () => {
  test('defaults', () => {
    const { values, origins } = readValues([]);
    assert.deepEqual(values, {
      file: [],
      port: 3000,
      adminPort: undefined,
      drain: 30_000,
      maxHeaderBytes: 65_536,
      workers: 1,
      level: 'info',
      target: undefined,
      header: [],
      json: false,
      accessLog: true,
    });
    assert.equal(origins.port, 'default');
    // The types are exact: these lines are the test.
    const port: number = values.port;
    const level: 'debug' | 'info' = values.level;
    const adminPort: number | undefined = values.adminPort;
    assert.deepEqual([port, level, adminPort], [3000, 'info', undefined]);
  });

  test('both spellings of a value', () => {
    assert.equal(readValues(['--port', '81']).values.port, 81);
    assert.equal(readValues(['--port=82']).values.port, 82);
    assert.equal(readValues(['--target=--odd']).values.target, '--odd');
  });

  test('a flag beats the environment, the environment beats the default', () => {
    const env = { T_PORT: '1', T_LEVEL: 'debug', T_DRAIN: '' };
    const { values, origins } = readValues(['--port', '2'], env);
    assert.equal(values.port, 2);
    assert.equal(values.level, 'debug');
    assert.equal(values.drain, 30_000, 'an empty variable is not set');
    assert.deepEqual([origins.port, origins.level, origins.drain], ['flag', 'env', 'default']);
  });

  test('lists: repeated, positional, from the environment', () => {
    assert.deepEqual(readValues(['-f', 'a', '--file=b', 'c', '--', '-d']).values.file, ['a', 'b', 'c', '-d']);
    assert.deepEqual(readValues([], { T_FILES: ['a', 'b'].join(delimiter), T_HEADERS: 'x, y' }).values.file, [
      'a',
      'b',
    ]);
    assert.deepEqual(readValues([], { T_HEADERS: 'x, y,' }).values.header, ['x', 'y']);
    assert.deepEqual(readValues(['-f', 'mine'], { T_FILES: ['a', 'b'].join(delimiter) }).values.file, ['mine']);
  });

  test('switches', () => {
    assert.equal(readValues(['--json']).values.json, true);
    assert.equal(readValues(['--no-access-log']).values.accessLog, false);
    assert.equal(readValues(['--access-log=false']).values.accessLog, false);
    assert.equal(readValues([], { T_ACCESS_LOG: 'off' }).values.accessLog, false);
    assert.equal(readValues(['--access-log'], { T_ACCESS_LOG: '0' }).values.accessLog, true);
  });

  test('durations and sizes', () => {
    const { values } = readValues(['--drain', '1m30s', '--max-header-bytes', '16KiB']);
    assert.deepEqual([values.drain, values.maxHeaderBytes], [90_000, 16_384]);
  });
});

describe('problems', () => {
  const cases: readonly (readonly [string[], Record<string, string>, string])[] = [
    [['--prot', '3000'], {}, 'unknown flag --prot; did you mean --port?'],
    [['--banana'], {}, 'unknown flag --banana; --help lists the flags'],
    [['-x'], {}, 'unknown flag -x; --help lists the flags'],
    [['--grace', '5s'], {}, '--grace is now --drain'],
    [['--grace=5s'], {}, '--grace is now --drain'],
    [[], { T_GRACE: '5s' }, 'the environment variable T_GRACE is now T_DRAIN'],
    [['--no-port'], {}, 'unknown flag --no-port; --help lists the flags'],
    [['--port', 'http'], {}, '--port must be a port number between 0 and 65535, not "http"'],
    [['--port', '65536'], {}, '--port must be a port number between 0 and 65535, not "65536"'],
    [[], { T_PORT: '3000x' }, 'the environment variable T_PORT must be a port number between 0 and 65535, not "3000x"'],
    [['--drain', '10'], {}, '--drain must be a duration such as 500ms, 10s or 1h30m, not "10"'],
    [['--drain', '2h'], {}, '--drain must be of at most 1h, not "2h"'],
    [['--max-header-bytes', '1'], {}, '--max-header-bytes must be of at least 1KiB, not "1"'],
    [['--workers', '65'], {}, '--workers must be a whole number between 1 and 64, not "65"'],
    [['--level', 'loud'], {}, '--level must be one of debug, info, not "loud"'],
    [['--port', '1', '--port', '2'], {}, '--port is given 2 times; give it once'],
    [['--port'], {}, '--port needs a value: --port PORT'],
    [['--port', '--json'], {}, '--port needs a value: --port PORT'],
    [['--json=maybe'], {}, '--json must be true or false, not "maybe"'],
    [['--target='], {}, '--target must not be empty'],
    [['-f'], {}, '-f needs a value: --file PATH'],
  ];
  for (const [args, env, expected] of cases) {
    test(`${args.join(' ')} ${Object.entries(env).join(' ')}`, () =>
      assert.deepEqual(readProblems(args, env), [expected]));
  }

  test('a variable of the former name, unless Kubernetes made it for a Service or the new one is there', () => {
    const named: CommandFlags<FlagTable> = {
      name: 'run',
      usage: '',
      summary: '',
      flags: { port: { type: 'port', env: 'MCP_GATEHOUSE_PORT', help: 'Port of the gateway' } },
    };
    const read = (env: Record<string, string>, args: string[] = []): string => readFlags(named, args, env).kind;
    assert.deepEqual(readFlags(named, [], { MCP_GATEWAY_PORT: '3000' }), {
      kind: 'problems',
      problems: ['the environment variable MCP_GATEWAY_PORT is called MCP_GATEHOUSE_PORT now'],
    });
    assert.equal(read({ MCP_GATEWAY_PORT: '' }), 'values');
    assert.equal(read({ MCP_GATEWAY_PORT: 'tcp://10.0.0.1:80' }), 'values');
    assert.equal(read({ MCP_GATEWAY_PORT: '3000', MCP_GATEHOUSE_PORT: '3001' }), 'values');
    assert.equal(read({ MCP_GATEWAY_PORT: '3000' }, ['--port', '3001']), 'values');
  });

  test('all of them at once', () => {
    assert.equal(readProblems(['--prot=1', '--port=x', '--level=y']).length, 3);
  });

  test('an argument that belongs nowhere', () => {
    const { positionals: _, ...bare } = command;
    const result = readFlags(bare, ['oops'], {});
    assert.deepEqual(result, { kind: 'problems', problems: ['unexpected argument "oops"'] });
    assert.deepEqual(readFlags(bare, ['--prot', '3000'], {}), {
      kind: 'problems',
      problems: ['unknown flag --prot; did you mean --port?'],
    });
  });

  test('more arguments than a flag that is no list can take', () => {
    const single = { ...command, positionals: 'target' } as const;
    const result = readFlags(single, ['one'], {});
    assert.equal(result.kind === 'values' ? result.values.target : undefined, 'one');
    for (const args of [
      ['one', 'two'],
      ['--target', 'one', 'two'],
    ])
      assert.deepEqual(readFlags(single, args, {}), { kind: 'problems', problems: ['unexpected argument "two"'] });
  });

  test('an argument that may be a secret is not repeated', () => {
    const { positionals: _, ...bare } = command;
    const read = readFlags({ ...bare, strayArgument: 'not here' }, ['eyJ'], {});
    assert.deepEqual(read, { kind: 'problems', problems: ['not here'] });
  });

  test('any arguments: a result, never a throw', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom('--', '-', '-f', '--port', '--port=', '--no-json', '-h', '--__proto__'),
    );
    fc.assert(fc.property(fc.array(word), (args) => void readFlags(command, args, {})));
  });
});

describe('help', () => {
  test('beats problems', () => {
    for (const args of [['--help'], ['-h'], ['--banana', '--help']]) {
      assert.equal(readFlags(command, args, {}).kind, 'help');
    }
  });

  test('lists every flag, aligned, within the width', () => {
    const text = formatHelp(command);
    const lines = text.split('\n');
    assert.equal(lines[0], 'Usage: mcp-gatehouse run [-f PATH...] [flags]');
    assert.match(text, /^ {2}-f, --file PATH +Files and folders with resources \(repeatable; env T_FILES\)$/m);
    assert.match(text, /^ {6}--drain DURATION +Time for streams to end \(default 30s; env T_DRAIN\)$/m);
    assert.match(text, /^ {6}--max-header-bytes SIZE +Size of a request head \(default 64KiB\)$/m);
    assert.match(text, /^ {6}--level debug\|info +How much is logged \(default info; env T_LEVEL\)$/m);
    assert.match(text, /^ {6}--no-access-log +Log requests/m);
    assert.equal(text.endsWith('Examples:\n  mcp-gatehouse run -f gateway.yaml\n'), true);
    const starts = lines.filter((line) => /^ {2,6}-/.test(line)).map((line) => line.search(/(?<= {2})[A-Zp][a-zA-Z]/));
    assert.equal(new Set(starts).size, 1, text);
    assert.equal(
      lines.every((line) => line.length <= 100),
      true,
    );
  });
});

test('help wraps what a command does, and leaves tables as they are', () => {
  const table = `  ${'wide '.repeat(30)}x`;
  const summary = `${'word '.repeat(30).trim()}\nand more.\n\nA table:\n${table}`;
  const lines = formatHelp({ ...command, summary }).split('\n');
  assert.deepEqual(lines.slice(1, 8), [
    '',
    'word '.repeat(20).trim(),
    `${'word '.repeat(10)}and more.`,
    '',
    'A table:',
    table,
    '',
  ]);
});

describe('units', () => {
  test('durations read back as they are written', () => {
    fc.assert(
      fc.property(fc.nat(99_999 * 3_600_000), (value) => assert.equal(parseDuration(formatDuration(value)), value)),
    );
    assert.equal(parseDuration('0'), 0);
    for (const text of ['', '10', '1.5s', '-1s', '1d', '1s ', '123456s'])
      assert.equal(parseDuration(text), undefined, text);
  });

  test('sizes read back as they are written', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (value) => assert.equal(parseBytes(formatBytes(value)), value)));
    assert.equal(parseBytes('1MB'), 1_000_000);
    assert.equal(parseBytes('64Ki'), 65_536);
    for (const text of ['', 'KB', '1.5K', '-1', '1XB', '999999999999999GB'])
      assert.equal(parseBytes(text), undefined, text);
  });
});
