// The `sub` of issued tokens for people: kind, identity provider and its subject, so that no two people, and no person and machine, ever have the same.

/** The subject of a person. Each part is encoded, so that the separators are unambiguous. The parts are well-formed Unicode. */
export function formatPersonSubject(idpIssuer: string, idpSubject: string): string {
  return `person:${encodeURIComponent(idpIssuer)}:${encodeURIComponent(idpSubject)}`;
}
