/** The key of the demonstration's partner. It stands in the README: whoever reads that knows it. */
export const DEMO_KEY = 'pds_test_demodemo_ThisKeyIsPublishedForEveryoneToTryDemo092oRd';

/** The public id of that key. No other environment than `dev` accepts it. */
export const DEMO_KEY_ID = 'demodemo';
