// Why the identity provider cannot be used, for everybody who asks: it names the cause without any address. Operators find those in the log and the inspector.

/** What `detail`, made for the operator, comes to. Completes "The keys could not be fetched: the identity provider ..."; undefined: it cannot be reached. */
export function explainIdpProblem(detail: string | undefined): string | undefined {
  if (detail === undefined) return undefined;
  if (/the document names the issuer/.test(detail))
    return 'has metadata that names another issuer than the policy of this gateway; a trailing slash matters';
  if (/the document /.test(detail)) return 'has metadata that cannot be used';
  // One place that could not be asked may have been the right one.
  if (/did not (?:answer within|accept a connection in time)/.test(detail)) return 'does not answer in time';
  if (/cannot be reached|broke off|is not called/.test(detail)) return undefined;
  return /no metadata of .*answers 4\d\d/.test(detail)
    ? 'has no metadata where the issuer in the policy of this gateway leads'
    : undefined;
}
