// Against a server that really runs: EGOTOOLS_URL says where. What a server does not do on demand, a small one here does.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Client, EgotoolsError, schemaOf } from "egotools";

const url = process.env.EGOTOOLS_URL;
assert.ok(url, "set EGOTOOLS_URL to the address of an egotools REST server");
const client = new Client(url, { timeoutMs: 30_000 });

/** A server on a free port that gives its answers in turn; an answer is (response) => void. */
async function scripted(answers, use) {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url, headers: request.headers });
    answers[Math.min(seen.length, answers.length) - 1](response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${server.address().port}/`, seen);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
const json = (status, body, headers = {}) => (response) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
const busy = json(429, { type: "about:blank", title: "Too Many Requests", status: 429, detail: "busy", reason: "OVERLOADED" }, { "retry-after": "0" });

test("finds tools with their schemas", async () => {
  const answer = await client.retrieve({ query: "find a customer", k: 2, schema_format: "SCHEMA_FORMAT_OPENAI" });
  assert.equal(answer.tools.length, 2);
  assert.equal(schemaOf(answer.tools[0]).function.name, answer.tools[0].call_name);
  const { tool } = await client.getTool(answer.tools[0].id);
  assert.equal(tool.id, answer.tools[0].id);
  assert.ok((await client.catalog({ page_size: 1 })).tool_count > 1);
  assert.ok((await client.neighbors({ node: `tool:${tool.id}`, limit: 5 })).total_degree >= 0);
  assert.ok((await client.plan({ goals: [tool.id] })).steps.length >= 1);
  assert.ok(answer.request_id, "this server keeps no outcomes: start one as the README says");
  await client.reportOutcome({ request_id: answer.request_id, used: [tool.id] });
});

test("serves each need, and plans its calls", async () => {
  const needs = ["find a customer", "create a sales order"];
  const answer = await client.retrieve({ needs, k: 5 });
  assert.deepEqual(answer.need_results.map((each) => each.need), needs);
  assert.deepEqual(answer.tools.flatMap((tool) => tool.needs).filter((need) => need > 1), []);
  const best = answer.need_results.map((each) => answer.tools.find((tool) => tool.id === each.tool));
  best.forEach((tool, need) => assert.ok(tool.needs.includes(need) && !tool.completes));
  const plan = await client.plan({ needs });
  assert.deepEqual(plan.need_results, answer.need_results);
  assert.ok(best.every((tool) => plan.steps.some((step) => step.tool_id === tool.id)));
  await assert.rejects(client.retrieve({ needs: ["17"] }), { status: 400 });
});

test("gives each result of several requests", async () => {
  const requests = [{ query: "find a customer" }, { query: "…" }];
  const batch = await client.retrieveBatch(requests);
  assert.ok(batch[0].response && batch[1].error);
});

test("says what is wrong", async () => {
  await assert.rejects(client.retrieve({ query: "a", limit: 3 }), (error) => {
    assert.ok(error instanceof EgotoolsError);
    assert.deepEqual([error.status, error.problem.subject], [400, "limit"]);
    return true;
  });
  await assert.rejects(client.getTool("no/such tool?"), { status: 404 });
});

test("tries again when it is told to, and not otherwise", async () => {
  await scripted([busy, (response) => response.destroy(), json(200, { steps: [] })], async (base, seen) => {
    assert.deepEqual(await new Client(base, { token: () => "t", tenant: "acme" }).plan({ goals: ["a"] }), { steps: [] });
    assert.equal(seen.length, 3);
    assert.deepEqual([seen[2].headers.authorization, seen[2].headers["egotools-tenant"]], ["Bearer t", "acme"]);
  });
  await scripted([busy], async (base, seen) => {
    await assert.rejects(new Client(base, { attempts: 2 }).catalog(), { status: 429 });
    assert.equal(seen.length, 2);
  });
  await scripted([json(500, {})], async (base, seen) => {
    await assert.rejects(new Client(base).catalog(), { status: 500 });
    assert.equal(seen.length, 1);
  });
});

test("gives an attempt up in its time, and ends when the caller ends it", async () => {
  await scripted([() => {}, json(200, { tool_ids: [] })], async (base, seen) => {
    assert.deepEqual(await new Client(base, { timeoutMs: 100 }).catalog(), { tool_ids: [] });
    assert.equal(seen.length, 2);
  });
  await scripted([() => {}], async (base, seen) => {
    await assert.rejects(new Client(base).catalog({}, { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
    assert.equal(seen.length, 1);
  });
});
