// Redraws a text in a terminal: on a screen of its own, without flicker, and cut to what fits.

const enterScreen = '\u001B[?1049h\u001B[?25l';
const leaveScreen = '\u001B[?25h\u001B[?1049l';
const home = '\u001B[H';
const clearLine = '\u001B[K';
const clearRest = '\u001B[J';

/** Where it is drawn. */
interface ScreenOutput {
  readonly write: (text: string) => void;
  /** Asked at every drawing: terminals change their size. */
  readonly getRows: () => number;
}

/** A screen that is in use. */
export interface Screen {
  draw(text: string): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

/** Takes the terminal. */
export function openScreen({ write, getRows }: ScreenOutput): Screen {
  write(enterScreen);
  return {
    draw(text) {
      const lines = cutLines(text.replace(/\n$/, '').split('\n'), getRows());
      // Written over what is there: clearing first would flicker.
      write(`${home}${lines.map((line) => `${line}${clearLine}`).join('\r\n')}${clearRest}`);
    },
    close: () => write(leaveScreen),
  };
}

function cutLines(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const shown = Math.max(0, rows - 1);
  return [...lines.slice(0, shown), `… ${lines.length - shown} more lines; a name on the command line shows less`];
}
