// What goes over the wire: requests and answers as values, and the encodings of their headers and bodies.

import { decode, encode } from "./json.js";

export const FORM = "application/x-www-form-urlencoded";
export const JSON_TYPE = "application/json";
// The shortest interval that is obeyed, so that no answer makes a worker beat without a pause.
const LEAST_INTERVAL_SECONDS = 0.05;

/** One request. `repeatable`: may be sent again at once if an idle connection turns out to be closed. */
export function request(verb, method, path, token, body, timeoutSeconds, more = {}) {
  return {
    verb,
    method,
    path,
    token,
    body,
    timeoutSeconds,
    headers: {},
    contentType: JSON_TYPE,
    repeatable: true,
    ...more,
  };
}

/** A complete answer. Header names are lower-case. */
export class Answer {
  #members = null;

  constructor(status, headers = {}, body = Buffer.alloc(0)) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  /** All values of a header joined by `; `, or null without any. */
  header(name) {
    const found = this.headers[name];
    if (found === undefined) return null;
    return Array.isArray(found) ? found.join("; ") : found;
  }

  /** The members of the JSON object in the body; empty if it is anything else. */
  members() {
    if (this.#members === null) {
      try {
        const found = decode(this.body);
        this.#members = isObject(found) ? found : {};
      } catch {
        this.#members = {};
      }
    }
    return this.#members;
  }
}

/** No answer came: the request may or may not have been carried out. */
export class Lost {
  constructor(why) {
    this.why = why;
  }
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Members as JSON; the same members give the same bytes. */
export function body(members) {
  return encode(members);
}

/** Fields as the body of a form. */
export function form(fields) {
  return Buffer.from(new URLSearchParams(fields).toString(), "ascii");
}

/** A text percent-encoded by itself, fit to stand between slashes. */
export function part(text) {
  return encodeURIComponent(reportable(text)).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}

function unquoted(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What the hall asks of this worker, from the header `Hall-Directive`; unknown and malformed parts are ignored. */
export function directive(text) {
  const asked = { quiet: false, terminate: false, tasks: [], requests: [] };
  for (const piece of (text ?? "").split(";").map((one) => one.trim())) {
    if (piece === "quiet") asked.quiet = true;
    else if (piece === "terminate") asked.terminate = true;
    else if (piece.startsWith("cancel=")) {
      for (const id of piece
        .slice("cancel=".length)
        .split(",")
        .map((one) => one.trim())) {
        const slash = id.indexOf("/");
        if (slash >= 0) asked.tasks.push({ plan: unquoted(id.slice(0, slash)), task: unquoted(id.slice(slash + 1)) });
        else if (id) asked.requests.push(unquoted(id));
      }
    }
  }
  return asked;
}

/** Seconds between two heartbeats as the hall tells them; null if that is missing or no positive number. */
export function interval(text) {
  const told = String(text ?? "").trim();
  const seconds = told === "" ? NaN : Number(told);
  return Number.isFinite(seconds) && seconds > 0 ? Math.max(seconds, LEAST_INTERVAL_SECONDS) : null;
}

/** A text that JSON in UTF-8 can carry: lone surrogates are replaced. */
export function reportable(text) {
  return String(text).toWellFormed();
}

/** The beginning of a text, cut between characters. */
export function cut(text, length) {
  return text.length <= length ? text : text.slice(0, length).toWellFormed();
}

/** A token that a header can carry: visible ASCII, not empty. */
export function sendable(token) {
  return /^[!-~]+$/.test(token);
}
