// How many routes anybody may use, in the words of the admin pages, `check` and `status`.

/** The count. */
export interface AccessCount {
  /** All of them. */
  readonly routes: number;
  readonly open: number;
  /** Of the open ones: those that a policy opens on purpose. */
  readonly publicAccess: number;
  /** Those that are closed because nothing protects them. */
  readonly closed: number;
}

/** "2 of 7 routes are OPEN, 1 of them on purpose, 1 closed because nothing protects it". */
export function formatAccess(count: AccessCount): string {
  const details = formatAccessDetails(count);
  return details === '' ? formatOpen(count) : `${formatOpen(count)}, ${details}`;
}

/** "2 of 7 routes are OPEN". */
export function formatOpen({ routes, open }: AccessCount): string {
  const [noun, verb] = routes === 1 ? ['route', 'is'] : ['routes', 'are'];
  if (routes === 0) return 'No routes are served';
  return open === 0 ? 'No route is OPEN' : `${open} of ${routes} ${noun} ${verb} OPEN`;
}

/** What else is to be said: "1 of them on purpose", "2 closed because nothing protects them"; empty: nothing. */
export function formatAccessDetails({ publicAccess, closed }: AccessCount): string {
  return [
    ...(publicAccess === 0 ? [] : [`${publicAccess} of them on purpose`]),
    ...(closed === 0 ? [] : [`${closed} closed because nothing protects ${closed === 1 ? 'it' : 'them'}`]),
  ].join(', ');
}
