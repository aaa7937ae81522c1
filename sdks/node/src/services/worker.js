// The public face: a worker that offers methods of one service.

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

import {
  checkedFunction,
  checkedLog,
  checkedNames,
  checkedSeconds,
  checkedWidth,
  DEFAULT_SERVER,
  LONGEST_HOLD_SECONDS,
} from "../given.js";
import { encode } from "../json.js";
import { Keeper } from "../login.js";
import { Runner } from "../runner.js";
import { Address } from "../transport.js";
import { Methods } from "./methods.js";
import { ownAddress, Probe } from "./probe.js";
import { Session } from "./session.js";
import { Shift } from "./shift.js";

const MOST_AT_ONCE = 1000;
const PLATFORMS = { win32: "windows", darwin: "macos" };
const OPTIONS = [
  "server",
  "service",
  "secret",
  "workerId",
  "concurrency",
  "lazy",
  "probeHost",
  "probePort",
  "ip",
  "version",
  "tags",
  "platform",
  "supportedExecutors",
  "interactiveDesktop",
  "browserRuntime",
  "heartbeatSeconds",
  "holdSeconds",
  "answerSeconds",
  "graceSeconds",
  "parseFloat",
  "tls",
  "log",
];

/** Offers methods of one service, and gives the hall their answers. Options: see the README. */
export class ServiceWorker {
  #options;
  #address;
  #terms;
  #secret;
  #rules;
  #methods;
  #log;
  #session = null;
  #runner = new Runner();

  constructor(options = {}) {
    checkedNames(options, OPTIONS);
    const { service, holdSeconds = 30, answerSeconds = 10, heartbeatSeconds = null, graceSeconds = null } = options;
    if (typeof service !== "string" || service === "") {
      throw new TypeError("service: name the service whose methods this worker offers");
    }
    const concurrency = checkedWidth("concurrency", options.concurrency ?? 1, MOST_AT_ONCE);
    this.#options = options;
    this.#address = new Address(options.server || process.env.HALL_SERVER || DEFAULT_SERVER, options.tls);
    this.#secret = options.secret ?? (process.env.HALL_SERVICE_SECRET ?? "").trim();
    this.#terms = Object.freeze({
      service,
      workerId: options.workerId || `${hostname() || "worker"}-${randomBytes(4).toString("hex")}`,
      profile: profileOf(options, concurrency),
      holdSeconds: checkedSeconds("holdSeconds", holdSeconds, { most: LONGEST_HOLD_SECONDS }),
      answerSeconds: checkedSeconds("answerSeconds", answerSeconds),
      heartbeatSeconds: heartbeatSeconds === null ? null : checkedSeconds("heartbeatSeconds", heartbeatSeconds),
      parseFloat: checkedFunction("parseFloat", options.parseFloat),
    });
    const grace = graceSeconds === null ? null : checkedSeconds("graceSeconds", graceSeconds, { least: 0 });
    this.#rules = { concurrency, graceSeconds: grace };
    this.#log = checkedLog(options.log);
    this.#methods = new Methods(service, this.#log);
  }

  /** The name of this process among the workers of the service. */
  get workerId() {
    return this.#terms.workerId;
  }

  /** The service's settings, as the hall told them at registration; empty before. */
  get settings() {
    return this.#session?.settings ?? Object.freeze({});
  }

  /**
   * Offer a method: `handler(params, call)` answers calls of `service/name`. What it returns, or its promise resolves
   * to, is the result; throwing `Fail` ends the call as failed, anything else as error. The option `params` says what
   * it takes (see the README); without it `params` is whatever JSON value was sent.
   */
  method(name, ...rest) {
    const [options, handler] = rest.length > 1 ? rest : [{}, rest[0]];
    this.#methods.add(name, options, handler);
    return this;
  }

  /**
   * Work until SIGTERM, SIGINT, `stop()`, an abort of `signal`, or until the hall says so. Rejects with Unauthorized,
   * Refused or Superseded when going on is of no use, and with the system's error if a Lazy worker cannot listen.
   */
  async run(options = {}) {
    checkedNames(options, ["signals", "signal"]);
    if (this.#methods.names.length === 0)
      throw new TypeError("no methods: offer one with worker.method(name, handler)");
    if (!this.#secret) throw new TypeError("secret: give secret or HALL_SERVICE_SECRET");
    await this.#runner.work(() => this.#makeRun(), options);
  }

  /** End `run` as SIGTERM would; also from a method. Returns at once. */
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

  async #makeRun() {
    const profile = { ...this.#terms.profile, methods: this.#methods.names };
    let shift = null;
    const probe = this.#options.lazy ? new Probe(() => shift?.pull(), this.#log) : null;
    if (probe !== null) {
      await probe.listen(this.#options.probeHost ?? "0.0.0.0", this.#options.probePort ?? 0);
      profile.ip = this.#options.ip ?? (await ownAddress(this.#address.host, this.#address.port));
      profile.port = probe.port;
    }
    this.#session = new Session({ ...this.#terms, profile }, () => randomBytes(18).toString("base64url"));
    shift = new Shift({
      session: this.#session,
      address: this.#address,
      keeper: new Keeper(this.#login(), this.#address),
      methods: this.#methods,
      rules: this.#rules,
      probe,
      log: this.#log,
    });
    return shift;
  }

  #login() {
    const { service, workerId, answerSeconds } = this.#terms;
    return {
      path: "/worker/auth_token",
      fields: { service_id: service, auth_secret: this.#secret, worker_id: workerId },
      advice: "check the service's name and its secret (secret or HALL_SERVICE_SECRET)",
      answerSeconds,
    };
  }
}

/** What registration tells about a worker besides its id and its methods. */
function profileOf(options, concurrency) {
  const profile = {
    run_mode: options.lazy ? "Lazy" : "Eager",
    version: options.version,
    tags: { concurrency: String(concurrency), ...options.tags },
    platform: options.platform ?? PLATFORMS[process.platform] ?? process.platform,
    supported_executors: [...(options.supportedExecutors ?? [])],
    interactive_desktop: Boolean(options.interactiveDesktop),
    browser_runtime: Boolean(options.browserRuntime),
    trace: true,
  };
  encode(profile);
  return profile;
}
