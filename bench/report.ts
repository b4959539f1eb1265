import { readResults } from './measure/results.ts';
import { writeReport } from './report/write-report.ts';

/* Program: regenerates the report from saved results. */

await writeReport(readResults());
