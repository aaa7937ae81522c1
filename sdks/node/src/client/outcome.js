// How a call ended, as its client sees it, and what it said on the way.

import { CallFailed } from "../errors.js";
import { isObject } from "../wire.js";

const SUCCESS = "success";
export const FINAL = [SUCCESS, "failed", "error", "cancelled", "expired"];

/** The end of a call. `members` is everything that the hall tells, its times among it. */
export class Outcome {
  constructor(members) {
    this.members = members;
    this.status = String(members.status);
    this.requestId = String(members.request_id);
  }

  get errorText() {
    const text = this.members.error_text;
    return typeof text === "string" ? text : null;
  }

  /** The result (of a broadcast: the array of `answers`); CallFailed if it is no success. */
  result() {
    if (this.status !== SUCCESS) throw new CallFailed(this.status, this.errorText, this.requestId);
    return this.members.answers ?? this.members.result ?? null;
  }
}

/** Something that a method said while it ran. `members` is the item with all its keys. */
export class Feedback {
  constructor(number, members) {
    this.number = number;
    this.members = members;
  }

  get type() {
    return this.members.ft;
  }

  get content() {
    return this.members.fc;
  }

  /** How far the method is, if it tells progress; else null. */
  get percent() {
    const percent = isObject(this.content) ? Number(this.content.percent ?? NaN) : NaN;
    return Number.isNaN(percent) ? null : percent;
  }

  /** The words of it, for people. */
  get text() {
    const found = isObject(this.content) ? (this.content.text ?? "") : this.content;
    return String(found);
  }
}
