// Valid streams of one to four messages: requests as clients send them, answers as servers do (RFC 9112).
import type { SeededRandom } from '../security/seeded-random.ts';
import {
  drawCase,
  drawChunkedBody,
  drawContent,
  drawField,
  drawFramingField,
  drawLength,
  drawPlainFields,
  drawText,
  shuffle,
} from './http1-grammar.ts';
import type { WireStream } from './http1-reading.ts';
import { refereeMethods } from './http1-referee.ts';

const methods = refereeMethods.filter((method) => method !== 'CONNECT');
const pathCharacters = "abcxyzABC0189-._~!$&'()*+,;=:@";
const hosts = ['localhost', 'example.com', 'example.com:8080', '127.0.0.1', '[::1]', '[::1]:443', 'a-b.c_d~e'];

/** A message, and whether another one may follow it on the connection. */
interface DrawnMessage {
  readonly bytes: string;
  readonly last: boolean;
}

/** Draws a valid stream. */
export function drawValidStream(random: SeededRandom): WireStream {
  return random.below(2) === 0 ? drawRequests(random) : drawAnswers(random);
}

function drawRequests(random: SeededRandom): WireStream {
  let bytes = '';
  let request: DrawnMessage | undefined;
  for (let left = 1 + random.below(4); left > 0; left -= 1) {
    request = request === undefined || random.below(2) === 0 ? drawRequest(random) : repeat(random, request);
    bytes += request.bytes;
    if (request.last) break;
  }
  return { kind: 'request', bytes, methods: [] };
}

/** The message once more, as it was or with another line or two: whoever remembers heads must see what changed. */
function repeat(random: SeededRandom, { bytes, last }: DrawnMessage): DrawnMessage {
  if (random.below(2) === 0) return { bytes, last };
  const lines = bytes.slice(0, bytes.indexOf('\r\n\r\n') + 2).split(/(?<=\r\n)/);
  const added = drawPlainFields(random, 2);
  return {
    bytes: lines.toSpliced(1 + random.below(lines.length), 0, ...added).join('') + bytes.slice(lines.join('').length),
    last,
  };
}

function drawPath(random: SeededRandom): string {
  let path = '';
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    path += '/';
    if (random.below(6) !== 0) path += drawText(random, pathCharacters, 8);
    if (random.below(6) === 0) path += random.pick(['%20', '%2F', '%c3%a9', '%00']);
  }
  return random.below(4) === 0 ? `${path}?${drawText(random, `${pathCharacters}/?`, 10)}` : path;
}

function drawTarget(random: SeededRandom, method: string): string {
  if (method === 'OPTIONS' && random.below(2) === 0) return '*';
  if (random.below(10) !== 0) return drawPath(random);
  return `${random.pick(['http', 'https', 'HTTP'])}://${random.pick(hosts)}${random.below(4) === 0 ? '' : drawPath(random)}`;
}

function drawRequest(random: SeededRandom): DrawnMessage {
  if (random.below(40) === 0) {
    const authority = random.pick(['example.com:443', '127.0.0.1:80']);
    const fields = shuffle(random, [drawField(random, 'Host', authority), ...drawPlainFields(random, 2)]);
    return { bytes: `CONNECT ${authority} HTTP/1.1\r\n${fields.join('')}\r\n`, last: true };
  }
  const method = random.below(2) === 0 ? random.pick(['GET', 'POST', 'HEAD', 'DELETE']) : random.pick(methods);
  const isOld = random.below(10) === 0;
  const fields = drawPlainFields(random, 5);
  if (!isOld || random.below(2) === 0) fields.push(drawField(random, drawCase(random, 'Host'), random.pick(hosts)));
  let body = '';
  let last = false;
  let isPlain = true;
  switch (random.below(isOld ? 4 : 6)) {
    case 0:
    case 1:
      break;
    case 2:
      fields.push(drawFramingField(random, 'Content-Length', drawLength(random, 0)));
      break;
    case 3:
      body = drawContent(random);
      isPlain = false;
      fields.push(drawFramingField(random, 'Content-Length', drawLength(random, body.length)));
      break;
    default:
      body = drawChunkedBody(random);
      isPlain = false;
      fields.push(drawFramingField(random, 'Transfer-Encoding', drawCase(random, 'chunked')));
  }
  if (!isPlain && !isOld && random.below(6) === 0) fields.push(drawField(random, 'Expect', '100-continue'));
  switch (random.below(8)) {
    case 0:
      fields.push(drawField(random, drawCase(random, 'Connection'), drawCase(random, 'close')));
      last = true;
      break;
    case 1:
      fields.push(drawField(random, 'Connection', drawCase(random, 'keep-alive')));
      break;
    case 2:
      fields.push(drawField(random, 'Connection', random.pick(['close, x', 'x , close', 'x,close,y'])));
      last = true;
      break;
    case 3:
      if (isPlain && !isOld) {
        const protocol = random.pick(['websocket', 'WebSocket', 'h2c', 'foo/2']);
        fields.push(drawField(random, drawCase(random, 'Connection'), drawCase(random, 'upgrade')));
        fields.push(drawField(random, drawCase(random, 'Upgrade'), protocol));
        last = true;
      } else {
        last = isOld;
      }
      break;
    default:
      last = isOld;
  }
  const version = isOld ? '1.0' : '1.1';
  const line = `${method} ${drawTarget(random, method)} HTTP/${version}\r\n`;
  return { bytes: `${line}${shuffle(random, fields).join('')}\r\n${body}`, last };
}

function drawAnswers(random: SeededRandom): WireStream {
  let bytes = '';
  const asked: string[] = [];
  let answer: DrawnMessage | undefined;
  for (let left = 1 + random.below(4); left > 0; left -= 1) {
    while (random.below(6) === 0) bytes += drawInformational(random);
    if (answer === undefined || random.below(2) === 0) {
      const method = random.below(4) === 0 ? 'HEAD' : random.pick(['GET', 'POST']);
      asked.push(method);
      answer = drawAnswer(random, method);
    } else {
      asked.push(asked.at(-1)!);
      answer = repeat(random, answer);
    }
    bytes += answer.bytes;
    if (answer.last) break;
  }
  return { kind: 'response', bytes, methods: asked };
}

function drawReason(random: SeededRandom): string {
  return random.below(4) === 0 ? '' : random.pick(['OK', 'Not Found', 'x y\tz', '\xe9t\xe9', "It's (fine)!"]);
}

function drawInformational(random: SeededRandom): string {
  const line = `HTTP/1.1 ${random.pick([100, 102, 103])} ${drawReason(random)}\r\n`;
  return `${line}${drawPlainFields(random, 2).join('')}\r\n`;
}

function drawAnswer(random: SeededRandom, method: string): DrawnMessage {
  if (method === 'GET' && random.below(30) === 0) {
    const fields = shuffle(random, [
      drawField(random, drawCase(random, 'Connection'), drawCase(random, 'upgrade')),
      drawField(random, drawCase(random, 'Upgrade'), 'websocket'),
      ...drawPlainFields(random, 2),
    ]);
    return { bytes: `HTTP/1.1 101 Switching Protocols\r\n${fields.join('')}\r\n`, last: true };
  }
  const isOld = random.below(10) === 0;
  const status =
    random.below(2) === 0 ? 200 : random.pick([201, 202, 204, 205, 206, 301, 304, 400, 401, 404, 500, 503, 599]);
  const isBodyless = method === 'HEAD' || status === 204 || status === 304;
  const fields = drawPlainFields(random, 5);
  let body = '';
  let last = isOld;
  switch (random.below(isOld ? 3 : 5)) {
    case 0:
      if (!isBodyless) {
        body = random.below(4) === 0 ? '' : drawContent(random);
        last = true;
      }
      break;
    case 1:
    case 2:
      body = random.below(4) === 0 ? '' : drawContent(random);
      // Not allowed in a 204 (RFC 9110, 8.6).
      if (status !== 204) fields.push(drawFramingField(random, 'Content-Length', drawLength(random, body.length)));
      break;
    default:
      body = drawChunkedBody(random);
      if (status !== 204) fields.push(drawFramingField(random, 'Transfer-Encoding', drawCase(random, 'chunked')));
  }
  if (random.below(8) === 0) {
    fields.push(drawField(random, drawCase(random, 'Connection'), drawCase(random, 'close')));
    last = true;
  }
  const line = `HTTP/${isOld ? '1.0' : '1.1'} ${status} ${drawReason(random)}\r\n`;
  return { bytes: `${line}${shuffle(random, fields).join('')}\r\n${isBodyless ? '' : body}`, last };
}
