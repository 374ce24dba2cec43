// Portico's client: see client.d.ts for what each of these is, and README.md for how to begin.

export { frames } from "./client/frames.js";
export { Problem } from "./client/api.js";
export { Portico } from "./client/portico.js";
export { rawMember, spell } from "./client/json.js";
export { emptyView, reduce } from "./client/reduce.js";
export { Session } from "./client/session.js";
