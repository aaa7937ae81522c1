// One run of a service worker, from logging in to the last answer.
//
// One drain is parked however many calls may still run, and asks for no more than that. A hall that hands out more
// anyway has the rest waiting here.

import { Cancelled, Superseded, Unauthorized } from "../errors.js";
import { LAST_WORDS_SECONDS, Run } from "../run.js";
import { Connection } from "../transport.js";
import { now, settledWithin } from "../waiting.js";
import { Call } from "./call.js";
import { Drain, Goodbye, Heartbeat, Lock, Register, Respond } from "./errands.js";
import { Feed } from "./feed.js";
import { failed } from "./outcome.js";

const LOCK_ATTEMPTS = 4;
// Before a worker registers again that the hall does not know.
const UNREGISTERED_SECONDS = 0.5;
// How long an answer waits for the feedback that came before it; the hall takes none after the answer.
const FEEDBACK_FIRST_SECONDS = 1;
const LAST_FEEDBACK_SECONDS = 0.5;
// A Lazy worker looks by itself this often, in case its wake-up port cannot be reached.
const LOOK_SECONDS = 30;

/** `rules`: concurrency, graceSeconds (null: until everything is answered). `probe`: of a Lazy worker, else null. */
export class Shift extends Run {
  #methods;
  #rules;
  #probe;
  #feed;
  #feedConnection;
  #hungry = true;
  #waiting = [];
  #busy = 0;
  // What runs: hold -> AbortController.
  #runs = new Map();

  constructor({ methods, rules, probe = null, ...shared }) {
    super(shared);
    this.#methods = methods;
    this.#rules = rules;
    this.#probe = probe;
    this.#feedConnection = new Connection(shared.address, 1);
    this.#feed = new Feed(this, this.#feedConnection);
  }

  /** Whether a method still runs. */
  get leftBehind() {
    return this.#runs.size > 0;
  }

  /** Run until there is reason to end; throws the reason to crash. */
  async work() {
    try {
      await this.untilOver(
        () => this.#take(),
        () => this.#beat(),
        () => this.#feed.pass(),
      );
      await this.#windDown();
    } finally {
      this.#probe?.close();
      this.close();
      this.#feed.wake();
      this.#feedConnection.abort();
    }
    if (this.error !== null) throw this.error;
  }

  /** There is reason to drain. */
  pull() {
    this.#hungry = true;
    this.changed.notify();
  }

  obey() {
    for (const [hold, controller] of this.#runs) {
      if (hold.cancelled && !controller.signal.aborted) {
        this.log("info", `${hold} is cancelled by the hall`);
        controller.abort(new Cancelled("cancelled by the hall"));
      }
    }
    super.obey();
  }

  async #take() {
    if (!(await this.#register(this.takerConnection, this.hopeful))) return;
    while ((await this.#due()) && (await this.#drain()));
  }

  async #register(connection, patience) {
    const step = await this.carryOut(new Register(this.session), connection, patience);
    const { service, workerId } = this.session.terms;
    if (step.kind === "done") this.log("info", `registered as ${service}/${workerId}`);
    return step.kind === "done";
  }

  get #room() {
    return this.#rules.concurrency - this.session.holds.size;
  }

  /** Wait until a call could be started, and is worth asking for; false once nothing new is taken. */
  async #due() {
    const ready = () => !this.session.quiet && this.#room > 0;
    const eager = this.#probe === null;
    await this.changed.until(
      () => this.stop.isSet || (ready() && (eager || this.#hungry)),
      eager ? null : LOOK_SECONDS,
    );
    // After a while a Lazy worker looks anyway, as soon as it can.
    await this.changed.until(() => this.stop.isSet || ready());
    this.#hungry = false;
    return !this.stop.isSet;
  }

  /** Drain once; false ends the draining. */
  async #drain() {
    const errand = new Drain(this.session, Math.max(1, this.#room), this.#probe === null);
    const step = await this.carryOut(errand, this.takerConnection, this.hopeful);
    if (step.kind === "unregistered") {
      this.log("warn", "the hall does not know this worker; registering");
      return (await this.hopeful(UNREGISTERED_SECONDS)) && this.#register(this.takerConnection, this.hopeful);
    }
    if (step.kind !== "drained") return false;
    if (step.holds.length > 0) this.#hungry = true;
    for (const hold of step.holds) this.log("info", `got ${hold}`);
    this.#waiting.push(...step.holds);
    this.#begin();
    return true;
  }

  /** Beat, whatever methods wait for, and register anew if the hall asks who this is. */
  async #beat() {
    await this.changed.until(() => this.ended.isSet || this.session.registered);
    while (await this.patient(this.session.beatSeconds)) {
      const step = await this.carryOut(new Heartbeat(this.session), this.heartConnection, this.patient);
      if (step.kind === "crash") return;
      if (step.kind === "unregistered" && !this.stop.isSet) {
        this.log("warn", "the hall no longer knows this worker; registering anew");
        await this.#register(this.heartConnection, this.patient);
      }
    }
  }

  /** Begin what waits, as far as there is room. */
  #begin() {
    while (this.#waiting.length > 0 && this.#busy < this.#rules.concurrency) {
      const hold = this.#waiting.shift();
      if (hold.givenBack) continue;
      hold.begun = true;
      this.#busy += 1;
      this.guarded(async () => {
        try {
          if (!hold.lockRequired || (await this.#lock(hold))) await this.#answer(hold, await this.#outcome(hold));
        } finally {
          this.#busy -= 1;
          this.session.forget(hold);
          this.#runs.delete(hold);
          this.#begin();
          this.changed.notify();
        }
      });
    }
  }

  async #lock(hold) {
    let left = LOCK_ATTEMPTS - 1;
    const patience = async (seconds) => {
      left -= 1;
      return left >= 0 && this.patient(seconds);
    };
    const step = await this.carryOut(new Lock(this.session, hold), this.connection, patience);
    if (step.kind === "skipped") this.log("debug", `${hold} is another worker's: ${step.why}`);
    return step.kind === "done";
  }

  async #outcome(hold) {
    const { outcome, run } = this.#methods.prepare(hold.method, hold.params);
    const { service } = this.session.terms;
    if (outcome !== undefined) {
      this.log("warn", `${hold}: ${outcome.errorText}`);
      return outcome;
    }
    if (hold.cancelled) return failed(`${service}/${hold.method}: cancelled`);
    const controller = new AbortController();
    this.#runs.set(hold, controller);
    return run(new Call(service, hold.members, controller.signal, this.#feed.say));
  }

  async #answer(hold, told) {
    await this.#feed.flush(hold.requestId, FEEDBACK_FIRST_SECONDS);
    if (hold.givenBack) {
      this.log("info", `${hold} was given back before its method ended; the answer is dropped`);
      return;
    }
    hold.answering = true;
    const step = await this.carryOut(new Respond(this.session, hold, told), this.connection, this.persistent);
    if (step.kind === "skipped") {
      this.log(step.expected ? "info" : "warn", `answer of ${hold} dropped: ${step.why}`);
    } else if (step.kind === "again") {
      this.log("warn", `answer of ${hold} could not be given before the end: ${step.why}`);
    } else if (step.kind === "done") {
      this.log("info", `${told.status}: ${hold}`);
    }
  }

  async #windDown() {
    this.stop.set();
    this.changed.notify();
    this.#probe?.close();
    await this.endTaking();
    const powerless = () => this.error instanceof Unauthorized || this.error instanceof Superseded;
    if (!powerless()) await this.#sayGoodbye((hold) => !hold.begun);
    const grace = this.error === null ? this.#rules.graceSeconds : 0;
    await this.changed.until(() => this.session.holds.size === 0 || this.error !== null, grace);
    // Before any method hears of it: what one says because it is told to stop is not its answer.
    const left = this.#giveBack(() => true);
    for (const hold of left) this.#runs.get(hold)?.abort(new Cancelled(this.error?.message ?? "given back"));
    if (left.length > 0 && !powerless()) await this.#sayGoodbye(() => true);
    await this.#lastWords();
  }

  /** Take calls from the methods that run them, unless their answers are under way. */
  #giveBack(which) {
    const found = [...this.session.holds.values()].filter((hold) => which(hold) && !hold.answering);
    for (const hold of found) hold.givenBack = true;
    return found;
  }

  /** Tell the hall that nothing new is taken, and which calls it can give to others at once. */
  async #sayGoodbye(which) {
    const unstarted = this.#giveBack(which);
    if (!this.session.registered) return;
    const say = async () => {
      const step = await this.carryOut(new Goodbye(this.session, unstarted), this.connection, this.persistent);
      if (step.kind === "skipped") this.log("info", `goodbye: ${step.why}`);
      for (const hold of unstarted) this.session.forget(hold);
      this.changed.notify();
    };
    await settledWithin(this.guarded(say), LAST_WORDS_SECONDS);
  }

  async #lastWords() {
    const deadline = now() + LAST_WORDS_SECONDS;
    for (const controller of this.#runs.values()) controller.abort(new Cancelled("this worker is about to exit"));
    // Methods that heed their signal end here, and answers already under way still arrive.
    await this.untilTime(() => this.session.holds.size === 0 && this.#runs.size === 0, deadline);
    for (const hold of this.#runs.keys()) this.log("info", `${hold} still runs and is left behind`);
    if (this.error === null) await this.#feed.drain(LAST_FEEDBACK_SECONDS);
  }
}
