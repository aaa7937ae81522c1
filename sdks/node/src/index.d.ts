// The types of the public names. Written by hand; a test compares the names with what there is.

/** JSON as it is read: integers beyond 2^53-1 are bigint, numbers that would be infinite are JsonNumber. */
export type Json = null | boolean | number | bigint | string | JsonNumber | Json[] | { [name: string]: Json };
export type Level = "debug" | "info" | "warn";
export type Log = (level: Level, text: string) => void;
export type Tls = import("node:https").AgentOptions;

export class JsonNumber {
  constructor(text: string);
  readonly text: string;
  valueOf(): number;
  toString(): string;
}

export class HallError extends Error {}
export class Unauthorized extends HallError {}
export class Refused extends HallError {
  readonly status: number | null;
  readonly code: string | null;
}
export class Superseded extends HallError {}
export class Unreachable extends HallError {}
export class CallPending extends HallError {
  readonly pending: PendingCall;
  readonly requestId: string;
}
export class CallFailed extends Error {
  readonly status: "failed" | "error" | "cancelled" | "expired";
  readonly errorText: string | null;
  readonly requestId: string;
}
export class Release extends Error {
  constructor(reason?: string);
}
export class Fail extends Error {
  constructor(text: string);
}
export class Cancelled extends Error {}
export class Unsendable extends Error {}

export interface RunOptions {
  /** Catch SIGTERM and SIGINT (default true). */
  signals?: boolean;
  /** Ends the run as SIGTERM would. */
  signal?: AbortSignal;
}

export interface ServiceWorkerOptions {
  server?: string;
  service: string;
  secret?: string;
  workerId?: string;
  concurrency?: number;
  lazy?: boolean;
  probeHost?: string;
  probePort?: number;
  ip?: string;
  version?: string;
  tags?: Record<string, string>;
  platform?: string;
  supportedExecutors?: readonly string[];
  interactiveDesktop?: boolean;
  browserRuntime?: boolean;
  heartbeatSeconds?: number | null;
  holdSeconds?: number;
  answerSeconds?: number;
  graceSeconds?: number | null;
  parseFloat?: (text: string) => unknown;
  tls?: Tls;
  log?: Log;
}

export type Kind = "any" | "integer" | "number" | "string" | "boolean" | "array" | "object";
export type Declaration = Record<string, Kind | `${Kind}?`>;
export type Handler<Params> = (params: Params, call: Call) => unknown;

export class ServiceWorker implements AsyncDisposable {
  constructor(options: ServiceWorkerOptions);
  readonly workerId: string;
  readonly settings: Readonly<Record<string, string>>;
  method<Params = any>(name: string, handler: Handler<Params>): this;
  method<Params>(name: string, options: { params: (params: Json) => Params }, handler: Handler<Params>): this;
  method<Params = any>(name: string, options: { params?: Declaration | null }, handler: Handler<Params>): this;
  run(options?: RunOptions): Promise<void>;
  stop(): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export class Call {
  private constructor();
  readonly service: string;
  readonly method: string;
  readonly requestId: string;
  readonly members: Readonly<Record<string, Json>>;
  readonly signal: AbortSignal;
  readonly deadline: Date | null;
  readonly traceparent: string | null;
  feedback(content: unknown, options?: { type?: string | number; persist?: boolean }): void;
  progress(percent: number, text?: string): void;
}

export interface PlanWorkerOptions {
  server?: string;
  plan: string;
  bootstrapToken?: string;
  token?: string;
  workerId?: string | null;
  concurrency?: number;
  heartbeatSeconds?: number;
  holdSeconds?: number;
  answerSeconds?: number;
  graceSeconds?: number;
  hostname?: string;
  tls?: Tls;
  log?: Log;
}

export interface PlanRunOptions extends RunOptions {
  once?: boolean;
  untilEmpty?: boolean;
}

export class PlanWorker implements AsyncDisposable {
  constructor(options: PlanWorkerOptions);
  run(handler: (task: Task) => unknown, options?: PlanRunOptions): Promise<void>;
  stop(): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export class Task {
  private constructor();
  readonly id: string;
  readonly planId: string;
  readonly version: number;
  readonly members: Readonly<Record<string, Json>>;
  readonly signal: AbortSignal;
  readonly status: string;
  readonly priority: string;
  readonly description: string;
  readonly dependencies: string[];
  readonly keyFiles: string[];
  readonly acceptanceCriteria: string[];
  readonly testSteps: string[];
  readonly prdRequirement: string;
  toString(): string;
}

export interface ClientOptions {
  server?: string;
  clientId?: string;
  secret?: string;
  token?: string;
  patienceSeconds?: number;
  answerSeconds?: number;
  parseFloat?: (text: string) => unknown;
  tls?: Tls;
}

export interface Cancellable {
  /** Stop waiting. The call itself lives on; `cancel()` ends it. */
  signal?: AbortSignal;
}

export interface StartOptions extends Cancellable {
  deadlineSeconds?: number;
  priority?: number;
  retries?: number;
  dispatch?: "exclusive" | "race" | "broadcast";
  requires?: Record<string, unknown>;
  ifNoWorker?: "queue" | "fail";
  runLimitSeconds?: number;
  traceparent?: string;
  idempotencyKey?: string;
}

export interface CallOptions extends StartOptions {
  timeoutSeconds?: number;
}

export class Client implements AsyncDisposable {
  constructor(options?: ClientOptions);
  call<Result = any>(method: string, params?: unknown, options?: CallOptions): Promise<Result>;
  start(method: string, params?: unknown, options?: StartOptions): Promise<PendingCall>;
  pending(requestId: string): PendingCall;
  methods(options?: Cancellable): Promise<{ method: string; workers: number; live_workers: number }[]>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export class PendingCall implements AsyncIterable<Feedback> {
  private constructor();
  readonly requestId: string;
  readonly ended: Outcome | null;
  result<Result = any>(options?: Cancellable & { waitSeconds?: number | null }): Promise<Result>;
  outcome(options?: Cancellable & { waitSeconds?: number }): Promise<Outcome | null>;
  status(options?: Cancellable): Promise<string>;
  cancel(options?: Cancellable): Promise<string>;
  feedback(options?: Cancellable): AsyncGenerator<Feedback, void, void>;
  [Symbol.asyncIterator](): AsyncGenerator<Feedback, void, void>;
}

export class Outcome {
  private constructor();
  readonly status: string;
  readonly requestId: string;
  readonly errorText: string | null;
  readonly members: Readonly<Record<string, Json>>;
  result<Result = any>(): Result;
}

export class Feedback {
  private constructor();
  readonly number: number;
  readonly type: string | number;
  readonly content: Json;
  readonly percent: number | null;
  readonly text: string;
  readonly members: Readonly<Record<string, Json>>;
}
