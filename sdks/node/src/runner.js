// What `run`, `stop` and `await using` of both kinds of workers come to.

import { Signals } from "./signals.js";

// A handler that does not heed its signal keeps the process alive: this long after `run`, when the process is to end.
const LEFT_BEHIND_SECONDS = 0.1;

/** Runs one worker at a time, with signals caught. */
export class Runner {
  #run = null;
  #running = null;
  #stopped = false;

  /** Make a run, and work until it ends. Options: `signals` (catch SIGTERM and SIGINT), `signal` (an AbortSignal). */
  async work(makeRun, { signals = true, signal = null } = {}) {
    if (this.#running !== null) throw new Error("this worker is running already; make another one for a second run");
    this.#stopped = signal?.aborted ?? false;
    this.#running = this.#work(makeRun, signals, signal);
    try {
      await this.#running;
    } finally {
      this.#running = null;
    }
  }

  async #work(makeRun, signals, signal) {
    const caught = new Signals(() => this.stop());
    const stop = () => this.stop();
    signal?.addEventListener("abort", stop);
    if (signals) caught.catch();
    try {
      this.#run = await makeRun();
      if (this.#stopped) this.#run.finish();
      await this.#run.work();
    } finally {
      signal?.removeEventListener("abort", stop);
      caught.release();
      const told = caught.caught !== null || (signals && this.#run?.session.terminated);
      if (told && this.#run?.leftBehind) endSoon();
      this.#run = null;
    }
  }

  /** End the run as SIGTERM would. Returns at once. */
  stop() {
    this.#stopped = true;
    this.#run?.finish();
  }

  /** End the run, and wait for its end. */
  async close() {
    this.stop();
    await this.#running?.catch(() => {});
  }
}

function endSoon() {
  setTimeout(() => process.exit(), LEFT_BEHIND_SECONDS * 1000).unref();
}
