// The wake-up port of a Lazy worker: the hall connects, sends one packet, and reads `ACK:` and the packet's id.
//
// The port is open to whoever can reach it, so a packet does nothing but make the worker look for calls, and nobody is
// listened to for long.

import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer } from "node:net";

import { isObject } from "../wire.js";

const PACKET_BYTES = 4096;
const PACKET_SECONDS = 2;
const CONVERSATIONS = 8;
const PULL_SIGNAL = "pull_signal";

/** Reads packets out of bytes that arrive in any portions. */
export class Packets {
  #text = "";

  /** The ids of the packets that these bytes complete; an Error for anything but a pull signal. */
  feed(bytes) {
    if (bytes.some((byte) => byte > 127)) throw new Error("not ASCII");
    this.#text = (this.#text + bytes.toString("latin1")).trimStart();
    const found = [];
    while (this.#text !== "") {
      if (!this.#text.startsWith("{")) throw new Error("not a JSON object");
      const end = endOfObject(this.#text);
      if (end < 0) {
        if (this.#text.length > PACKET_BYTES) throw new Error(`more than ${PACKET_BYTES} bytes`);
        break;
      }
      found.push(packetId(JSON.parse(this.#text.slice(0, end))));
      this.#text = this.#text.slice(end).trimStart();
    }
    return found;
  }
}

/** Where the object that begins a text ends, or -1. */
function endOfObject(text) {
  let depth = 0;
  for (const { 0: found, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|["{}]/gs)) {
    if (found === '"') return -1; // a text that has no end yet
    if (found === "{") depth += 1;
    if (found === "}") depth -= 1;
    if (depth === 0) return index + 1;
  }
  return -1;
}

function packetId(packet) {
  const { Message: message, PacketId: id } = packet;
  if (!isObject(message) || message.MessageText !== PULL_SIGNAL) throw new Error("not a pull signal");
  if (typeof id !== "string" || !/^[!-~]+$/.test(id)) throw new Error("no PacketId");
  return id;
}

/** Listens on the port and calls `pulled` for each packet. */
export class Probe {
  #server;
  #pulled;
  #log;
  #sockets = new Set();

  constructor(pulled, log) {
    this.#pulled = pulled;
    this.#log = log;
    this.#server = createServer((socket) => this.#converse(socket));
    this.#server.maxConnections = CONVERSATIONS;
  }

  get port() {
    return this.#server.address().port;
  }

  /** Bind the port; rejects if that cannot be. */
  async listen(host, port) {
    this.#server.listen(port, host);
    await once(this.#server, "listening");
    this.#server.on("error", (error) => this.#log("warn", `the wake-up port: ${error.message}`));
  }

  close() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #converse(socket) {
    const packets = new Packets();
    const late = setTimeout(() => socket.destroy(), PACKET_SECONDS * 1000);
    this.#sockets.add(socket);
    socket.on("close", () => {
      clearTimeout(late);
      this.#sockets.delete(socket);
    });
    socket.on("error", () => {}); // the hall sends another one
    socket.on("data", (bytes) => {
      try {
        for (const id of packets.feed(bytes)) {
          socket.write(`ACK:${id}`);
          this.#pulled();
        }
      } catch (problem) {
        this.#log("info", `a probe is not answered: ${problem.message}`);
        socket.destroy();
      }
    });
  }
}

/** The address by which this machine speaks to a host, as that host may see it. */
export async function ownAddress(host, port) {
  let socket = null;
  try {
    const { address, family } = await lookup(host);
    socket = createSocket(family === 6 ? "udp6" : "udp4");
    socket.connect(port, address);
    await once(socket, "connect");
    return socket.address().address;
  } catch {
    return "127.0.0.1";
  } finally {
    socket?.close();
  }
}
