// The one way commands read flags and environment variables: a table in, typed values out. Flag beats environment beats default.
import { parseArgs } from 'node:util';
import { findNearestName } from '../base/nearest-name.ts';
import { describePlaceholder, type Flag, type FlagValue, readFlagText, splitList } from './flag-values.ts';

/** Flags by the names under which a command reads them: `adminPort` is --admin-port. */
export type FlagTable = Readonly<Record<string, Flag>>;

/** What a command takes. */
export interface CommandFlags<T extends FlagTable> {
  /** As typed after the program: "run", "token inspect". */
  readonly name: string;
  /** After the name in the usage line. */
  readonly usage: string;
  /** What the command does, in sentences. Wrapped by --help, but for lines that begin with a space. */
  readonly summary: string;
  readonly flags: T;
  /** Those that most people need, for --help; --help-all lists all of them, as --help does without this. */
  readonly commonFlags?: readonly (keyof T & string)[];
  /** The flag to which arguments without a flag belong; without it they are an error, as are several unless it is a list. */
  readonly positionals?: keyof T & string;
  /** What to say about such an argument in place of repeating it: it may be a secret. */
  readonly strayArgument?: string;
  /** Lines for the end of --help. */
  readonly examples?: readonly string[];
}

/** The values of a table's flags. */
export type FlagValues<T extends FlagTable> = { readonly [Name in keyof T]: FlagValue<T[Name]> };

/** Where a value came from. */
export type FlagOrigin = 'flag' | 'env' | 'default';

/** Where the values of a table's flags came from. */
export type FlagOrigins<T extends FlagTable> = Readonly<Record<keyof T, FlagOrigin>>;

/** Outcome of reading a command line. */
type FlagResult<T extends FlagTable> =
  | { readonly kind: 'values'; readonly values: FlagValues<T>; readonly origins: FlagOrigins<T> }
  | { readonly kind: 'help'; readonly all: boolean }
  /** Everything that is wrong, one line each. */
  | { readonly kind: 'problems'; readonly problems: readonly string[] };

type Environment = Readonly<Record<string, string | undefined>>;
type Value = string | number | boolean | readonly string[];

/** Keeps the exact types of a table, so that its values are typed one by one. */
export function defineFlags<const T extends FlagTable>(table: T): T {
  return table;
}

/** Reads a command's arguments (without the command itself) and environment. Pure: it neither prints nor exits. */
export function readFlags<T extends FlagTable>(
  command: CommandFlags<T>,
  args: readonly string[],
  env: Environment,
): FlagResult<T> {
  const parsed = readArguments(command, args);
  if (parsed.help !== 'none') return { kind: 'help', all: parsed.help === 'all' };
  const { problems, given } = parsed;
  const values: Record<string, Value | undefined> = {};
  const origins: Record<string, FlagOrigin> = {};
  for (const [key, flag] of Object.entries(command.flags)) {
    const { former } = flag;
    if (former !== undefined && (env[former.env] ?? '') !== '')
      problems.push(`the environment variable ${former.env} is now ${flag.env ?? formatFlagName(key)}`);
    const fromFlag = given.get(key);
    const fromEnv = flag.env === undefined ? undefined : (env[flag.env] ?? '');
    if (fromFlag !== undefined) {
      origins[key] = 'flag';
      values[key] = readTexts(flag, fromFlag, formatFlagName(key), problems);
    } else if (flag.env !== undefined && fromEnv !== undefined && fromEnv !== '') {
      // An empty variable counts as unset: that is how compose files and charts leave one out.
      origins[key] = 'env';
      const texts = isList(flag) ? splitList(flag.type, fromEnv) : [fromEnv];
      values[key] = readTexts(flag, texts, `the environment variable ${flag.env}`, problems);
    } else {
      origins[key] = 'default';
      values[key] = readDefault(flag);
      if (flag.env !== undefined) problems.push(...findFormerVariable(flag.env, env));
    }
  }
  if (problems.length > 0) return { kind: 'problems', problems };
  return { kind: 'values', values: values as FlagValues<T>, origins: origins as FlagOrigins<T> };
}

/** --admin-port for adminPort. */
export function formatFlagName(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A variable of the product's former name would be ignored without a word. Those that Kubernetes makes for a Service called mcp-gateway are no settings. */
function findFormerVariable(name: string, env: Environment): string[] {
  const former = name.replace(/^MCP_GATEHOUSE_/, 'MCP_GATEWAY_');
  const value = env[former] ?? '';
  if (former === name || value === '' || value.startsWith('tcp://')) return [];
  return [`the environment variable ${former} is called ${name} now`];
}

interface ReadArguments {
  readonly help: 'none' | 'common' | 'all';
  readonly problems: string[];
  /** Texts by key; a boolean's are "true" and "false". */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

function readArguments<T extends FlagTable>(command: CommandFlags<T>, args: readonly string[]): ReadArguments {
  const keys = new Map(Object.keys(command.flags).map((key) => [formatFlagName(key).slice(2), key]));
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      'help-all': { type: 'boolean' },
      ...Object.fromEntries(
        [...keys].map(([name, key]) => {
          const flag = command.flags[key]!;
          const type: 'boolean' | 'string' = flag.type === 'boolean' ? 'boolean' : 'string';
          return [name, { type, multiple: true, ...(flag.short === undefined ? {} : { short: flag.short }) }];
        }),
      ),
    },
  });
  const problems: string[] = [];
  const given = new Map<string, string[]>();
  let help = 'none' as ReadArguments['help'];
  let afterUnknown = false;
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      const { positionals: key } = command;
      if (key !== undefined && (isList(command.flags[key]!) || !given.has(key))) append(given, key, token.value);
      // Most likely the unknown flag's value, which needs no complaint of its own.
      else if (!afterUnknown)
        problems.push(command.strayArgument ?? `unexpected argument ${JSON.stringify(token.value)}`);
      continue;
    }
    if (token.name === 'help' || token.name === 'help-all') {
      help = token.name === 'help-all' || help === 'all' ? 'all' : 'common';
      continue;
    }
    const { key, text } = readOption(command.flags, keys, token);
    afterUnknown = key === undefined;
    if (key === undefined) {
      problems.push(describeUnknown(token.rawName, token.name, command.flags, keys));
    } else if (text === undefined) {
      problems.push(
        `${token.rawName} needs a value: ${formatFlagName(key)} ${describePlaceholder(command.flags[key]!)}`,
      );
    } else {
      append(given, key, text);
    }
  }
  return { help, problems, given };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** A flag of the table and its text; no key: there is no such flag, no text: the value is missing. */
function readOption(
  flags: FlagTable,
  keys: ReadonlyMap<string, string>,
  token: OptionToken,
): { readonly key: string | undefined; readonly text: string | undefined } {
  const key = keys.get(token.name);
  if (key === undefined) {
    const negated = token.name.startsWith('no-') ? keys.get(token.name.slice(3)) : undefined;
    const isSwitch = negated !== undefined && flags[negated]!.type === 'boolean' && token.value === undefined;
    return { key: isSwitch ? negated : undefined, text: 'false' };
  }
  if (flags[key]!.type === 'boolean') return { key, text: token.value ?? 'true' };
  // `--port --help` is a forgotten value, not a port named --help; `--port=--help` says what it means.
  const forgotten = token.inlineValue !== true && token.value !== undefined && /^-./.test(token.value);
  return { key, text: forgotten ? undefined : token.value };
}

function describeUnknown(rawName: string, name: string, flags: FlagTable, keys: ReadonlyMap<string, string>): string {
  const renamed = Object.keys(flags).find((key) => flags[key]!.former?.name === name);
  if (renamed !== undefined) return `${rawName} is now ${formatFlagName(renamed)}`;
  const nearest = rawName.startsWith('--') ? findNearestName(name, [...keys.keys(), 'help', 'help-all']) : undefined;
  return nearest === undefined
    ? `unknown flag ${rawName}; --help lists the flags`
    : `unknown flag ${rawName}; did you mean --${nearest}?`;
}

function readTexts(flag: Flag, texts: readonly string[], name: string, problems: string[]): Value | undefined {
  const values: (string | number | boolean)[] = [];
  for (const text of texts) {
    const read = readFlagText(flag, text);
    if (read.ok) values.push(read.value);
    else problems.push(`${name} ${read.problem}`);
  }
  if (isList(flag)) return values.map(String);
  if (texts.length > 1) problems.push(`${name} is given ${texts.length} times; give it once`);
  return values[0];
}

function readDefault(flag: Flag): Value | undefined {
  if (flag.default !== undefined) return flag.default;
  if (flag.type === 'boolean') return false;
  return isList(flag) ? [] : undefined;
}

function isList(flag: Flag): flag is Flag & { readonly type: 'strings' | 'paths' } {
  return flag.type === 'strings' || flag.type === 'paths';
}

function append(map: Map<string, string[]>, key: string, text: string): void {
  const texts = map.get(key);
  if (texts === undefined) map.set(key, [text]);
  else texts.push(text);
}
