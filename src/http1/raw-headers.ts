// The form in which header fields travel through the gateway.

/** Header fields in wire order: name, value, name, value. Names keep their original spelling. */
export type RawHeaders = readonly string[];

/** No field at all. */
export const noHeaders: RawHeaders = Object.freeze([]);
