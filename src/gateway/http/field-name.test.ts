import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { foldName, isCommonName, readFieldName } from './field-name.ts';

/** Spellings of one name: those in the table, and others. */
function spell(name: string): string[] {
  const title = name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
  return [name, title, name.toUpperCase(), `${name.slice(0, 1)}${name.slice(1).toUpperCase()}`];
}

describe('the name of a field', () => {
  test('means the same in every spelling, whether the table has it or not', () => {
    for (const name of [
      'connection',
      'te',
      'host',
      'accept',
      'authorization',
      'x-request-id',
      'mcp-session-id',
      'x-own',
    ])
      for (const spelling of spell(name)) assert.deepEqual(readFieldName(spelling), readFieldName(name), spelling);
    assert.ok(isCommonName('Content-Type') && isCommonName('content-type') && !isCommonName('CONTENT-TYPE'));
  });

  test('says where it ends', () => {
    const ends = (name: string): string => {
      const { endsWithRequest, endsWithAnswer } = readFieldName(name);
      return `${endsWithRequest ? 'request' : ''} ${endsWithAnswer ? 'answer' : ''}`.trim();
    };
    for (const name of ['Connection', 'keep-alive', 'TE', 'Transfer-Encoding', 'Upgrade', 'Proxy-Connection'])
      assert.equal(ends(name), 'request answer', name);
    for (const name of ['Host', 'content-length', 'Expect', 'HTTP2-Settings'])
      assert.equal(ends(name), 'request', name);
    for (const name of ['accept', 'X-Own', 'Set-Cookie', 'Mcp-Session-Id', 'x_own', 'User_Agent'])
      assert.equal(ends(name), '', name);
  });

  test('that only looks like one by which something is decided goes no further', () => {
    for (const name of [
      'Mcp_Session_Id',
      'mcp_session-id',
      'MCP_PROTOCOL_VERSION',
      'Mcp_Method',
      'Mcp_Param_Region',
      'Transfer_Encoding',
      'Content_Length',
      'content_type',
      'Keep_Alive',
      'Proxy_Authorization',
      'Set_Cookie',
      'Last_Event_Id',
      'X_Request_Id',
    ])
      assert.ok(readFieldName(name).endsWithRequest, name);
  });

  test('is folded as CGI folds it where servers may be fooled', () => {
    assert.equal(foldName('x_forwarded_for'), 'x-forwarded-for');
    for (const name of ['X-Forwarded-For', 'x_forwarded_for', 'X-Forwarded_Host'])
      assert.ok(readFieldName(name).isOwn && readFieldName(name).isForwarding, name);
    assert.ok(readFieldName('X_Real_IP').isForwarding && !readFieldName('X_Real_IP').isOwn);
    assert.ok(readFieldName('X_Forwarded_Anything').isForwarding);
    assert.ok(readFieldName('Mcp_Session_Id').isForbiddenTrailer && readFieldName('x_real_ip').isForbiddenTrailer);
    assert.equal(readFieldName('Mcp_Name').lowerCase, 'mcp_name');
    assert.equal(readFieldName('Mcp_Name').canonical, 'mcp-name');
  });
});
