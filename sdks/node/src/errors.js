// The exceptions that users of this package see.

class Named extends Error {
  constructor(text, options) {
    super(text, options);
    Object.defineProperty(this, "name", { value: new.target.name, configurable: true });
  }
}

/** The hall refused for good, or cannot be reached; a supervisor should restart with a mended configuration. */
export class HallError extends Named {}

/** A token or secret is missing, wrong, revoked, or not allowed to act so ("401 / 403: crash"). */
export class Unauthorized extends HallError {}

/** The server answered in a way that no repetition mends. `status` and `code` are the hall's, where it answered. */
export class Refused extends HallError {
  constructor(text, status = null, code = null) {
    super(text);
    this.status = status;
    this.code = code;
  }
}

/** Another process registered under this worker's id, which took over all that this one held. */
export class Superseded extends HallError {}

/** The hall did not answer for longer than the client was willing to try. */
export class Unreachable extends HallError {}

/** The call has not ended within the time. It lives on: `pending` is its handle. */
export class CallPending extends HallError {
  constructor(pending, status) {
    super(`${pending.requestId} is still ${status}`);
    this.pending = pending;
    this.requestId = pending.requestId;
  }
}

/** The call ended, but not with success. `status`: failed, error, cancelled or expired. */
export class CallFailed extends Named {
  constructor(status, errorText, requestId) {
    super(errorText ? `${status}: ${errorText}` : status);
    this.status = status;
    this.errorText = errorText;
    this.requestId = requestId;
  }
}

/** Thrown by a plan's handler to give its task back, so that any worker may take it again; the text is the reason. */
export class Release extends Named {}

/** Thrown by a method to refuse: the call ends as `failed`, and the client sees this text. */
export class Fail extends Named {}

/** The reason of an aborted `signal`: the result is no longer wanted as it was. */
export class Cancelled extends Named {}

/** A value that JSON cannot carry; the text says what it is. */
export class Unsendable extends Named {}

/** The text of whatever was thrown; the name of its type where the text says nothing by itself. */
export function reasonOf(error) {
  try {
    if (!(error instanceof Error)) return String(error) || typeof error;
    return error.message.trim() ? error.message : error.name;
  } catch {
    return "an error whose text cannot be read";
  }
}

/** The type and the text of whatever was thrown. */
export function reasonWithType(error) {
  const reason = reasonOf(error);
  return error instanceof Error && reason !== error.name ? `${error.name}: ${reason}` : reason;
}
