import { join } from 'node:path';
import { readResults, RESULTS_NAME } from './measure/results.ts';
import { REPORT_FOLDER, writeReport } from './report/write-report.ts';

/* Program: writes the report again from the saved results, in a folder or in this one. */

const folder = process.argv[2] ?? REPORT_FOLDER;
await writeReport(readResults(join(folder, RESULTS_NAME)), folder);
