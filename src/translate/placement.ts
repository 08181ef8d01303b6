// Where Gateways live, which decides what they share.

/**
 * `host`: all of them in one process on this machine; they share its ports, and spec.addresses is where they bind.
 * `pods`: each has pods of its own, which bind every interface; spec.addresses is what its Service should have.
 */
export type Placement = 'host' | 'pods';
