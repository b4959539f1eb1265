/** The demo partner's API key. It is public: the README shows it. */
export const DEMO_KEY = 'pds_test_demodemo_ThisKeyIsPublishedForEveryoneToTryDemo092oRd';

/** The key's public ID. Only the `dev` environment accepts it. */
export const DEMO_KEY_ID = 'demodemo';
