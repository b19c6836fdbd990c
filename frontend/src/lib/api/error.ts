import type { Code } from './types.gen';

/** What a call can end with besides the server's own codes. */
export type ErrorCode = Code | 'offline' | 'locked';

/** A failed call: what happened, why, and the next step, as the server said it. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly hint = '',
    /** For "copy details": method, path and status. */
    readonly detail = '',
  ) {
    super(message);
  }
}

/** Wraps whatever was thrown, so that a screen only ever meets one kind of error. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  // The window's own methods fail with the server's shape.
  if (typeof thrown === 'object' && thrown !== null && 'code' in thrown && 'message' in thrown) {
    const { code, message, hint } = thrown as { code: ErrorCode; message: string; hint?: string };
    return new ApiError(code, String(message), hint ?? '');
  }
  if (thrown instanceof Error) return new ApiError('internal', thrown.message, '', thrown.stack ?? '');
  return new ApiError('internal', String(thrown));
}
