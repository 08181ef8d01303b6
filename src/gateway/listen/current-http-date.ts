// The Date header of answers that have none (RFC 9110 section 6.6.1), made once a second.

let line = '';
let madeFor = -1;

/** `date: ...` and CRLF. */
export function currentHttpDate(): string {
  const now = Date.now();
  const second = Math.floor(now / 1_000);
  if (second !== madeFor) {
    madeFor = second;
    line = `date: ${new Date(now).toUTCString()}\r\n`;
  }
  return line;
}
