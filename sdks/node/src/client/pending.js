// The handle of a call that was made: wait for its end, listen to it, cancel it.

import { CallPending, Refused } from "../errors.js";
import { decode, parse } from "../json.js";
import { now } from "../waiting.js";
import { Answer, isObject, Lost, part, request } from "../wire.js";
import { Events } from "./events.js";
import { Feedback, FINAL, Outcome } from "./outcome.js";
import { trouble } from "./wires.js";

export const HOLD_SECONDS = 30;
// The hall says something every 15 s; a stream that is silent for this long is dead.
const SILENCE_SECONDS = 45;

/** One call that was made; also made anew from its `requestId`, by `client.pending(requestId)`. */
export class PendingCall {
  #wires;
  #answerSeconds;
  #parseFloat;
  #outcome = null;

  constructor(wires, requestId, { answerSeconds, parseFloat }) {
    this.requestId = requestId;
    this.#wires = wires;
    this.#answerSeconds = answerSeconds;
    this.#parseFloat = parseFloat;
  }

  /** The end of the call, if it is known here already; else null. */
  get ended() {
    return this.#outcome;
  }

  /**
   * The result, when it is there. `waitSeconds`: how long to wait for it (by default as long as it takes). Rejects with
   * CallFailed if the call does not end with success, with CallPending if it has not ended in time.
   */
  async result({ waitSeconds = null, signal = null } = {}) {
    const deadline = waitSeconds === null ? Infinity : now() + waitSeconds;
    for (;;) {
      const left = Math.max(0, deadline - now());
      const status = await this.#look(Math.min(HOLD_SECONDS, left), left, signal);
      if (this.#outcome !== null) return this.#outcome.result();
      if (now() >= deadline) throw new CallPending(this, status);
    }
  }

  /** The end of the call however it went, or null if it has not ended within `waitSeconds`. */
  async outcome({ waitSeconds = 0, signal = null } = {}) {
    try {
      await this.result({ waitSeconds, signal });
    } catch (error) {
      if (!(error instanceof CallPending) && this.#outcome === null) throw error;
    }
    return this.#outcome;
  }

  /** queued, offered, held or cancelling; success, failed, error, cancelled or expired once it has ended. */
  async status({ signal = null } = {}) {
    return this.#look(0, null, signal);
  }

  /**
   * Ask to cancel it. `cancelled` if nobody had begun; `cancelling` if a worker has it, which is told. If it has ended
   * already this does nothing and tells how.
   */
  async cancel({ signal = null } = {}) {
    let answer;
    try {
      answer = await this.#wires.answered((token) => this.#request(token, "", { method: "DELETE" }), { signal });
    } catch (error) {
      if (error.status !== 409) throw error;
      return this.#look(0, null, signal);
    }
    return this.keep(readMembers(answer, this.#parseFloat));
  }

  /**
   * What the method says, as it comes, until the call has ended; from the beginning, each item once. A broken
   * connection is made anew, and goes on after the last item.
   */
  async *feedback({ signal = null } = {}) {
    const events = new Events();
    const persistence = this.#wires.persistence(signal);
    let attempts = 0;
    let refusals = 0;
    for (;;) {
      const token = await this.#wires.token(persistence);
      const asked = this.#request(token, "/feedback", { lastId: events.lastId, seconds: SILENCE_SECONDS });
      let found = await this.#wires.connection.stream({ ...asked, signal: signal ?? undefined });
      signal?.throwIfAborted();
      if (found instanceof Answer && found.status === 401 && this.#wires.renewable(token, refusals)) {
        refusals += 1;
        continue;
      }
      attempts += 1;
      if (!(found instanceof Answer) && !(found instanceof Lost)) {
        for await (const event of eventsOf(found, events, persistence)) {
          attempts = refusals = 0;
          const said = this.#heard(event);
          if (said !== null) yield said;
          if (event.name === "outcome") return;
        }
        signal?.throwIfAborted();
        found = new Lost("the stream of feedback ended");
      }
      await persistence.wait(trouble(found, Math.max(1, attempts)));
    }
  }

  [Symbol.asyncIterator]() {
    return this.feedback();
  }

  /** Take in what the hall says of this call; its status. */
  keep(members) {
    const status = String(members.status ?? "pending");
    if (FINAL.includes(status)) this.#outcome = new Outcome({ request_id: this.requestId, ...members });
    return status;
  }

  async #look(waitSeconds, mostSeconds, signal) {
    if (this.#outcome !== null) return this.#outcome.status;
    const query = waitSeconds > 0 ? `?wait=${waitSeconds.toFixed(3)}` : "";
    const seconds = waitSeconds + this.#answerSeconds;
    const most = mostSeconds === Infinity ? null : mostSeconds;
    const options = { mostSeconds: most, signal };
    const answer = await this.#wires.answered((token) => this.#request(token, query, { seconds }), options);
    return this.keep(readMembers(answer, this.#parseFloat));
  }

  #request(token, rest, { method = "GET", lastId = "", seconds = this.#answerSeconds } = {}) {
    const headers = rest === "/feedback" ? { Accept: "text/event-stream" } : {};
    if (lastId) headers["Last-Event-ID"] = lastId;
    return request("follow", method, `/client/requests/${part(this.requestId)}${rest}`, token, null, seconds, {
      headers,
    });
  }

  /** The feedback in an event, or null. */
  #heard(event) {
    let members;
    try {
      members = parse(event.data, this.#parseFloat);
    } catch {
      return null;
    }
    if (!isObject(members)) return null;
    if (event.name === "outcome") this.keep(members);
    return event.name === "feedback" ? new Feedback(/^[0-9]+$/.test(event.id) ? Number(event.id) : 0, members) : null;
  }
}

async function* eventsOf(stream, events, persistence) {
  events.restart();
  for await (const line of stream.lines()) {
    persistence.worked();
    const event = events.feed(line);
    if (event !== null) yield event;
  }
}

/** The members of an answer about a call. */
export function readMembers(answer, parseFloat) {
  let found;
  try {
    found = decode(answer.body, parseFloat);
  } catch (problem) {
    throw new Refused(`the answer is not the hall's: ${problem.message}`);
  }
  if (!isObject(found)) throw new Refused("the answer is not the hall's: it is no JSON object");
  return found;
}
