// One run of a plan worker, from registering to the last answer.
//
// One claim is parked however many tasks may still run. As soon as it brings a task, its handler begins and the next
// claim goes out, so no task is ever claimed without room for it.

import { Cancelled, reasonOf, Release, Unauthorized } from "../errors.js";
import { LAST_WORDS_SECONDS, Run } from "../run.js";
import { now, settledWithin } from "../waiting.js";
import { Claim, Heartbeat, Register, Settle } from "./errands.js";
import { Task } from "./task.js";

// After a claim that brought something unusable.
const PAUSE_SECONDS = 0.5;
const SHUTDOWN_REASON = "shutdown";

/** `rules`: concurrency, graceSeconds, once, untilEmpty. */
export class Shift extends Run {
  #handler;
  #rules;
  // What runs: hold -> AbortController.
  #calls = new Map();

  constructor({ handler, rules, ...shared }) {
    super(shared);
    this.#handler = handler;
    this.#rules = rules;
  }

  /** Whether a handler still runs. */
  get leftBehind() {
    return this.#calls.size > 0;
  }

  /** Run until there is reason to end; throws the reason to crash. */
  async work() {
    try {
      await this.untilOver(
        () => this.#take(),
        () => this.#beat(),
      );
      await this.#windDown();
    } finally {
      this.close();
    }
    if (this.error !== null) throw this.error;
  }

  obey() {
    for (const [hold, controller] of this.#calls) {
      if (hold.cancelled && !controller.signal.aborted) {
        this.log("info", `${hold} is cancelled by the hall`);
        controller.abort(new Cancelled("cancelled by the hall"));
      }
    }
    super.obey();
  }

  async #take() {
    if (this.session.identity === null && !(await this.#registers(this.takerConnection, this.hopeful))) return;
    while ((await this.#roomForOne()) && (await this.#claim()));
  }

  async #registers(connection, patience) {
    const step = await this.carryOut(new Register(this.session), connection, patience);
    if (step.kind === "done") this.log("info", `registered as ${this.session.identity.workerId}`);
    return step.kind === "done";
  }

  /** Wait until a task could be started; false once nothing new is taken. */
  async #roomForOne() {
    const ready = () => !this.session.quiet && this.#calls.size < this.#rules.concurrency;
    await this.changed.until(() => this.stop.isSet || ready());
    return !this.stop.isSet;
  }

  /** Claim once; false ends the claiming. */
  async #claim() {
    const idle = this.#calls.size === 0;
    const step = await this.carryOut(new Claim(this.session), this.takerConnection, this.hopeful);
    switch (step.kind) {
      case "got":
        this.log("info", `claimed ${step.hold}`);
        this.#begin(step.hold);
        if (this.#rules.once) await this.#finishWhenIdle();
        return !this.#rules.once;
      case "empty":
        if (!(this.#rules.untilEmpty && idle && !this.session.quiet)) return true;
        this.finish();
        return false;
      case "skipped":
        if (step.expected) return true;
        this.log("warn", `claim: ${step.why}`);
        return this.hopeful(PAUSE_SECONDS);
      default:
        return false;
    }
  }

  async #finishWhenIdle() {
    await this.changed.until(() => this.stop.isSet || this.#calls.size === 0);
    this.finish();
  }

  /** Beat, whatever handlers wait for, and register anew if the hall asks who this is. */
  async #beat() {
    await this.changed.until(() => this.ended.isSet || this.session.identity !== null);
    // Registering tells how far apart the hall wants the beats; who did not register beats at once to hear it.
    let atOnce = !this.session.introduced;
    while (atOnce || (await this.patient(this.session.beatSeconds))) {
      atOnce = false;
      if (this.ended.isSet) return;
      const { introduced } = this.session; // as it was before the hall was asked
      const step = await this.carryOut(new Heartbeat(this.session), this.heartConnection, this.patient);
      if (step.kind === "crash") return;
      if (step.kind === "unregistered" && introduced) await this.#registerAnew(step);
    }
  }

  async #registerAnew(step) {
    if (!step.canRegister) {
      this.log("warn", "the hall does not know this worker id (any more); the next claim introduces it");
      return;
    }
    this.log("warn", "the hall no longer knows this worker; registering anew");
    // The parked claim ends, so that the next one is made as who this is now.
    if (await this.#registers(this.heartConnection, this.patient)) this.takerConnection.interrupt();
  }

  /** Run the handler for a task; at the end of the run, give the task back instead. */
  #begin(hold) {
    if (this.stop.isSet) {
      this.#giveBack([hold]);
      return;
    }
    const controller = new AbortController();
    this.#calls.set(hold, controller);
    this.guarded(async () => {
      try {
        const [verb, reason] = await this.#outcome(hold, controller.signal);
        await this.#settle(hold, verb, reason);
      } finally {
        this.session.forget(hold);
        this.#calls.delete(hold);
        this.changed.notify();
      }
    });
  }

  async #outcome(hold, signal) {
    try {
      const handler = this.#handler;
      await handler(new Task(hold.planId, hold.taskId, hold.version, hold.members, signal));
    } catch (error) {
      if (error instanceof Release) return ["release", error.message || null];
      if (!signal.aborted) this.log("warn", `${hold} failed: ${error?.stack ?? reasonOf(error)}`);
      return ["fail", reasonOf(error)];
    }
    return ["complete", null];
  }

  async #settle(hold, verb, reason) {
    if (!this.session.beginToEnd(hold)) {
      this.log("info", `${hold} was given back before its handler ended; the result is dropped`);
      return;
    }
    await this.#tell(new Settle(this.session, hold, verb, reason));
  }

  async #tell(errand) {
    const { hold, verb } = errand;
    const step = await this.carryOut(errand, this.connection, this.persistent);
    if (step.kind === "skipped") {
      const quietly = step.expected || verb === "release";
      this.log(quietly ? "info" : "warn", `${verb} of ${hold} skipped: ${step.why}`);
    } else if (step.kind === "again") {
      this.log("warn", `${verb} of ${hold} could not be said before the end: ${step.why}`);
    } else if (step.kind === "done") {
      this.log("info", `${verb}: ${hold}`);
    }
    if (step.kind !== "done") this.#calls.get(hold)?.abort(new Cancelled("this worker no longer holds the task"));
  }

  /** Release holds, and tell their handlers. */
  #giveBack(holds) {
    const mine = holds.filter((hold) => this.session.beginToEnd(hold));
    const told = mine.map((hold) => this.#tell(new Settle(this.session, hold, "release", SHUTDOWN_REASON)));
    for (const hold of holds) this.#calls.get(hold)?.abort(new Cancelled("this worker is about to exit"));
    return Promise.all(told);
  }

  async #windDown() {
    this.stop.set();
    this.changed.notify();
    await this.endTaking();
    const grace = this.error === null ? this.#rules.graceSeconds : 0;
    await this.changed.until(() => this.#calls.size === 0 || this.error !== null, grace);
    const deadline = now() + LAST_WORDS_SECONDS;
    // Before any handler hears of it: one that returns because it is told to stop has completed nothing.
    const left = [...this.session.holds.values()].filter((hold) => !hold.settling);
    const released = this.error instanceof Unauthorized ? Promise.resolve() : this.#giveBack(left);
    for (const controller of this.#calls.values()) controller.abort(new Cancelled("this worker is about to exit"));
    await settledWithin(released, LAST_WORDS_SECONDS);
    // Handlers that heed their signal end here, and results already under way still arrive.
    await this.untilTime(() => this.#calls.size === 0, deadline);
    for (const hold of this.#calls.keys()) this.log("info", `${hold}: its handler still runs and is left behind`);
  }
}
