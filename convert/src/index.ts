/* What `pds convert` uses. The schemas of records and their validation are the service's, and passed in. */
export { convertCsv } from './csv/convert-csv.ts';
export { fieldsOf } from './csv/fields.ts';
export { kindsOf, parseMap } from './csv/map-file.ts';
export { sketchMap } from './csv/sketch-map.ts';
export type { Kind } from './import-format.ts';
export { InputError } from './input-error.ts';
export { getFileSize, readText } from './input-file.ts';
export { convertOcds, OCDS_KINDS } from './ocds/convert-ocds.ts';
export { parseOcdsMap, type OcdsOptions } from './ocds/options.ts';
export { ConversionReport } from './report.ts';
export { Workspace } from './workspace.ts';
export { checkOutputDirectory, otherFiles, writeDirectory } from './write-directory.ts';
