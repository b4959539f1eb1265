import type { TextWriter } from './text.ts';

export interface NamedRecord {
  id: string;
  name: string;
}

export interface CertificationRecord {
  abbreviation: string;
  name: string;
  type: 'sbe' | 'technical';
}

const CERTIFICATIONS = 40;

/** Generates records with only an id and a name, such as coops. */
export function makeNamedRecords(prefix: string, count: number, text: TextWriter): NamedRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${prefix}_${String(index + 1).padStart(4, '0')}`,
    name: `${text.title(1, 4)} ${index + 1}`,
  }));
}

/** Generates certifications of both types, with unique names. */
export function makeCertifications(text: TextWriter): CertificationRecord[] {
  return Array.from({ length: CERTIFICATIONS }, (_, index) => {
    const type = index % 2 === 0 ? 'sbe' : 'technical';
    const number = String(index + 1).padStart(2, '0');
    return { abbreviation: `${type === 'sbe' ? 'S' : 'T'}C${number}`, name: `${text.title(2, 4)} ${number}`, type };
  });
}
