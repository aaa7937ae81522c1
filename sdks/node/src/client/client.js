// The public face: a client that calls methods of services.

import { randomBytes } from "node:crypto";

import { CallPending, Refused } from "../errors.js";
import { checkedFunction, checkedNames, checkedSeconds } from "../given.js";
import { encode } from "../json.js";
import { Keeper } from "../login.js";
import { Address } from "../transport.js";
import { now } from "../waiting.js";
import { part, request } from "../wire.js";
import { HOLD_SECONDS, PendingCall, readMembers } from "./pending.js";
import { find } from "./place.js";
import { Wires } from "./wires.js";

const SETTINGS = ["server", "clientId", "secret", "token", "patienceSeconds", "answerSeconds", "parseFloat", "tls"];
// Options of a call, and the members of the request that they become.
const MEMBERS = {
  deadlineSeconds: "deadline_seconds",
  priority: "priority",
  retries: "retries",
  dispatch: "dispatch",
  requires: "requires",
  ifNoWorker: "if_no_worker",
  runLimitSeconds: "run_limit_seconds",
};
const CALL_OPTIONS = [...Object.keys(MEMBERS), "traceparent", "idempotencyKey", "signal"];

/** Calls `service/method` and gets the answer. Options: see the README. */
export class Client {
  #wires;
  #reading;

  constructor(options = {}) {
    checkedNames(options, SETTINGS);
    const answerSeconds = checkedSeconds("answerSeconds", options.answerSeconds ?? 10);
    const patienceSeconds = checkedSeconds("patienceSeconds", options.patienceSeconds ?? 30, { least: 0 });
    const place = find({ ...options, answerSeconds });
    const address = new Address(place.server, options.tls);
    const keeper = place.login === null ? null : new Keeper(place.login, address);
    this.#wires = new Wires(address, keeper, place.token, patienceSeconds);
    this.#reading = { answerSeconds, parseFloat: checkedFunction("parseFloat", options.parseFloat) };
  }

  /**
   * Call `service/method`; resolves to its result. `timeoutSeconds`: how long to wait for it. Rejects with CallFailed
   * if the call does not end with success, and with CallPending if it has not ended in time: it lives on, and
   * `error.pending` is its handle. Other options are those of `start`.
   */
  async call(method, params = null, { timeoutSeconds = null, ...options } = {}) {
    checkedNames(options, CALL_OPTIONS);
    if (timeoutSeconds !== null) checkedSeconds("timeoutSeconds", timeoutSeconds, { least: 0 });
    const deadline = timeoutSeconds === null ? Infinity : now() + timeoutSeconds;
    const hold = Math.min(HOLD_SECONDS, timeoutSeconds ?? Infinity);
    const { pending, status } = await this.#started(method, params, hold, options, timeoutSeconds);
    const left = deadline - now();
    if (left <= 0 && pending.ended === null) throw new CallPending(pending, status);
    const waitSeconds = timeoutSeconds === null ? null : Math.max(0, left);
    return pending.result({ waitSeconds, signal: options.signal });
  }

  /** Call `service/method`; resolves at once to the handle of the call. Options: see the README. */
  async start(method, params = null, options = {}) {
    checkedNames(options, CALL_OPTIONS);
    return (await this.#started(method, params, 0, options)).pending;
  }

  /** The handle of a call that was made before, perhaps by another process of the same client. */
  pending(requestId) {
    return new PendingCall(this.#wires, requestId, this.#reading);
  }

  /** What is on offer to this client: for each method its full name (`method`), `workers`, `live_workers`. */
  async methods({ signal = null } = {}) {
    const found = [];
    for (let query = ""; ;) {
      const path = `/client/methods${query}`;
      const asking = (token) => request("methods", "GET", path, token, null, this.#reading.answerSeconds);
      const page = readMembers(await this.#wires.answered(asking, { signal }), this.#reading.parseFloat);
      if (Array.isArray(page.methods)) found.push(...page.methods);
      if (typeof page.next !== "string") return found;
      query = `?after=${part(page.next)}`;
    }
  }

  /** Close the connections; what is under way fails. Also by `await using`. */
  async close() {
    this.#wires.close();
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  async #started(method, params, holdSeconds, options, mostSeconds = null) {
    const { idempotencyKey = randomBytes(18).toString("base64url"), traceparent, signal = null } = options;
    const members = { method, params: params ?? {} };
    for (const [option, member] of Object.entries(MEMBERS)) members[member] = options[option] ?? undefined;
    if (holdSeconds > 0) members.wait = Math.round(holdSeconds * 1000) / 1000;
    const body = encode(members);
    const headers = { "Idempotency-Key": idempotencyKey };
    if (traceparent) headers.traceparent = traceparent;
    const seconds = holdSeconds + this.#reading.answerSeconds;
    const calling = (token) => request("call", "POST", "/client/requests", token, body, seconds, { headers });
    const answer = await this.#wires.answered(calling, { mostSeconds, signal });
    const found = readMembers(answer, this.#reading.parseFloat);
    if (typeof found.request_id !== "string") {
      throw new Refused("the answer is not the hall's: it names no request_id");
    }
    const pending = this.pending(found.request_id);
    return { pending, status: pending.keep(found) };
  }
}
