import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeRedisError } from './redis-errors.ts';

describe('what an error of the server means', () => {
  const cases: readonly (readonly [string, boolean, RegExp])[] = [
    ['WRONGPASS invalid username-password pair or user is disabled.', true, /user name or password are wrong/],
    ['NOAUTH Authentication required.', true, /--store-password-file/],
    [
      "NOPERM User gateway has no permissions to run the 'getdel' command",
      true,
      /may not run getdel: see the ACL in docs\/store\.md/,
    ],
    ["NOPERM this user has no permissions to run the 'config|get' command", true, /may not run config\|get/],
    ['NOPERM No permissions to access a key', true, /keys that begin with mcp-gatehouse:/],
    [
      'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
      true,
      /leave out --store-password-file/,
    ],
    ['ERR DB index is out of range', true, /no database of that number/],
    [
      "ERR unknown command 'GETDEL', with args beginning with: 'mcp-gatehouse:v:secret' ",
      true,
      /does not know the command GETDEL: Valkey, or Redis 6\.2/,
    ],
    ["OOM command not allowed when used memory > 'maxmemory'.", false, /memory is full/],
    [
      "ERR Error running script: OOM command not allowed when used memory > 'maxmemory'. script: 1",
      false,
      /memory is full/,
    ],
    [
      "ERR The user executing the script can't run this command or subcommand script: 6163, on @user_script:1.",
      true,
      /one of the commands inside scripts: see the ACL/,
    ],
    ["READONLY You can't write against a read only replica.", false, /replica/],
    ['MOVED 3999 127.0.0.1:6381', true, /node of a cluster/],
    ['LOADING Redis is loading the dataset in memory', false, /still loading/],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', false, /the error WRONGTYPE/],
    ['ERR something with secret-value in it', false, /^it answered with the error ERR$/],
  ];
  for (const [text, isFinal, detail] of cases)
    test(text.slice(0, 60), () => {
      const problem = describeRedisError(new Error(text));
      assert.equal(problem.isFinal, isFinal);
      assert.match(problem.detail, detail);
      assert.ok(!problem.detail.includes('secret'));
    });

  test('codes of Node, and errors that nobody knows', () => {
    const withCode = (code: string): Error => Object.assign(new Error('secret'), { code });
    assert.equal(describeRedisError(withCode('ECONNREFUSED')).detail, 'nothing listens there');
    assert.equal(describeRedisError(withCode('SELF_SIGNED_CERT_IN_CHAIN')).isFinal, true);
    assert.equal(describeRedisError(withCode('EWHATEVER')).detail, 'it failed (EWHATEVER)');
    assert.equal(describeRedisError(new TypeError('secret')).detail, 'it failed (TypeError)');
    assert.equal(describeRedisError('secret').detail, 'it failed');
  });
});
