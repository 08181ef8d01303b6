// What a terminal may be shown: colours only where they are wanted, and never a control character from somebody else's input.

/** Whether to colour: NO_COLOR (no-color.org) beats FORCE_COLOR beats what the stream is. */
export function shouldUseColor(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  return isTerminal && env['TERM'] !== 'dumb';
}

/** Colours by meaning, so that lines look alike wherever they are made. */
export interface Palette {
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  yellow(text: string): string;
  green(text: string): string;
  cyan(text: string): string;
  magenta(text: string): string;
}

/** A palette that colours, or one that leaves text as it is. */
export function createPalette(color: boolean): Palette {
  return color ? colored : plain;
}

const plain: Palette = {
  dim: keep,
  bold: keep,
  red: keep,
  yellow: keep,
  green: keep,
  cyan: keep,
  magenta: keep,
};

const colored: Palette = {
  dim: paint(2, 22),
  bold: paint(1, 22),
  red: paint(31, 39),
  yellow: paint(33, 39),
  green: paint(32, 39),
  cyan: paint(36, 39),
  magenta: paint(35, 39),
};

/** Makes control characters visible: a path or a User-Agent must not move the cursor or forge a line. */
export function escapeControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- finding them is the point
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

function keep(text: string): string {
  return text;
}

function paint(open: number, close: number): (text: string) => string {
  return (text) => `\u001b[${open}m${text}\u001b[${close}m`;
}
