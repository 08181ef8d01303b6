import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  appendField,
  appendFields,
  finishHead,
  formatRequestLine,
  formatStatusLine,
  isSendableValue,
  UnsendableHeadError,
} from './message-head.ts';

describe('a head', () => {
  test('is a start line, a line for each field, and an empty line', () => {
    const head = appendField(formatRequestLine('POST', '/mcp'), 'Host', 'mcp.example.com');
    assert.equal(
      finishHead(appendFields(head, ['X-Own-Name', 'a', 'accept', ''])),
      'POST /mcp HTTP/1.1\r\nHost: mcp.example.com\r\nX-Own-Name: a\r\naccept: \r\n\r\n',
    );
    assert.equal(finishHead(formatStatusLine(404)), 'HTTP/1.1 404 Not Found\r\n\r\n');
    assert.equal(finishHead(formatStatusLine(299)), 'HTTP/1.1 299 \r\n\r\n');
  });

  test('that would be read as something else is not made', () => {
    for (const value of ['a\r', 'a\nb', '\0', 'a\r\nx: y', `${'a'.repeat(100)}\r\nx: y`])
      for (const name of ['accept', 'x-own-name'])
        assert.throws(() => appendField('', name, value), UnsendableHeadError, JSON.stringify(value));
    for (const name of ['', 'a b', 'a:', 'a\r\n', 'ä', 'x\u{1f600}'])
      assert.throws(() => appendField('', name, 'v'), UnsendableHeadError, JSON.stringify(name));
    for (const method of ['', 'GE T', 'GET\r\n'])
      assert.throws(() => formatRequestLine(method, '/'), UnsendableHeadError);
    for (const target of ['', '/a b', '/\r\n', '/ä'])
      assert.throws(() => formatRequestLine('GET', target), UnsendableHeadError);
    for (const status of [99, 1_000, 200.5, Number.NaN])
      assert.throws(() => formatStatusLine(status), UnsendableHeadError);
    // Of such a character only one byte would be sent: U+010A would become a line feed.
    assert.throws(() => finishHead(appendField('', 'x-own-name', 'a\u010ab')), UnsendableHeadError);
    assert.equal(finishHead(appendField('', 'x-own-name', '\xe4')), '\r\nx-own-name: \xe4\r\n\r\n');
  });
});

test('isSendableValue', () => {
  for (const value of ['', 'a b\tc', '\xe4\xff']) assert.equal(isSendableValue(value), true, JSON.stringify(value));
  for (const value of ['\0', '\r', '\n', '\x7f', '\u0100'])
    assert.equal(isSendableValue(value), false, JSON.stringify(value));
});
