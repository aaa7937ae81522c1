// Server-sent events, read from their lines.

/** Reads events (`name`, `data`, `id`) out of lines. `lastId` is the id of the last one, over all lines. */
export class Events {
  lastId = "";
  #id = "";
  #name = "";
  #data = [];

  /** The event that this line completes, or null. */
  feed(line) {
    if (line === "") return this.#completed();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#name = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  /** Forget an event that was cut off; the next line comes from a new stream. */
  restart() {
    this.#id = this.lastId;
    this.#name = "";
    this.#data = [];
  }

  #completed() {
    const [name, data] = [this.#name || "message", this.#data];
    this.lastId = this.#id;
    this.restart();
    return data.length > 0 ? { name, data: data.join("\n"), id: this.lastId } : null;
  }
}
