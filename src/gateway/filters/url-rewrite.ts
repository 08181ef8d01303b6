// Paths on their way upstream: HTTPPathModifier of Gateway API, and the path of an MCP target.
import type { PathModifier } from '../../ir/gen/config_pb.ts';

/**
 * The path after a ReplaceFullPath or ReplacePrefixMatch. `matchedPrefix` as in MatchedRoute: without a trailing slash. What
 * follows the prefix is kept. A regular expression has no prefix to replace; then the whole path counts as matched.
 */
export function rewritePath(path: string, matchedPrefix: string | undefined, modifier: PathModifier): string {
  switch (modifier.modifier.case) {
    case 'replaceFullPath':
      return modifier.modifier.value;
    case 'replacePrefixMatch':
      return replacePrefix(path, matchedPrefix, modifier.modifier.value.replace(/\/$/, '')) || '/';
    default:
      return path;
  }
}

/**
 * The path at an MCP target: the target's own path takes the place of the matched one, and what follows a prefix is kept. When
 * nothing follows, the target's path is sent exactly as configured: a trailing slash matters to some servers.
 */
export function mapMcpPath(path: string, matchedPrefix: string | undefined, targetPath: string): string {
  const rest = readRest(path, matchedPrefix);
  return rest === '' ? targetPath : `${targetPath.replace(/\/$/, '')}${rest}`;
}

function replacePrefix(path: string, matchedPrefix: string | undefined, replacement: string): string {
  return `${replacement}${readRest(path, matchedPrefix)}`;
}

/** Empty, or starts with a slash. The path '/' is all prefix when the prefix is '/'. */
function readRest(path: string, matchedPrefix: string | undefined): string {
  if (matchedPrefix === undefined || (matchedPrefix === '' && path === '/')) return '';
  return path.slice(matchedPrefix.length);
}
