// Settings as they are given, checked: what is wrong is an error that names the setting.

import { sendable } from "./wire.js";

export const DEFAULT_SERVER = "http://127.0.0.1:8400";
export const LONGEST_HOLD_SECONDS = 55;

/** TypeError for options that do not exist, so that a slip of the pen is not an option that does nothing. */
export function checkedNames(options, names) {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`there is no option ${unknown}; there are ${names.join(", ")}`);
}

/** How many at once. */
export function checkedWidth(setting, value, most = Infinity) {
  if (!Number.isSafeInteger(value) || value < 1 || value > most) {
    throw new RangeError(`${setting}: a whole number of at least 1${most === Infinity ? "" : ` and at most ${most}`}`);
  }
  return value;
}

/** A token as given, else from the environment, where a server in rotation may have two, comma-separated. */
export function checkedToken(setting, given, variable) {
  const text = String(given ?? (process.env[variable] ?? "").split(",")[0]).trim();
  if (text === "" && (given === undefined || given === null)) return null;
  if (!sendable(text)) {
    throw new TypeError(`${setting}: a token is visible ASCII characters without spaces, and not empty`);
  }
  return text;
}

/** Seconds, more than 0 unless `least` says otherwise. */
export function checkedSeconds(setting, value, { most = Infinity, least = null } = {}) {
  const fine = Number.isFinite(value) && value <= most && (least === null ? value > 0 : value >= least);
  if (!fine) {
    const bound = least === null ? "more than 0" : `at least ${least}`;
    throw new RangeError(`${setting}: seconds, ${bound}${most === Infinity ? "" : ` and at most ${most}`}`);
  }
  return value;
}

/** A function, or nothing. */
export function checkedFunction(setting, value) {
  if (value !== null && value !== undefined && typeof value !== "function") {
    throw new TypeError(`${setting}: a function`);
  }
  return value ?? null;
}

/** Where to write what happens: as given, else warnings on the standard error. */
export function checkedLog(log) {
  return checkedFunction("log", log) ?? writeWarnings;
}

function writeWarnings(level, text) {
  if (level === "warn") console.error(`hiringhall: ${text}`);
}
