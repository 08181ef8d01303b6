// Hostnames of listeners and routes: RFC 1123 names, the Gateway API's wildcard label in front where it is allowed.
import * as z from 'zod';

const precise = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const wildcard = /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** A hostname, or `*.` and a hostname, which matches one or more labels in front. */
export const hostnameSchema = z
  .string()
  .min(1)
  .max(253)
  .regex(wildcard, 'must be a lower-case host name without a port, such as mcp.example.com or *.example.com');

/** A hostname without a wildcard. */
export const preciseHostnameSchema = z
  .string()
  .min(1)
  .max(253)
  .regex(precise, 'must be a lower-case host name without a port or wildcard, such as mcp.example.com');
