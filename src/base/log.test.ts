import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLog, type LogOptions, parseLogLevel, type RootLog } from './log.ts';

function collect(options: Partial<LogOptions> = {}): { readonly log: RootLog; readonly lines: string[] } {
  const lines: string[] = [];
  const log = createLog({
    level: 'info',
    format: 'json',
    env: {},
    destination: { write: (line) => lines.push(line) },
    ...options,
  });
  return { log, lines };
}

function parse(line: string | undefined): Record<string, unknown> {
  return JSON.parse(line ?? '') as Record<string, unknown>;
}

describe('JSON lines', () => {
  test('have level, time, fields and message', () => {
    const { log, lines } = collect();
    log.warn({ port: 3000 }, 'taken');
    const { time, ...rest } = parse(lines[0]);
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.deepEqual(rest, { level: 'warn', port: 3000, msg: 'taken' });
    assert.equal(lines[0]?.endsWith('\n'), true);
  });

  test('errors keep their code and cause', () => {
    const { log, lines } = collect();
    const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    log.error({ err: new Error('failed', { cause }) }, 'no');
    const err = parse(lines[0])['err'] as { message: string; stack: string; cause: { code: string } };
    assert.equal(err.message, 'failed');
    assert.match(err.stack, /log\.test\.ts/);
    assert.equal(err.cause.code, 'ECONNREFUSED');
  });

  test('secrets of fields, bindings, errors and messages do not get in', () => {
    const { log, lines } = collect();
    log.child({ authorization: 'S3CRETvalue' }).info({ headers: { Cookie: 'S3CRETvalue' } }, 'x Bearer S3CRETvalue');
    log.info({ err: new Error('GET /?token=S3CRETvalue') }, 'x');
    assert.equal(lines.length, 2);
    assert.doesNotMatch(lines.join(''), /S3CRET/);
  });
});

describe('lines made elsewhere', () => {
  const at = Date.parse('2026-08-01T12:00:00.007Z');

  test('get the level and the time, which are those of other lines', () => {
    const { log, lines } = collect();
    log.writeLine('info', at, ',"a":1}\n');
    log.writeLine('warn', at, ',"a":2}\n');
    log.writeLine('info', at, ',"a":3}\n');
    log.writeLine('info', at + 1, ',"a":4}\n');
    log.writeLine('info', at + 60_000, ',"a":5}\n');
    log.writeLine('info', at, ',"a":6}\n');
    assert.deepEqual(lines, [
      '{"level":"info","time":"2026-08-01T12:00:00.007Z","a":1}\n',
      '{"level":"warn","time":"2026-08-01T12:00:00.007Z","a":2}\n',
      '{"level":"info","time":"2026-08-01T12:00:00.007Z","a":3}\n',
      '{"level":"info","time":"2026-08-01T12:00:00.008Z","a":4}\n',
      '{"level":"info","time":"2026-08-01T12:01:00.007Z","a":5}\n',
      '{"level":"info","time":"2026-08-01T12:00:00.007Z","a":6}\n',
    ]);
    log.info({ a: 7 }, 'x');
    assert.deepEqual(Object.keys(parse(lines.at(-1))), ['level', 'time', 'a', 'msg']);
  });

  test('are left out below the level, and are text where the log is text', () => {
    const { log, lines } = collect({
      format: 'text',
      level: 'warn',
      textFormatters: { access: (record) => `status ${String(record['status'])}` },
    });
    log.writeLine('info', at, ',"kind":"access","status":200}\n');
    log.writeLine('warn', at, ',"kind":"access","status":500}\n');
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /^[\d:.]{12} WARN {2}status 500\n$/);
  });
});

describe('levels', () => {
  test('a change reaches every child, older ones too', () => {
    const { log, lines } = collect();
    const child = log.child({ part: 'a' }).child({ more: 1 });
    child.debug({}, 'not yet');
    assert.equal(child.isEnabled('debug'), false);
    log.setLevel('debug');
    assert.equal(log.level, 'debug');
    assert.equal(child.isEnabled('debug'), true);
    child.debug({}, 'now');
    log.setLevel('error');
    child.warn({}, 'no more');
    assert.deepEqual(
      lines.map((line) => parse(line)['msg']),
      ['now'],
    );
    assert.equal(parse(lines[0])['part'], 'a');
  });

  test('silent says nothing', () => {
    const { log, lines } = collect({ level: 'silent' });
    log.error({}, 'x');
    assert.equal(log.isEnabled('error'), false);
    assert.equal(log.isEnabled('silent'), false);
    assert.deepEqual(lines, []);
  });

  test('names are read without regard to case', () => {
    assert.equal(parseLogLevel(' Debug '), 'debug');
    assert.equal(parseLogLevel('loud'), undefined);
  });
});

describe('text', () => {
  test('is chosen by format; auto is JSON where there is no terminal', () => {
    const text = collect({ format: 'text' });
    text.log.info({ a: 1, b: 'x y' }, 'hello');
    assert.match(text.lines[0]!, /^\d\d:\d\d:\d\d\.\d{3} INFO  hello {36}a=1 b="x y"\n$/);
    const auto = collect({ format: 'auto' });
    auto.log.info({}, 'hello');
    assert.equal(parse(auto.lines[0])['msg'], 'hello');
  });

  test('is coloured when forced, and formatted by kind', () => {
    const { log, lines } = collect({
      format: 'text',
      env: { FORCE_COLOR: '1' },
      textFormatters: { access: (record, palette) => palette.red(`${String(record['status'])}!`) },
    });
    log.info({ kind: 'access', status: 200 }, 'request');
    // oxlint-disable-next-line no-control-regex -- colours are what is looked for
    assert.match(lines[0]!, /\u001b\[31m200!\u001b\[39m\n$/);
  });
});
