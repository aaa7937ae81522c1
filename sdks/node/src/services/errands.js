// The protocol of a service worker as a state machine: what to send next, and what an answer means.
//
// An errand is one request until it is settled: send `errand.request(token)`, give what came back to
// `errand.receive()`, and do what the returned step says. Nothing here touches a socket or a clock; random numbers and
// keys come from outside.

import { waitSeconds } from "../backoff.js";
import { answerCode, explain, NOT_REGISTERED, SUPERSEDED } from "../envelope.js";
import { Refused, Superseded, Unauthorized } from "../errors.js";
import { decode, encode } from "../json.js";
import { again, crash, DONE, drained, renew, skipped, unregistered } from "../steps.js";
import * as wire from "../wire.js";
import { broken } from "./outcome.js";
import { Hold } from "./session.js";

// A token that is refused a third time in a row, after a refresh and a login, is refused for good.
const REFUSALS = 2;

const ANY_VERB = { 401: "renew", 408: "again", 425: "again", 429: "again" };
const ONE_VERB = {
  register: { 403: "unauthorized" },
  drain: { 403: "unauthorized", 409: "again" },
  heartbeat: { 403: "unauthorized" },
  response: { 400: "replace", 413: "replace", 422: "replace" },
};
// What remains of 3xx and 4xx. Without a registration or a drain a worker is of no use; a heartbeat keeps ticking.
const OTHERWISE = {
  register: "refused",
  drain: "refused",
  lock: "skip",
  response: "skip",
  feedback: "skip",
  heartbeat: "again",
  goodbye: "skip",
};
const CRASHES = ["renew", "superseded", "unauthorized", "refused"];

/** The retry policy: what a status, with the hall's error code, means for a verb. */
export function verdict(verb, status, code = "") {
  if (status === 409 && code === SUPERSEDED) return "superseded";
  if (verb === "drain" && code === NOT_REGISTERED) return "unregistered";
  const found = ONE_VERB[verb]?.[status] ?? ANY_VERB[status];
  if (found !== undefined) return found;
  if (status >= 200 && status < 300) return "accepted";
  return status >= 500 || status < 200 ? "again" : OTHERWISE[verb];
}

/** One request until it is settled. */
class Errand {
  attempts = 0;
  refusals = 0;

  constructor(session, verb) {
    this.session = session;
    this.verb = verb;
  }

  /** Say what to do after a reply. `dice` is a random number of [0, 1). */
  receive(reply, dice) {
    this.attempts += 1;
    if (reply instanceof wire.Lost) return this.again(reply.why, dice);
    this.session.hear(reply);
    const found = verdict(this.verb, reply.status, [404, 409].includes(reply.status) ? answerCode(reply) : "");
    if (found === "renew" && this.refusals < REFUSALS) {
      this.refusals += 1;
      return renew(this.refusals === REFUSALS);
    }
    if (CRASHES.includes(found)) return crash(this.reasonToCrash(found, reply));
    if (found === "again") return this.again(explain(reply), dice, reply);
    this.refusals = 0;
    return this.judge(found, reply, dice);
  }

  judge(found, answer) {
    return found === "accepted" ? DONE : skipped(explain(answer));
  }

  again(why, dice, answer = null) {
    return again(waitSeconds(this.attempts, dice, answer), why);
  }

  reasonToCrash(found, answer) {
    const told = `${this.verb}: ${explain(answer)}`;
    const { service, workerId } = this.session.terms;
    if (found === "superseded") {
      const name = `${service}/${workerId}`;
      return new Superseded(`${told}; another process has registered as ${name}: give each its own workerId`);
    }
    if (found === "refused") {
      const hint = [400, 422].includes(answer.status) ? "" : "; is the address of the server right?";
      return new Refused(`${told}${hint}`, answer.status, answerCode(answer) || null);
    }
    return new Unauthorized(`${told}; check the secret and whether the service is still allowed this worker`);
  }

  sending(token, method, path, body = null, { seconds = this.session.terms.answerSeconds, headers = {} } = {}) {
    return wire.request(this.verb, method, path, token, body, seconds, { headers });
  }
}

/** Tell the hall what this worker offers; the answer is the service's settings. */
export class Register extends Errand {
  constructor(session) {
    super(session, "register");
  }

  request(token) {
    const { workerId, service, profile } = this.session.terms;
    const members = { worker_id: workerId, service_id: service, ...profile };
    return this.sending(token, "POST", "/worker/registration", encode(members));
  }

  judge(found, answer, dice) {
    const members = answer.members();
    if (Object.keys(members).length === 0 && answer.body.toString().trim() !== "{}") {
      return this.again("the answer is no map of settings", dice);
    }
    const texts = Object.entries(members).filter(([, value]) => typeof value === "string");
    this.session.settings = Object.freeze(Object.fromEntries(texts));
    this.session.toldBeatSeconds = wire.interval(members.heartbeat_delay);
    this.session.registered = true;
    this.session.quiet = false;
    return DONE;
  }
}

/** Ask for calls, at most so many. `wait` lets the hall hold the request while there are none. */
export class Drain extends Errand {
  constructor(session, most, wait) {
    super(session, "drain");
    this.most = most;
    this.wait = wait;
  }

  request(token) {
    const { holdSeconds, answerSeconds } = this.session.terms;
    const wait = this.wait ? `wait=${holdSeconds}&` : "";
    const seconds = (this.wait ? holdSeconds : 0) + answerSeconds;
    const headers = this.session.holding();
    return this.sending(token, "GET", `/worker/messages?${wait}max=${this.most}`, null, { seconds, headers });
  }

  judge(found, answer, dice) {
    if (found === "unregistered") return unregistered(true);
    let messages;
    try {
      messages = decode(answer.body, this.session.terms.parseFloat);
    } catch (problem) {
      return this.again(`the answer cannot be read: ${problem.message}`, dice);
    }
    if (!Array.isArray(messages)) return this.again("the answer is no array of messages", dice);
    this.attempts = 0;
    return drained(messages.map((message) => this.#taken(message)).filter((hold) => hold !== null));
  }

  #taken(message) {
    const hold = readHold(message);
    // One that runs here already was handed over anew; it is answered once.
    if (hold === null || this.session.holds.has(hold.requestId)) return null;
    this.session.holds.set(hold.requestId, hold);
    return hold;
  }
}

/** Try to become the one worker that owns an offered call. It is somebody else's if the answer is not 2xx. */
export class Lock extends Errand {
  constructor(session, hold) {
    super(session, "lock");
    this.hold = hold;
  }

  request(token) {
    return this.sending(token, "PUT", `/worker/lock_request/${wire.part(this.hold.requestId)}`);
  }
}

/** Tell how a call ended. Every attempt is the same request, byte for byte. */
export class Respond extends Errand {
  #body;
  #key;
  #replaced = false;

  constructor(session, hold, outcome) {
    super(session, "response");
    this.hold = hold;
    this.#say(outcome);
  }

  #say({ status, errorText, result }) {
    const told = JSON.stringify({ request_id: this.hold.requestId, status, error_text: errorText });
    this.#body = Buffer.from(`${told.slice(0, -1)},"result":${result}}`, "utf8");
    this.#key = this.session.newKey();
  }

  request(token) {
    return this.sending(token, "POST", "/worker/response", this.#body, { headers: { "Idempotency-Key": this.#key } });
  }

  judge(found, answer) {
    if (found === "accepted") return DONE;
    if (found === "replace" && !this.#replaced) {
      // Another body needs another key.
      this.#replaced = true;
      const text = `the hall did not take the answer of ${this.#body.length} bytes: ${explain(answer)}`;
      this.#say(broken(`${this.session.terms.service}/${this.hold.method}: ${text}`));
      return again(0, text);
    }
    return skipped(explain(answer), this.hold.cancelled);
  }
}

/** Pass on what methods say while they run: items in their JSON form. */
export class Feedback extends Errand {
  #body;

  constructor(session, items) {
    super(session, "feedback");
    this.#body = Buffer.from(`[${items.join(",")}]`, "utf8");
  }

  request(token) {
    return this.sending(token, "POST", "/worker/feedback", this.#body);
  }
}

/** Say that the worker lives, and what it holds. */
export class Heartbeat extends Errand {
  constructor(session) {
    super(session, "heartbeat");
  }

  request(token) {
    const path = `/worker/heartbeat/${wire.part(this.session.terms.workerId)}`;
    return this.sending(token, "GET", path, null, { headers: this.session.holding() });
  }

  judge(found, answer) {
    return answer.body.toString().trim() === "false" ? unregistered(true) : DONE;
  }

  again(why, dice, answer = null) {
    const wait = waitSeconds(this.attempts, dice, answer);
    const asked = answer !== null && answer.header("retry-after") !== null;
    return again(asked ? wait : Math.min(wait, this.session.beatSeconds), why);
  }
}

/** Say that this worker takes nothing new, and name what it was given and has not begun. */
export class Goodbye extends Errand {
  #ids;

  constructor(session, unstarted) {
    super(session, "goodbye");
    this.#ids = unstarted.map((hold) => hold.requestId);
  }

  request(token) {
    const path = `/worker/notify_worker_shutdown/${wire.part(this.session.terms.workerId)}`;
    return this.sending(token, "PUT", path, wire.body({ unstarted: this.#ids }));
  }
}

/** A message of a drain, or null if it cannot be answered. */
function readHold(message) {
  if (!wire.isObject(message)) return null;
  const { request_id: requestId, method, params = null, lock_required: lock, ...rest } = message;
  if (typeof requestId !== "string" || !requestId) return null;
  const name = typeof method === "string" ? method : "";
  const members = { request_id: requestId, method: name, lock_required: lock === true, ...rest };
  return new Hold(requestId, name, params, lock === true, members);
}
