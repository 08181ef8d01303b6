// metav1.MicroTime: a time with exactly six digits of the second. The API server refuses any other form.

/** Milliseconds since 1970 as a MicroTime. */
export function formatMicroTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}
