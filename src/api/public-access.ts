// traffic.publicAccess of a ProxyPolicy: a route that is open on purpose.
import * as z from 'zod';

/** There is nothing to say but yes: a route without the field is not public. */
export const publicAccessSchema = z.literal(true);
