// SIGTERM and SIGINT, caught while a worker runs.

const SIGNALS = ["SIGTERM", "SIGINT"];

/**
 * Calls `rung` on the first signal. From then on both end the process by themselves, so that a second one works
 * whatever the worker still waits for.
 */
export class Signals {
  caught = null;
  #listener;

  constructor(rung) {
    this.#listener = (name) => {
      this.caught = name;
      this.release();
      rung();
    };
  }

  catch() {
    for (const name of SIGNALS) process.on(name, this.#listener);
  }

  release() {
    for (const name of SIGNALS) process.off(name, this.#listener);
  }
}
