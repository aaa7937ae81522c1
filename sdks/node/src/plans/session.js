// What a plan worker knows while it runs: who it is, what it holds, and what the hall has asked of it.
//
// Nothing here touches a socket or a clock.

import * as wire from "../wire.js";

// How often a quiet worker asks whether it still is.
const QUIET_BEAT_SECONDS = 5;

/** One hand-over: a task held by this worker under the identity (`workerId`, `token`) that claimed it. */
export class Hold {
  settling = false;
  cancelled = false;

  constructor(identity, planId, taskId, version, members) {
    this.identity = identity;
    this.planId = planId;
    this.taskId = taskId;
    this.version = version;
    this.members = members;
  }

  get key() {
    return JSON.stringify([this.identity.workerId, this.planId, this.taskId, this.version]);
  }

  toString() {
    return `${this.planId}/${this.taskId}@${this.version}`;
  }
}

/** What this worker knows. `terms` do not change while it runs; `newKey` makes fresh keys. */
export class Session {
  holds = new Map();
  quiet = false;
  terminated = false;
  toldBeatSeconds = null;
  // Whether the hall is known to know the identity: one that did not register is introduced by its first claim.
  introduced = false;

  constructor(terms, newKey, identity = null) {
    this.terms = terms;
    this.newKey = newKey;
    this.identity = identity;
  }

  /** Take the right to complete, fail or release a hold; false if somebody has it already. */
  beginToEnd(hold) {
    if (hold.settling) return false;
    hold.settling = true;
    return true;
  }

  forget(hold) {
    this.holds.delete(hold.key);
  }

  /** The value of `Hall-Holding` for an identity: PLAN/TASK@version, comma-separated. */
  holding(identity) {
    return [...this.holds.values()]
      .filter((hold) => hold.identity === identity)
      .map((hold) => `${wire.part(hold.planId)}/${wire.part(hold.taskId)}@${hold.version}`)
      .join(",");
  }

  /** The time between two heartbeats: the worker's own setting, or what the hall said if that is less. */
  get beatSeconds() {
    const usual = Math.min(this.terms.heartbeatSeconds, this.toldBeatSeconds ?? Infinity);
    return this.quiet ? Math.min(usual, QUIET_BEAT_SECONDS) : usual;
  }

  /** Take in how far apart the hall wants heartbeats. An answer that does not say leaves it as it was said. */
  hearInterval(answer) {
    this.toldBeatSeconds = wire.interval(answer.header("hall-heartbeat")) ?? this.toldBeatSeconds;
  }

  /** Take in what the hall asks of the worker. Only the hall's own answers count, not those of a proxy. */
  hear(identity, answer) {
    const genuine = (answer.status >= 200 && answer.status < 300) || answer.status === 409;
    if (identity !== this.identity || !genuine) return;
    const asked = wire.directive(answer.header("hall-directive"));
    this.quiet = asked.quiet;
    this.terminated ||= asked.terminate;
    for (const hold of this.holds.values()) {
      const named = asked.tasks.some((one) => one.plan === hold.planId && one.task === hold.taskId);
      if (named && hold.identity === identity) hold.cancelled = true;
    }
  }
}
