// How long to wait before the next attempt, as arithmetic on given numbers.

const FIRST_SECONDS = 0.5;
const LONGEST_SECONDS = 60;
const LONGEST_RETRY_AFTER_SECONDS = 3600;
const DOUBLINGS = 10;

/**
 * The wait after so many failed attempts (1 or more): doubling from half a second, at most 60 s. `dice` is a number of
 * [0, 1); it takes away up to half, so that a fleet does not come back in one instant.
 */
export function backoffSeconds(attempts, dice) {
  const full = Math.min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** Math.min(attempts - 1, DOUBLINGS));
  return full * (1 - dice / 2);
}

/** The seconds that the answer's Retry-After asks for; a date is measured against the answer's own Date. */
export function retryAfterSeconds(answer) {
  const text = (answer.header("retry-after") ?? "").trim();
  if (text === "") return null;
  let seconds = /^[0-9]*\.?[0-9]+$/.test(text) ? Number(text) : NaN;
  if (Number.isNaN(seconds)) seconds = (Date.parse(text) - Date.parse(answer.header("date") ?? "")) / 1000;
  if (!(seconds >= 0 && seconds < Infinity)) return null;
  return Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS);
}

/** The wait before the next attempt: never shorter than Retry-After, else the back-off. */
export function waitSeconds(attempts, dice, answer = null) {
  const wanted = answer === null ? null : retryAfterSeconds(answer);
  if (wanted === null) return backoffSeconds(attempts, dice);
  return wanted + dice * Math.min(1, wanted / 10);
}
