// The Date header of answers that have none (RFC 9110 section 6.6.1), made once a second.

let line = '';
let madeFor = -1;

/** CRLF and `date: ...`. */
export function currentHttpDate(): string {
  const now = Date.now();
  const second = Math.floor(now / 1_000);
  if (second !== madeFor) {
    madeFor = second;
    line = `\r\ndate: ${new Date(now).toUTCString()}`;
  }
  return line;
}
