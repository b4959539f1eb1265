import { readResults } from './measure/results.ts';
import { writeReport } from './report/write-report.ts';

/* A program: writes the report anew from what was measured before. */

await writeReport(readResults());
