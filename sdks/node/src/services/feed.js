// What methods say while they run, on its way to the hall: a bounded queue that is emptied in batches.
//
// Nothing here delays or fails a method: a full queue loses its oldest items, an item that JSON cannot carry is
// dropped, and so is a batch that the hall does not take.

import { reasonOf } from "../errors.js";
import { stringify } from "../json.js";
import { Changed, now } from "../waiting.js";
import { Feedback } from "./errands.js";

const QUEUE_ITEMS = 10_000;
const BATCH_ITEMS = 200;
const BATCH_BYTES = 256 * 1024;
const ITEM_BYTES = 64 * 1024;
// How long it is tried to pass on a batch.
const PATIENCE_SECONDS = 60;

/** Passes feedback on. */
export class Feed {
  #run;
  #connection;
  #changed = new Changed();
  #waiting = [];
  // How many items of each request are not sent yet.
  #left = new Map();
  #lost = 0;
  #troubled = false;

  constructor(run, connection) {
    this.#run = run;
    this.#connection = connection;
  }

  /** Take an item over. What cannot be sent is logged and dropped. */
  say = (item) => {
    let text;
    try {
      text = stringify(item);
    } catch (problem) {
      this.#run.log("warn", `feedback of ${item.sn} is dropped: ${reasonOf(problem)}`);
      return;
    }
    const bytes = Buffer.byteLength(text);
    if (bytes > ITEM_BYTES) {
      this.#run.log("warn", `feedback of ${item.sn} is dropped: ${bytes} bytes, and ${ITEM_BYTES} fit`);
      return;
    }
    if (this.#waiting.length >= QUEUE_ITEMS) {
      this.#count(this.#waiting.shift().requestId, -1);
      this.#lost += 1;
    }
    this.#waiting.push({ requestId: item.rid, text, bytes });
    this.#count(item.rid, 1);
    this.#changed.notify();
  };

  /** Wait until what was said about a request is sent, or is unlikely to be soon. */
  async flush(requestId, mostSeconds) {
    await this.#changed.until(() => this.#troubled || !this.#left.has(requestId), mostSeconds);
  }

  /** Give what is left so many seconds. */
  async drain(mostSeconds) {
    await this.#changed.until(() => this.#troubled || this.#left.size === 0, mostSeconds);
  }

  /** Pass items on until the run has ended; `wake` lets this notice it. */
  async pass() {
    for (;;) {
      await this.#changed.until(() => this.#waiting.length > 0 || this.#run.ended.isSet);
      if (this.#run.ended.isSet) return;
      const batch = this.#taken();
      await this.#send(batch.map(({ text }) => text));
      for (const { requestId } of batch) this.#count(requestId, -1);
      this.#changed.notify();
    }
  }

  wake() {
    this.#changed.notify();
  }

  /** The oldest items, as many as fit into one request. */
  #taken() {
    let count = 0;
    let size = 0;
    for (const { bytes } of this.#waiting.slice(0, BATCH_ITEMS)) {
      if (size + bytes > BATCH_BYTES) break;
      count += 1;
      size += bytes;
    }
    if (this.#lost > 0) {
      this.#run.log("warn", `${this.#lost} items of feedback are lost: more was said than could be sent`);
      this.#lost = 0;
    }
    return this.#waiting.splice(0, count);
  }

  #count(requestId, more) {
    const count = (this.#left.get(requestId) ?? 0) + more;
    if (count > 0) this.#left.set(requestId, count);
    else this.#left.delete(requestId);
  }

  async #send(batch) {
    const giveUpAt = now() + PATIENCE_SECONDS;
    const patience = async (seconds) => {
      this.#troubled = true;
      this.#changed.notify();
      return now() + seconds < giveUpAt && !(await this.#run.ended.wait(seconds));
    };
    const step = await this.#run.carryOut(new Feedback(this.#run.session, batch), this.#connection, patience);
    this.#troubled = step.kind === "again" || step.kind === "crash";
    if (step.kind === "skipped" && batch.length > 1) {
      // One bad item must not take the others along.
      const half = Math.floor(batch.length / 2);
      await this.#send(batch.slice(0, half));
      await this.#send(batch.slice(half));
    } else if (step.kind === "skipped") {
      this.#run.log("warn", `an item of feedback is dropped: ${step.why}`);
    } else if (step.kind === "again") {
      this.#run.log("warn", `${batch.length} items of feedback are dropped: ${step.why}`);
    }
  }
}
