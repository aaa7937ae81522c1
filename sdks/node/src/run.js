// One run of a worker: what its loops share, how a request is sent until it is settled, and when the run is over.
//
// `stop` says that nothing new is taken; `ended` says that nothing more is sent. `changed` is notified whenever the
// session, the runs of handlers or the error change.

import { DONE } from "./steps.js";
import { Changed, Latch, now, settledWithin } from "./waiting.js";
import { WAITING } from "./login.js";
import { Connection } from "./transport.js";

const PARKED_SECONDS = 0.3;
const ABORTED_SECONDS = 0.1;
const LAST_RETRY_SECONDS = 0.5;
export const LAST_WORDS_SECONDS = 1.2;

/** What the run of a plan worker and of a service worker have in common. */
export class Run {
  changed = new Changed();
  stop = new Latch();
  ended = new Latch();
  error = null;
  #asked = false;
  #taking = Promise.resolve();

  /** `keeper` gives tokens, or is null where an errand knows its own. */
  constructor({ session, address, keeper = null, log }) {
    this.session = session;
    this.keeper = keeper;
    this.log = log;
    this.takerConnection = new Connection(address, 1);
    this.heartConnection = new Connection(address, 1);
    this.connection = new Connection(address);
  }

  /** End the run as a signal would. */
  finish() {
    this.#asked = true;
    this.changed.notify();
  }

  /** End the run with an error; the first one counts. */
  crash(error) {
    if (this.error === null && !this.ended.isSet) this.error = error;
    this.changed.notify();
  }

  /** Run loops until there is reason to end; what the loops throw by a bug ends the run. */
  async untilOver(take, beat, ...others) {
    this.#taking = this.guarded(take);
    for (const loop of [beat, ...others]) this.guarded(loop);
    await this.changed.until(() => this.#asked || this.error !== null || this.session.terminated);
  }

  async guarded(loop) {
    try {
      await loop();
    } catch (error) {
      this.crash(error);
    }
  }

  /** End a parked claim or drain; what is already under way still arrives. */
  async endTaking() {
    this.takerConnection.interrupt();
    await settledWithin(this.#taking, PARKED_SECONDS);
    this.takerConnection.abort();
    await settledWithin(this.#taking, ABORTED_SECONDS);
  }

  /** Nothing more is sent: no socket and no timer of this run is left. */
  close() {
    this.stop.set();
    this.ended.set();
    this.changed.notify();
    for (const connection of [this.takerConnection, this.heartConnection, this.connection]) connection.abort();
    this.keeper?.abort();
  }

  /** Send an errand's request until it is settled. `patience` waits, and says whether to try again. */
  async carryOut(errand, connection, patience) {
    for (;;) {
      const step = await this.#attempt(errand, connection);
      if (step.kind === "crash") this.crash(step.error);
      if (step.kind === "renew") continue;
      if (step.kind !== "again") return step;
      const quietly = this.stop.isSet || step.afterSeconds === 0 || step.why === WAITING;
      const text = `${errand.verb}: ${step.why}; again in ${step.afterSeconds.toFixed(1)} s`;
      this.log(quietly ? "info" : "warn", text);
      if (!(await patience(step.afterSeconds))) return step;
    }
  }

  async #attempt(errand, connection) {
    const ready = this.keeper === null ? DONE : await this.keeper.ready();
    if (ready.kind !== "done") return ready;
    const token = this.keeper === null ? "" : this.keeper.token;
    const reply = await connection.exchange(errand.request(token));
    const step = errand.receive(reply, Math.random());
    if (step.kind === "renew") this.keeper.refuse(token, step.logIn);
    this.obey();
    return step;
  }

  /** Do what the hall has asked of what runs here. */
  obey() {
    this.changed.notify();
  }

  /** Wait before another attempt to get something new; false once nothing new is taken. */
  hopeful = async (seconds) => !(await this.stop.wait(seconds));

  /** Wait before another attempt to say something; false once nothing more is sent. */
  patient = async (seconds) => !(await this.ended.wait(seconds));

  /** Wait before another attempt to say how work ended: also while the run ends, and then more often. */
  persistent = async (seconds) => {
    if (!this.stop.isSet) {
      await this.stop.wait(seconds);
      return !this.ended.isSet;
    }
    return !(await this.ended.wait(Math.min(seconds, LAST_RETRY_SECONDS)));
  };

  /** Wait for a predicate until a time of `now()`. */
  untilTime(predicate, time) {
    return this.changed.until(predicate, Math.max(0, time - now()));
  }
}
