import { filledText, id, object, type CompletedOf } from '../fields.ts';

/** A line of a reference list. The order of the fields is that of the stored record, whose hash depends on it. */
export const namedFields = object({ id, name: filledText });

/** Validated and completed: every field is present, timestamps are normalized. */
export type NamedRecord = CompletedOf<typeof namedFields>;
