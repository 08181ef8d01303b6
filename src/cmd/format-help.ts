// The text of --help, the same for every command.
import { describeDefault, describePlaceholder, type Flag } from './flag-values.ts';
import { type CommandFlags, type FlagTable, formatFlagName } from './flags.ts';

const helpWidth = 100;
const maxNameWidth = 34;

/** Usage, summary, flags with their defaults and environment variables, examples. `all`: not only the flags that most people need. */
export function formatHelp<T extends FlagTable>(command: CommandFlags<T>, all = false): string {
  const { flags, commonFlags } = command;
  const listed = Object.entries(flags).filter(
    ([key]) => all || commonFlags === undefined || commonFlags.some((each) => each === key),
  );
  const hidden = Object.keys(flags).length - listed.length;
  const rows: (readonly [string, string])[] = listed.map(([key, flag]) => [
    formatHelpName(key, flag),
    formatHelpText(flag),
  ]);
  rows.push(['  -h, --help', 'print this text']);
  if (hidden > 0) rows.push(['      --help-all', `list ${hidden} more flags`]);
  const width = Math.min(maxNameWidth, Math.max(...rows.map(([name]) => name.length))) + 2;
  const lines = [`Usage: mcp-gatehouse ${command.name} ${command.usage}`.trimEnd(), ''];
  lines.push(...wrapParagraphs(command.summary), '', 'Flags:');
  for (const [name, text] of rows) {
    const wrapped = wrapWords(text, helpWidth - width);
    // A name that is too long for its column gets a line of its own.
    if (name.length + 2 > width) lines.push(name, ...wrapped.map((line) => `${' '.repeat(width)}${line}`));
    else lines.push(...wrapped.map((line, index) => `${(index === 0 ? name : '').padEnd(width)}${line}`));
  }
  if (command.examples !== undefined) lines.push('', 'Examples:', ...command.examples.map((each) => `  ${each}`));
  return `${lines.join('\n')}\n`;
}

function formatHelpName(key: string, flag: Flag): string {
  const short = flag.short === undefined ? '    ' : `-${flag.short}, `;
  const dashes =
    flag.type === 'boolean' && flag.default === true ? `--no-${formatFlagName(key).slice(2)}` : formatFlagName(key);
  return `  ${short}${dashes} ${describePlaceholder(flag)}`.trimEnd();
}

function formatHelpText(flag: Flag): string {
  const notes: string[] = [];
  const shown = describeDefault(flag);
  if (shown !== undefined && flag.type !== 'boolean') notes.push(`default ${shown}`);
  if (flag.type === 'strings' || flag.type === 'paths') notes.push('repeatable');
  if (flag.env !== undefined) notes.push(`env ${flag.env}`);
  return notes.length === 0 ? flag.help : `${flag.help} (${notes.join('; ')})`;
}

/** Lines that begin with a space are tables, and stay as they are. */
function wrapParagraphs(text: string): string[] {
  const paragraphs = text.replaceAll(/(?<=^\S.*)\n(?=\S)/gm, ' ').split('\n');
  return paragraphs.flatMap((each) => (each.startsWith(' ') ? [each] : wrapWords(each, helpWidth)));
}

function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  return lines;
}
