/** An error whose message is all that the operator needs: what is wrong, and what to do. Printed without a stack. */
export class OperatorError extends Error {}
