// Worker SDK and client for Hiring Hall, over plain HTTP, without dependencies.

export {
  CallFailed,
  CallPending,
  Cancelled,
  Fail,
  HallError,
  Refused,
  Release,
  Superseded,
  Unauthorized,
  Unreachable,
  Unsendable,
} from "./errors.js";
export { JsonNumber } from "./json.js";
export { PlanWorker } from "./plans/worker.js";
export { Task } from "./plans/task.js";
export { Call } from "./services/call.js";
export { ServiceWorker } from "./services/worker.js";
export { Client } from "./client/client.js";
export { Feedback, Outcome } from "./client/outcome.js";
export { PendingCall } from "./client/pending.js";
