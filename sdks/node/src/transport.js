// Keep-alive HTTP/1.1 connections to one server, whose requests may be interrupted.

import http from "node:http";
import https from "node:https";

import { Answer, JSON_TYPE, Lost } from "./wire.js";

const CONNECT_SECONDS = 10;
const AGENT = `hiringhall-worker (Node.js ${process.versions.node})`;
// What a connection may have gone through when it was closed by the other side while it was idle.
const STALE = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED"]);
const IDLE_SOCKETS = 16;
// A directive may name twenty long ids.
const LONGEST_HEADERS = 64 * 1024;
const LONGEST_LINE = 8 * 1024 * 1024;

/** Where the server is. A path in front of the routes is kept. */
export class Address {
  constructor(text, tls = null) {
    let url;
    try {
      url = new URL(String(text).trim());
    } catch {
      url = null;
    }
    if (url === null || !["http:", "https:"].includes(url.protocol) || !url.hostname) {
      throw new TypeError("the server's address must look like http://HOST:PORT or https://HOST");
    }
    if (url.username || url.password || url.search || url.hash) {
      throw new TypeError("the server's address must have no user name, query or fragment; tokens are given apart");
    }
    this.secure = url.protocol === "https:";
    this.host = url.hostname.replace(/^\[|\]$/g, "");
    this.port = Number(url.port) || (this.secure ? 443 : 80);
    this.prefix = url.pathname.replace(/\/+$/, "");
    this.tls = tls ?? {};
  }
}

/** An answer that comes bit by bit. */
class Stream {
  constructor(response) {
    this.response = response;
  }

  /** The lines as they come, without their ends; ends where the network fails. */
  async *lines() {
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for await (const chunk of this.response) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = lines.pop();
        for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
        if (rest.length > LONGEST_LINE) return;
      }
    } catch {
      return; // what is left is asked for again
    } finally {
      this.response.destroy();
    }
  }
}

/** Sends requests. Every failure of the network comes back as `Lost`. `sockets`: how many at once. */
export class Connection {
  #address;
  #agent;
  #underWay = new Set();
  #interruptions = 0;
  #ended = false;

  constructor(address, sockets = Infinity) {
    const { Agent } = address.secure ? https : http;
    this.#address = address;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: sockets,
      maxFreeSockets: Math.min(sockets, IDLE_SOCKETS),
      noDelay: true,
      ...(address.secure ? address.tls : {}),
    });
  }

  /** Send a request and read the whole answer; each wait for the network lasts at most its timeout. */
  async exchange(request) {
    return this.#tried(request, whole);
  }

  /** Send a request whose answer comes bit by bit. An answer other than 200 is read whole. */
  async stream(request) {
    return this.#tried(request, (response) => (response.statusCode === 200 ? new Stream(response) : whole(response)));
  }

  async #tried(request, read) {
    const interruptions = this.#interruptions;
    const [found, stale] = await this.#attempt(request, read);
    // The other side closed the connection while it was idle, so most likely it never saw the request.
    if (stale && request.repeatable && interruptions === this.#interruptions && !this.#ended) {
      return (await this.#attempt(request, read))[0];
    }
    return found;
  }

  /** Tell the server that nobody waits any more. An answer already under way still arrives. */
  interrupt() {
    this.#interruptions += 1;
    for (const sent of this.#underWay) sent.socket?.end();
  }

  /** Make the requests that are under way fail at once, and every later one. */
  abort() {
    this.#ended = true;
    for (const sent of this.#underWay) sent.destroy(new Error("this worker is about to exit"));
    this.#agent.destroy();
  }

  /** Close all connections; the next request opens another one. */
  close() {
    this.#agent.destroy();
  }

  /** What `read` makes of the answer, and whether an idle connection turned out to be closed. */
  #attempt(request, read) {
    return new Promise((resolve) => {
      if (this.#ended) {
        resolve([new Lost("this worker is about to exit"), false]);
        return;
      }
      let connecting = null;
      const sent = this.#begun(request);
      const end = (found, stale = false) => {
        clearTimeout(connecting);
        this.#underWay.delete(sent);
        resolve([found, stale]);
      };
      this.#underWay.add(sent);
      sent.on("socket", (socket) => {
        if (!socket.connecting) return;
        const late = () => sent.destroy(new Error(`no connection within ${CONNECT_SECONDS} s`));
        connecting = setTimeout(late, CONNECT_SECONDS * 1000);
        socket.once("connect", () => clearTimeout(connecting));
      });
      sent.on("timeout", () => sent.destroy(new Error(`no answer within ${request.timeoutSeconds} s`)));
      let answered = false;
      sent.on("error", (error) => end(lost(error), !answered && sent.reusedSocket && STALE.has(error.code)));
      sent.on("close", () => answered || end(new Lost("the connection was closed")));
      sent.on("response", async (response) => {
        answered = true;
        response.on("error", () => {});
        end(await read(response));
      });
      sent.end(request.body);
    });
  }

  #begun(request) {
    const where = this.#address;
    const headers = { "User-Agent": AGENT, Accept: JSON_TYPE, ...request.headers };
    if (request.token) headers.Authorization = `Bearer ${request.token}`;
    if (request.method !== "GET" && request.method !== "DELETE") {
      headers["Content-Type"] = request.contentType;
      headers["Content-Length"] = request.body?.length ?? 0;
    }
    return (where.secure ? https : http).request({
      agent: this.#agent,
      host: where.host,
      port: where.port,
      method: request.method,
      path: where.prefix + request.path,
      headers,
      timeout: request.timeoutSeconds * 1000,
      maxHeaderSize: LONGEST_HEADERS,
      signal: request.signal,
    });
  }
}

async function whole(response) {
  const chunks = [];
  try {
    for await (const chunk of response) chunks.push(chunk);
  } catch (error) {
    return lost(error);
  }
  if (!response.complete) return new Lost("the answer was cut off");
  return new Answer(response.statusCode, response.headers, Buffer.concat(chunks));
}

function lost(error) {
  return new Lost(error.message || error.code || error.name);
}
