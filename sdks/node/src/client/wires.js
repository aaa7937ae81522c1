// One client's way to the hall: connections that its calls share, and what is tried again.

import { setTimeout as pause } from "node:timers/promises";

import { backoffSeconds, waitSeconds } from "../backoff.js";
import { answerCode, explain } from "../envelope.js";
import { Refused, Unauthorized, Unreachable } from "../errors.js";
import { now } from "../waiting.js";
import { Connection } from "../transport.js";
import { Lost } from "../wire.js";

// For this long at least it is tried, however little time the caller has left.
const LEAST_PATIENCE_SECONDS = 1;
// A token that is refused a third time in a row, after a refresh and a login, is refused for good.
const REFUSALS = 2;
const NO_WORKER = "no_worker";

/** Sends requests until they are answered, or it has not worked for `patienceSeconds`. */
export class Wires {
  #keeper;
  #token;
  #patienceSeconds;
  #closed = false;

  constructor(address, keeper, token, patienceSeconds) {
    this.connection = new Connection(address);
    this.#keeper = keeper;
    this.#token = token;
    this.#patienceSeconds = patienceSeconds;
  }

  close() {
    this.#closed = true;
    this.connection.abort();
    this.#keeper?.abort();
  }

  /**
   * The 2xx answer to a request, which is made for a token. Throws what the hall said otherwise. `mostSeconds`: what
   * the caller has left; trying again never takes much longer.
   */
  async answered(makeRequest, { mostSeconds = null, signal = null } = {}) {
    const most = mostSeconds === null ? Infinity : Math.max(mostSeconds, LEAST_PATIENCE_SECONDS);
    const persistence = this.persistence(signal, most);
    let refusals = 0;
    for (let attempts = 1; ; attempts += 1) {
      const token = await this.token(persistence);
      const found = await this.connection.exchange({ ...makeRequest(token), signal: signal ?? undefined });
      signal?.throwIfAborted();
      if (!(found instanceof Lost)) {
        if (found.status >= 200 && found.status < 300 && found.body.length > 0) return found;
        if (found.status === 401 && this.renewable(token, refusals)) {
          refusals += 1;
          continue;
        }
      }
      await persistence.wait(trouble(found, attempts));
    }
  }

  /** A token that is usable as far as is known. */
  async token(persistence) {
    if (this.#closed) throw new Error("this client is closed");
    if (this.#keeper === null) return this.#token;
    for (;;) {
      const step = await this.#keeper.ready();
      if (step.kind === "crash") throw step.error;
      if (step.kind === "done") return this.#keeper.token;
      await persistence.wait({ why: `login: ${step.why}`, afterSeconds: step.afterSeconds });
    }
  }

  /** After the hall refused a token, so many times before: whether to try with another one. */
  renewable(token, refusals) {
    if (this.#keeper === null || refusals >= REFUSALS) return false;
    this.#keeper.refuse(token, refusals + 1 === REFUSALS);
    return true;
  }

  persistence(signal = null, mostSeconds = Infinity) {
    return new Persistence(Math.min(this.#patienceSeconds, mostSeconds), signal);
  }
}

/** How long it has not worked, and how long that is borne. */
class Persistence {
  #patienceSeconds;
  #signal;
  #since = null;

  constructor(patienceSeconds, signal) {
    this.#patienceSeconds = patienceSeconds;
    this.#signal = signal;
  }

  worked() {
    this.#since = null;
  }

  /** Wait before the next attempt; Unreachable if that would take longer than the patience. */
  async wait({ why, afterSeconds }) {
    const time = now();
    this.#since ??= time;
    if (time + afterSeconds > this.#since + this.#patienceSeconds) {
      throw new Unreachable(`${why} (tried for ${(time - this.#since).toFixed(0)} s)`);
    }
    try {
      await pause(afterSeconds * 1000, undefined, { signal: this.#signal ?? undefined });
    } catch (error) {
      this.#signal?.throwIfAborted();
      throw error;
    }
  }
}

/** Why an attempt brought nothing, and after how long another one is of use; throws if no repetition mends it. */
export function trouble(reply, attempts) {
  if (reply instanceof Lost) return { why: reply.why, afterSeconds: backoffSeconds(attempts, Math.random()) };
  if (reply.status >= 200 && reply.status < 300) {
    return { why: "the answer was cut off", afterSeconds: backoffSeconds(attempts, Math.random()) };
  }
  const code = answerCode(reply);
  const passing = [408, 425, 429].includes(reply.status) || reply.status < 300 || reply.status >= 500;
  if (code !== NO_WORKER && passing) {
    return { why: explain(reply), afterSeconds: waitSeconds(attempts, Math.random(), reply) };
  }
  if (reply.status === 401 || reply.status === 403) throw new Unauthorized(explain(reply));
  throw new Refused(explain(reply), reply.status, code || null);
}
