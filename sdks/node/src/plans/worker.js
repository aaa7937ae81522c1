// The public face: a worker for the tasks of one plan.

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

import {
  checkedLog,
  checkedNames,
  checkedSeconds,
  checkedToken,
  checkedWidth,
  DEFAULT_SERVER,
  LONGEST_HOLD_SECONDS,
} from "../given.js";
import { Runner } from "../runner.js";
import { Address } from "../transport.js";
import { reportable } from "../wire.js";
import { Session } from "./session.js";
import { Shift } from "./shift.js";

const OPTIONS = [
  "server",
  "plan",
  "bootstrapToken",
  "token",
  "workerId",
  "concurrency",
  "heartbeatSeconds",
  "holdSeconds",
  "answerSeconds",
  "graceSeconds",
  "hostname",
  "tls",
  "log",
];

/** Takes tasks of one plan, runs a handler for each, and tells the hall how it went. Options: see the README. */
export class PlanWorker {
  #address;
  #terms;
  #workerId;
  #concurrency;
  #graceSeconds;
  #log;
  #runner = new Runner();

  constructor(options = {}) {
    checkedNames(options, OPTIONS);
    const { plan, token, workerId = null, heartbeatSeconds = 30, holdSeconds = 30, answerSeconds = 10 } = options;
    if (typeof plan !== "string" || plan === "") {
      throw new TypeError("plan: name the plan whose tasks this worker takes");
    }
    this.#address = new Address(options.server || process.env.HALL_SERVER || DEFAULT_SERVER, options.tls);
    this.#terms = Object.freeze({
      planId: plan,
      hostname: reportable(options.hostname || hostname() || "unknown"),
      bootstrapToken: checkedToken("bootstrapToken", options.bootstrapToken, "HALL_BOOTSTRAP_TOKEN"),
      token: checkedToken("token", token, "HALL_WORKER_TOKEN"),
      holdSeconds: checkedSeconds("holdSeconds", holdSeconds, { most: LONGEST_HOLD_SECONDS }),
      answerSeconds: checkedSeconds("answerSeconds", answerSeconds),
      heartbeatSeconds: checkedSeconds("heartbeatSeconds", heartbeatSeconds),
    });
    if (this.#terms.bootstrapToken === null && this.#terms.token === null) {
      throw new TypeError(
        "no token: give bootstrapToken (or HALL_BOOTSTRAP_TOKEN) to register, " +
          "or token (or HALL_WORKER_TOKEN) if the cluster shares one",
      );
    }
    if (workerId !== null && this.#terms.token === null) {
      throw new TypeError("workerId: only with token; a worker that registers gets its id from the hall");
    }
    this.#workerId = workerId;
    this.#concurrency = checkedWidth("concurrency", options.concurrency ?? 1);
    this.#graceSeconds = checkedSeconds("graceSeconds", options.graceSeconds ?? 0, { least: 0 });
    this.#log = checkedLog(options.log);
  }

  /**
   * Work until SIGTERM, SIGINT, `stop()`, an abort of `signal`, or until the hall says so. The handler returning (or
   * its promise resolving) completes the task, throwing fails it, throwing `Release` gives it back. `once` ends after one
   * task; `untilEmpty` ends when a claim brought nothing while no task was running here. Rejects with Unauthorized or
   * Refused when going on is of no use.
   */
  async run(handler, options = {}) {
    if (typeof handler !== "function") throw new TypeError("no handler: call run(async (task) => { ... })");
    checkedNames(options, ["once", "untilEmpty", "signals", "signal"]);
    const { once = false, untilEmpty = false, ...stopping } = options;
    const rules = { concurrency: this.#concurrency, graceSeconds: this.#graceSeconds, once, untilEmpty };
    const makeRun = () =>
      new Shift({
        session: new Session(this.#terms, () => randomBytes(18).toString("base64url"), this.#identity()),
        address: this.#address,
        log: this.#log,
        handler,
        rules,
      });
    await this.#runner.work(makeRun, stopping);
  }

  /** End `run` as SIGTERM would; also from a handler. Returns at once. */
  stop() {
    this.#runner.stop();
  }

  /** End `run` and wait for its end; also by `await using`. */
  async close() {
    await this.#runner.close();
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  #identity() {
    const { token, bootstrapToken } = this.#terms;
    if (token === null || (bootstrapToken !== null && this.#workerId === null)) return null;
    return Object.freeze({ workerId: this.#workerId ?? `w-${randomBytes(9).toString("base64url")}`, token });
  }
}
