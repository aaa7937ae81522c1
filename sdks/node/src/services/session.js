// What a service worker knows while it runs: what it holds, and what the hall has asked of it.
//
// Nothing here touches a socket or a clock.

import * as wire from "../wire.js";

// How often a quiet worker asks whether it still is.
const QUIET_BEAT_SECONDS = 5;
const USUAL_BEAT_SECONDS = 30;
const LONGEST_HEADER = 32 * 1024;

/** One call that this worker was given, until it is answered or given up. */
export class Hold {
  begun = false;
  answering = false;
  cancelled = false;
  givenBack = false;

  constructor(requestId, method, params, lockRequired, members) {
    this.requestId = requestId;
    this.method = method;
    this.params = params;
    this.lockRequired = lockRequired;
    this.members = members;
  }

  toString() {
    return `${this.method} ${this.requestId}`;
  }
}

/** What this worker knows. `terms` do not change while it runs; `newKey` makes fresh keys. */
export class Session {
  holds = new Map();
  settings = {};
  registered = false;
  quiet = false;
  terminated = false;
  toldBeatSeconds = null;

  constructor(terms, newKey) {
    this.terms = terms;
    this.newKey = newKey;
  }

  forget(hold) {
    if (this.holds.get(hold.requestId) === hold) this.holds.delete(hold.requestId);
  }

  /** The header `Hall-Holding`: the request ids of everything held. Left out if no server would take it. */
  holding() {
    const text = [...this.holds.keys()].map(wire.part).join(",");
    return text.length <= LONGEST_HEADER ? { "Hall-Holding": text } : {};
  }

  /** The time between two heartbeats: the worker's own setting, or what the hall said if that is less. */
  get beatSeconds() {
    const known = [this.terms.heartbeatSeconds, this.toldBeatSeconds].filter((seconds) => seconds !== null);
    const usual = known.length > 0 ? Math.min(...known) : USUAL_BEAT_SECONDS;
    return this.quiet ? Math.min(usual, QUIET_BEAT_SECONDS) : usual;
  }

  /** Take in what the hall asks of the worker. Only the hall's own answers count, not those of a proxy. */
  hear(answer) {
    if (!((answer.status >= 200 && answer.status < 300) || answer.status === 409)) return;
    const asked = wire.directive(answer.header("hall-directive"));
    this.quiet = asked.quiet;
    this.terminated ||= asked.terminate;
    for (const requestId of asked.requests) {
      const hold = this.holds.get(requestId);
      if (hold !== undefined) hold.cancelled = true;
    }
  }
}
