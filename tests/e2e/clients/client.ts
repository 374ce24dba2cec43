// What a service in TypeScript would write, on the types that openapi-typescript makes. It only compiles where the document says what is
// optional, and what each answer is.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

declare const process: { argv: string[] };

const [base, message] = process.argv.slice(2);
const api = createClient<paths>({ baseUrl: base });

type Schemas = components["schemas"];

// nothing but what is to change: absent is not null
const title: Schemas["ChangeSession"] = { title: "Boats" };
const answer: Schemas["AnswerQuestions"] = { answers: [{ id: "q1", selected: ["Canoe"] }] };
const declined: Schemas["AnswerQuestions"] = { declined: true };

/** The types of a session's records: the union is told apart by its type. */
function told(records: Schemas["Record"][]): string[] {
  return records.map((record) => (record.type === "done" ? `done ${record.reason}` : record.type));
}

async function main() {
  const made = await api.POST("/v1/sessions", { body: { metadata: { customer: "7" } } });
  if (!made.data) throw new Error(made.error.code);
  const path = { id: made.data.id };
  const changed = await api.PATCH("/v1/sessions/{id}", { params: { path }, body: title });
  const posted = await api.POST("/v1/sessions/{id}/messages", {
    params: { path, header: { Prefer: "wait=30" } },
    body: { text: message },
  });
  if (!posted.data || typeof posted.data === "string" || !("answer" in posted.data)) throw new Error("no end of the turn");
  const records = await api.GET("/v1/sessions/{id}/records", { params: { path } });
  const approvals = await api.GET("/v1/approvals", { params: { query: { status: "pending" } } });
  const wrong = await api.POST("/v1/sessions/{id}/questions/{question_id}", {
    params: { path: { ...path, question_id: "qst_none" } },
    body: declined,
  });
  const said = {
    metadata: changed.data?.metadata,
    reason: posted.data.reason,
    records: told(records.data?.data ?? []),
    approvals: approvals.data?.data.length,
    refused: wrong.error?.code,
    sent: answer,
  };
  console.log(JSON.stringify(said));
}

void main();
