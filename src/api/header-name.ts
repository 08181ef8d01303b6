// Header field names and values in filters and matches (RFC 9110, sections 5.1 and 5.5).
import { z } from 'zod';

/** A header field name: an RFC 9110 token. */
export const headerNameSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$/, "must be a header name: letters, digits and !#$%&'*+-.^_`|~ only");
