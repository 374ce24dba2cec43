// Portico's client. client.d.ts says what each of these is, README.md how to begin.

export { Problem } from "./client/api.js";
export { rawMember, spell } from "./client/json.js";
export { emptyView, reduce } from "./client/reduce.js";
export { Portico, Session } from "./client/session.js";
export { frames } from "./client/stream.js";
