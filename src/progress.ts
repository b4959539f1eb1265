/** Receives the progress of long work. An error it throws ends the work. */
export type OnProgress = (progress: {
  readonly done: number;
  readonly total: number;
  /** Such as `Filling the index of contracts`, or a kind. */
  readonly what: string;
}) => void;
