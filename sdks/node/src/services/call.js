// The call as a method sees it.

const METHOD_REQUEST = 1;

/**
 * One call of a method, handed to this worker. `signal` is aborted once the answer is no longer wanted as it was: the
 * client or an operator cancelled the call, or this worker lost it. `members` is everything that the hall sent beside
 * `params`.
 */
export class Call {
  #say;

  constructor(service, members, signal, say) {
    this.service = service;
    this.members = members;
    this.requestId = members.request_id;
    this.method = members.method;
    this.signal = signal;
    this.#say = say;
  }

  /** When nobody wants the answer any more, as a Date, or null if the hall did not tell. */
  get deadline() {
    const moment = new Date(typeof this.members.deadline === "string" ? this.members.deadline : NaN);
    return Number.isNaN(moment.getTime()) ? null : moment;
  }

  /** The W3C trace context of the client, or null. */
  get traceparent() {
    const text = this.members.traceparent;
    return typeof text === "string" ? text : null;
  }

  /**
   * Tell the client something while the method runs: any JSON value of at most 64 KiB. Returns at once and never fails:
   * what cannot be sent is logged and dropped. With `persist: false` the hall keeps it for a minute only.
   */
  feedback(content, { type = "message", persist = true } = {}) {
    this.#say({
      rid: this.requestId,
      st: METHOD_REQUEST,
      sn: this.method,
      ft: type,
      pr: Boolean(persist),
      fc: content ?? null,
    });
  }

  /** Tell how far the method is: feedback of the type `progress`, with `percent` and `text`. */
  progress(percent, text = "") {
    this.feedback({ percent, text }, { type: "progress", persist: false });
  }
}
