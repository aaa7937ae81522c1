// The methods that a worker offers, and what running one of them comes to.

import { Fail, reasonOf, reasonWithType, Unsendable } from "../errors.js";
import { stringify } from "../json.js";
import { broken, failed, success } from "./outcome.js";
import { Misfit, reader } from "./params.js";

/** The methods of one service, by name. */
export class Methods {
  #service;
  #log;
  #known = new Map();

  constructor(service, log) {
    this.#service = service;
    this.#log = log;
  }

  get names() {
    return [...this.#known.keys()];
  }

  /** Take a method up; an error says what is wrong with it. */
  add(name, { params = null, ...unknown }, handler) {
    if (typeof name !== "string" || name === "")
      throw new TypeError("a method needs a name: worker.method('add', ...)");
    const full = `${this.#service}/${name}`;
    if (this.#known.has(name)) throw new TypeError(`${full} is there already`);
    if (typeof handler !== "function") throw new TypeError(`${full}: its handler is a function (params, call)`);
    const [option] = Object.keys(unknown);
    if (option !== undefined) throw new TypeError(`${full}: there is no option ${option}; there is params`);
    this.#known.set(name, { handler, read: reader(params) });
  }

  /** The function that runs a method for a call, or the outcome that says why there is none. */
  prepare(name, params) {
    const method = this.#known.get(name);
    const full = `${this.#service}/${name}`;
    if (method === undefined) {
      const offered = this.names.sort().join(", ");
      return {
        outcome: broken(`${this.#service}: there is no method '${name.slice(0, 100)}'; this worker has ${offered}`),
      };
    }
    try {
      const given = method.read(params);
      return { run: (call) => this.#run(full, method.handler, given, call) };
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      return { outcome: broken(`${full}: ${error.message}`) };
    }
  }

  async #run(full, handler, params, call) {
    try {
      return success(stringify(await handler(params, call)));
    } catch (error) {
      if (error instanceof Fail) return failed(error.message || "refused");
      if (error instanceof Unsendable) return broken(`${full}: its result cannot be sent as JSON: ${error.message}`);
      if (call.signal.aborted) return failed(`${full}: cancelled`);
      this.#log("warn", `${full} ${call.requestId} threw: ${error?.stack ?? reasonOf(error)}`);
      return broken(`${full}: ${reasonWithType(error)}`);
    }
  }
}
