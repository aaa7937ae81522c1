// Waiting for what changes, with a deadline, and without a timer that outlives the wait.

const LONGEST_MILLISECONDS = 2 ** 31 - 1;

/** Seconds of a clock that only goes forward. */
export function now() {
  return performance.now() / 1000;
}

/** Lets others wait until something is so. */
export class Changed {
  #looks = new Set();

  /** Something has changed: everybody who waits looks again. */
  notify() {
    for (const look of [...this.#looks]) look();
  }

  /** Wait until the predicate holds, at most so many seconds (null: for ever). Says whether it holds. */
  async until(predicate, seconds = null) {
    if (predicate()) return true;
    if (seconds !== null && seconds <= 0) return false;
    return new Promise((resolve) => {
      let timer = null;
      const end = (value) => {
        clearTimeout(timer);
        this.#looks.delete(look);
        resolve(value);
      };
      const look = () => {
        if (predicate()) end(true);
      };
      this.#looks.add(look);
      if (seconds !== null) {
        timer = setTimeout(() => end(predicate()), Math.min(seconds * 1000, LONGEST_MILLISECONDS));
      }
    });
  }
}

/** Something that happens once. */
export class Latch {
  #changed = new Changed();
  isSet = false;

  set() {
    this.isSet = true;
    this.#changed.notify();
  }

  /** Wait for it at most so many seconds; says whether it has happened. */
  wait(seconds = null) {
    return this.#changed.until(() => this.isSet, seconds);
  }
}

/** Wait for a promise at most so many seconds; whatever becomes of it. */
export async function settledWithin(promise, seconds) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, seconds * 1000);
  });
  await Promise.race([promise.catch(() => {}), late]);
  clearTimeout(timer);
}
