// What to do after a reply: the outcomes of an errand, as values with a `kind`.

/** The hall accepted it. */
export const DONE = Object.freeze({ kind: "done" });
/** A claim brought nothing; claim again at once. */
export const EMPTY = Object.freeze({ kind: "empty" });
/** Wait so many seconds, then send the errand's request again. */
export const again = (afterSeconds, why) => ({ kind: "again", afterSeconds, why });
/** A claim brought a task. */
export const got = (hold) => ({ kind: "got", hold });
/** A drain brought these calls, or none. */
export const drained = (holds) => ({ kind: "drained", holds });
/** The hall refused this one thing, for a reason that is no fault of the worker; log it and go on. */
export const skipped = (why, expected = false) => ({ kind: "skipped", why, expected });
/** The hall does not know this worker; register if that is possible. */
export const unregistered = (canRegister) => ({ kind: "unregistered", canRegister });
/** The token is refused: have a new one, by the secret if `logIn`, and send the errand's request again. */
export const renew = (logIn) => ({ kind: "renew", logIn });
/** End the run with this error. */
export const crash = (error) => ({ kind: "crash", error });
