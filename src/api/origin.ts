// Where a resource was read from. Kubernetes has already validated and pruned what it serves; a file is exactly what a person typed.

/** `file`: strict, for a person at an editor. `kubernetes`: as an API server serves it. */
export type Origin = 'file' | 'kubernetes';
