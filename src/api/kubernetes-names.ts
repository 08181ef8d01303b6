// Names as Kubernetes and the Gateway API write them: objects, namespaces, sections, groups, kinds, labels (RFC 1123, RFC 1035).
import * as z from 'zod';

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const labelKey =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const subdomainRule = 'must be lower-case letters, digits, "-" and ".", and begin and end with a letter or digit';
const labelRule = 'must be lower-case letters, digits and "-", and begin and end with a letter or digit';

/** metadata.name of most kinds: a DNS subdomain. */
export const subdomainNameSchema = z.string().min(1).max(253).regex(dnsSubdomain, subdomainRule);

/** metadata.name of a Namespace, and every `namespace` field: a DNS label. */
export const namespaceNameSchema = z.string().min(1).max(63).regex(dnsLabel, labelRule);

/** metadata.name of a Service: a DNS label that begins with a letter (RFC 1035). */
export const serviceNameSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(label1035, 'must be lower-case letters, digits and "-", begin with a letter and end with a letter or digit');

/** The name of another object; the Gateway API bounds only its length. */
export const objectNameSchema = z.string().min(1).max(253);

/** A listener's name, a rule's name, and `sectionName`, which points at one of them. */
export const sectionNameSchema = z.string().min(1).max(253).regex(dnsSubdomain, subdomainRule);

/** An API group; the empty string is Kubernetes' core group. */
export const groupSchema = z
  .string()
  .max(253)
  .regex(
    /^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    'must be an API group such as gateway.networking.k8s.io, or "" for the core group',
  );

/** A kind, as in HTTPRoute. */
export const kindSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$/, 'must be a kind such as Service: letters, digits and "-"');

/** The key of a label or annotation: an optional DNS prefix and a name of at most 63 characters. */
export const labelKeySchema = z
  .string()
  .min(1)
  .max(317)
  .regex(
    labelKey,
    'the key must be a name of at most 63 letters, digits, "-", "_" and ".", with an optional DNS prefix and "/"',
  );

/** The value of a label. */
export const labelValueSchema = z
  .string()
  .max(63)
  .regex(labelValue, 'must be letters, digits, "-", "_" and ".", and begin and end with a letter or digit');

/** A port number. */
export const portNumberSchema = z.int().min(1).max(65535).meta({ format: 'int32' });
