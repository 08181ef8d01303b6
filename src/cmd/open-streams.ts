// What a gateway that ends waits for: the streams that are open, and what to do who does not want to wait.

/** The open streams of all processes, by their metrics. */
export function countStreams(exposition: string): number {
  let count = 0;
  for (const [, value] of exposition.matchAll(/^mcp_gateway_open_streams(?:\{.*\})? (\S+)$/gm)) count += Number(value);
  return count;
}

/** "3 streams are open; they have 30 s; Ctrl-C again ends now". Undefined: there is nothing to wait for. */
export function describeWait(streams: number, timeoutMs: number, reason: string | undefined): string | undefined {
  if (streams === 0 || timeoutMs === 0) return undefined;
  const [subject, they] = streams === 1 ? ['1 stream is open', 'it has'] : [`${streams} streams are open`, 'they have'];
  const again = reason === 'SIGINT' ? 'Ctrl-C again ends now' : 'a second signal ends it now';
  return `${subject}; ${they} ${Math.ceil(timeoutMs / 1000)} s; ${again}`;
}
