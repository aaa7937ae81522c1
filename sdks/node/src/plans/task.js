// The task as a handler sees it.

/**
 * One task, handed to this worker. `signal` is aborted once the result is no longer wanted: an operator cancelled the
 * task, or this worker gave it back. `members` is everything that the server sent.
 */
export class Task {
  constructor(planId, id, version, members, signal) {
    this.id = id;
    this.planId = planId;
    this.version = version;
    this.members = members;
    this.signal = signal;
  }

  #text(name) {
    const value = this.members[name];
    return typeof value === "string" ? value : "";
  }

  #texts(name) {
    const value = this.members[name];
    return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
  }

  /** CLAIMED, as handed over; it does not follow what happens later. */
  get status() {
    return this.#text("status");
  }

  /** critical, high, medium or low. */
  get priority() {
    return this.#text("priority");
  }

  get description() {
    return this.#text("description");
  }

  /** Ids of the tasks of the same plan that were done before this one. */
  get dependencies() {
    return this.#texts("dependencies");
  }

  get keyFiles() {
    return this.#texts("key_files");
  }

  get acceptanceCriteria() {
    return this.#texts("acceptance_criteria");
  }

  get testSteps() {
    return this.#texts("test_steps");
  }

  get prdRequirement() {
    return this.#text("prd_requirement");
  }

  toString() {
    return `${this.planId}/${this.id}@${this.version}`;
  }
}
