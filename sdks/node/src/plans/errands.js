// The protocol of a plan worker as a state machine: what to send next, and what an answer means.
//
// An errand is one request until it is settled: send `errand.request()`, give what came back to `errand.receive()`, and
// do what the returned step says. Nothing here touches a socket or a clock; random numbers and keys come from outside.

import { waitSeconds } from "../backoff.js";
import { explain } from "../envelope.js";
import { Refused, Unauthorized } from "../errors.js";
import { again, crash, DONE, EMPTY, got, skipped, unregistered } from "../steps.js";
import * as wire from "../wire.js";
import { Hold } from "./session.js";

// The server keeps 2048 characters and marks the cut; more than this is never of use to it.
const REASON_CHARACTERS = 4096;
const FINISHED = ["DONE", "FAILED", "SKIPPED"];

const ANY_VERB = { 401: "unauthorized", 403: "unauthorized", 408: "again", 425: "again", 429: "again" };
const ONE_VERB = { claim: { 204: "empty" }, fail: { 413: "shorten" } };
// What remains of 3xx and 4xx. Without a registration or a claim a worker is of no use; a heartbeat keeps ticking.
const OTHERWISE = {
  register: "refused",
  heartbeat: "again",
  claim: "refused",
  complete: "skip",
  fail: "skip",
  release: "skip",
};

/** The retry policy: what a status means for a verb. */
export function verdict(verb, status) {
  const found = ONE_VERB[verb]?.[status] ?? ANY_VERB[status];
  if (found !== undefined) return found;
  if (status >= 200 && status < 300) return "accepted";
  return status >= 500 || status < 200 ? "again" : OTHERWISE[verb];
}

/** One request until it is settled. */
class Errand {
  attempts = 0;

  constructor(session, verb, identity) {
    this.session = session;
    this.verb = verb;
    this.identity = identity;
  }

  /** Say what to do after a reply. `dice` is a random number of [0, 1). */
  receive(reply, dice) {
    this.attempts += 1;
    if (reply instanceof wire.Lost) return this.again(reply.why, dice);
    if (this.identity !== null) this.session.hear(this.identity, reply);
    const found = verdict(this.verb, reply.status);
    if (found === "again") return this.again(explain(reply), dice, reply);
    if (found === "unauthorized" || found === "refused") return this.crash(found, reply);
    return this.judge(found, reply, dice);
  }

  again(why, dice, answer = null) {
    return again(waitSeconds(this.attempts, dice, answer), why);
  }

  crash(found, answer) {
    const told = explain(answer);
    if (this.stale) return skipped(`${told} (this worker has registered anew since)`);
    if (found === "unauthorized") return crash(new Unauthorized(`${this.verb}: ${told}; ${this.advice}`));
    const hint = [400, 422].includes(answer.status) ? "" : "; is the address of the server right?";
    return crash(new Refused(`${this.verb}: ${told}${hint}`, answer.status, answer.members().error_code ?? null));
  }

  get advice() {
    if (this.verb === "register") return "check the bootstrap token (bootstrapToken or HALL_BOOTSTRAP_TOKEN)";
    if (this.session.terms.token !== null) return "check the worker token (token or HALL_WORKER_TOKEN)";
    return "the token minted for this worker is no longer accepted; start it again to register anew";
  }

  /** The worker has registered anew since this errand began. */
  get stale() {
    return this.identity !== null && this.identity !== this.session.identity;
  }

  post(path, members, more = {}) {
    const { answerSeconds } = this.session.terms;
    const { seconds = answerSeconds, token = this.identity?.token, ...rest } = more;
    return wire.request(this.verb, "POST", path, token, wire.body(members), seconds, rest);
  }
}

/** Ask for a worker id and a token. */
export class Register extends Errand {
  constructor(session) {
    super(session, "register", null);
  }

  request() {
    const { hostname, bootstrapToken: token } = this.session.terms;
    // A lost answer leaves a worker behind that nobody is; so this is not repeated without a pause.
    return this.post("/workers/register", { hostname }, { token, repeatable: false });
  }

  judge(found, answer, dice) {
    const members = answer.members();
    const workerId = members.worker_id;
    const token = this.session.terms.token ?? members.token;
    const fine = typeof workerId === "string" && workerId && typeof token === "string" && wire.sendable(token);
    if (!fine) return this.again("the answer names no worker_id and token", dice);
    this.session.identity = Object.freeze({ workerId, token });
    this.session.quiet = false;
    this.session.introduced = true;
    this.session.hearInterval(answer);
    return DONE;
  }
}

/** Say that the worker lives, and what it holds. */
export class Heartbeat extends Errand {
  constructor(session) {
    super(session, "heartbeat", session.identity);
  }

  request() {
    const { workerId } = this.identity;
    const headers = { "Hall-Holding": this.session.holding(this.identity) };
    return this.post(`/workers/${wire.part(workerId)}/heartbeat`, { worker_id: workerId }, { headers });
  }

  judge(found, answer) {
    this.session.hearInterval(answer);
    return answer.members().ok === false ? unregistered(this.session.terms.bootstrapToken !== null) : DONE;
  }

  again(why, dice, answer = null) {
    const wait = waitSeconds(this.attempts, dice, answer);
    const asked = answer !== null && answer.header("retry-after") !== null;
    return again(asked ? wait : Math.min(wait, this.session.beatSeconds), why);
  }
}

/** Ask for a task. Every attempt carries the same key, so that a lost answer is given again. */
export class Claim extends Errand {
  constructor(session) {
    super(session, "claim", session.identity);
    this.key = session.newKey();
  }

  request() {
    const { planId, holdSeconds, answerSeconds } = this.session.terms;
    const members = { worker_id: this.identity.workerId, plan_id: planId, wait: holdSeconds };
    const headers = { "Hall-Holding": this.session.holding(this.identity), "Idempotency-Key": this.key };
    return this.post("/tasks/claim", members, { seconds: holdSeconds + answerSeconds, headers });
  }

  judge(found, answer, dice) {
    this.session.introduced = true;
    if (found === "empty") return EMPTY;
    const hold = readHold(answer, this.identity, this.session.terms.planId);
    if (hold === null) return this.again("the answer names no task with an id and a version", dice);
    if (this.session.holds.has(hold.key)) {
      return skipped(`${hold} was handed over twice and is already running here`);
    }
    this.session.holds.set(hold.key, hold);
    return got(hold);
  }

  again(why, dice, answer = null) {
    if (this.stale) return skipped(`${why} (this worker has registered anew since)`, true);
    return super.again(why, dice, answer);
  }
}

/** End a hold: complete, fail or release. Every attempt is the same request, byte for byte. */
export class Settle extends Errand {
  constructor(session, hold, verb, reason = null) {
    super(session, verb, hold.identity);
    this.hold = hold;
    this.reason = reason === null ? null : wire.reportable(wire.cut(reason, REASON_CHARACTERS));
    this.key = session.newKey();
  }

  request() {
    const { hold } = this;
    const members = { worker_id: this.identity.workerId, version: hold.version, plan_id: hold.planId };
    if (this.reason !== null) members.reason = this.reason;
    const headers = { "Idempotency-Key": this.key };
    return this.post(`/tasks/${wire.part(hold.taskId)}/${this.verb}`, members, { headers });
  }

  receive(reply, dice) {
    const step = super.receive(reply, dice);
    if (step.kind !== "again") this.session.forget(this.hold);
    return step;
  }

  judge(found, answer) {
    if (found === "accepted") return DONE;
    if (found === "shorten" && this.reason) {
      // Another body needs another key.
      this.reason = wire.cut(this.reason, Math.floor(this.reason.length / 8));
      this.key = this.session.newKey();
      return again(0, "the reason is too long for the server; a shorter one follows");
    }
    return skipped(explain(answer), this.hold.cancelled || settledAlready(answer, this.hold));
  }
}

/** A 409 that tells of this worker's own success: an answer of it was lost, and the repetition came late. */
function settledAlready(answer, hold) {
  if (answer.status !== 409) return false;
  if (answer.header("hall-finished-by") === "self") return true;
  const members = answer.members();
  return members.actual_version === hold.version && FINISHED.includes(members.actual_status);
}

/** The hand-over in the answer to a claim, or null if it cannot be worked on. */
function readHold(answer, identity, planId) {
  const { task } = answer.members();
  if (!wire.isObject(task)) return null;
  const { id, version, plan_id: plan } = task;
  if (typeof id !== "string" || !id || !Number.isSafeInteger(version)) return null;
  return new Hold(identity, typeof plan === "string" && plan ? plan : planId, id, version, task);
}
