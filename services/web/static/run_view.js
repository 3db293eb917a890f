// The right side: the query graph of a request, and its execution as the events of the run come in.

import { byId, count, cut, definitions, element, showProblem, worded } from "./dom.js";
import { GraphView } from "./graph_view.js";
import { startRun } from "./live_run.js";

const MOST_LINES = 500;
const TITLES = ["title", "subject", "name", "url", "value", "id"];
const SILENT = new Set([...TITLES, "source_id", "own_id"]);
const LEGEND = [["return", "what is asked for"], ["now", "being resolved"], ["lost", "could not be resolved"]];

export class RunView {
  constructor() {
    this.graph = new GraphView(byId("run-graph"), { label: "Query graph", open: (node) => this.#results(node.id), legend: LEGEND });
    this.run = null;
    byId("cancel").addEventListener("click", () => {
      this.run?.cancel();
      this.onCancelled();
    });
  }

  ask(query, domain) {
    this.#reset();
    byId("run-status").textContent = "Reading the request …";
    byId("cancel").hidden = false;
    byId("log-box").hidden = false;
    const hear = (event) => {
      this[`on${event.event}`]?.(event);
      this.#log(event);
    };
    this.run = startRun("/api/runs", { query, domain }, { hear, failed: (error) => this.#failed(error) });
  }

  #reset() {
    this.run?.cancel(); // nobody looks at it any more
    Object.assign(this, { answered: false, leftOut: "", vars: new Map(), drawn: Promise.resolve() });
    this.graph.clear();
    for (const id of ["run-notes", "run-graph-box", "results", "log-box", "cancel"]) byId(id).hidden = true;
    showProblem(byId("run-problem"), null);
    byId("run-status").className = "quiet";
    byId("run-reading").textContent = "";
    byId("log").replaceChildren();
    byId("calls").replaceChildren();
  }

  onGraphMade({ graph, notes, left_out }) {
    const { nodes, links } = layered(graph);
    const filters = (name) => graph.constraints.filter((each) => each.kind === "filter" && each.var === name);
    for (const [name, kind] of Object.entries(graph.vars)) {
      const size = element("td", {}, "–");
      const words = filters(name).map((each) => `${each.field} ${each.op} ${each.value}`).join(", ");
      const open = element("button", { type: "button", class: "link", onclick: () => this.#results(name) }, name);
      const row = element("tr", {}, element("th", { scope: "row" }, open), element("td", {}, kind), element("td", {}, words), size);
      this.vars.set(name, { kind, row, size, words, sizes: [], first: [], returned: name === graph.return_var });
      nodes.find((node) => node.id === name).note = words;
    }
    byId("variables").tBodies[0].replaceChildren(...[...this.vars.values()].map(({ row }) => row));
    byId("run-graph-box").hidden = false;
    byId("run-reading").textContent = `The request is read as: ${graph.action} ${graph.return_mode} ${graph.return_var} (${graph.vars[graph.return_var]}).`;
    this.#note(notes ?? []);
    this.leftOut = (left_out ?? []).join(" ");
    this.drawn = this.graph.show(nodes, links);
  }

  // What was assumed or left out, and how dates were read: it stays above the answer.
  #note(notes) {
    byId("run-notes").replaceChildren(element("strong", {}, "How the request was read:"), element("ul", {}, ...notes.map((each) => element("li", {}, each))));
    byId("run-notes").hidden = !notes.length;
  }

  onVariableEntered({ var: name }) {
    for (const [own, { row }] of this.vars) row.classList.toggle("now", own === name);
    this.drawn.then(() => this.graph.current(name));
    byId("run-status").textContent = `Resolving ${name} (${this.vars.get(name)?.kind ?? ""}) …`;
  }

  onSetResolved({ var: name, size, first }) {
    this.#size(name, size, first);
  }

  onIntersected({ var: name, after, first }) {
    this.#size(name, after, first);
  }

  onFiltered({ var: name, after, first }) {
    this.#size(name, after, first);
  }

  onEdgeTraversed({ start, edge, end }) {
    this.drawn.then(() => {
      this.graph.traverse(`${start} ${edge} ${end}`);
      this.graph.traverse(`${end} ${edge} ${start}`);
    });
  }

  onPruned({ sizes, first }) {
    for (const [name, size] of Object.entries(sizes)) this.#size(name, size, first?.[name]);
  }

  onBranchFailed({ missing }) {
    this.drawn.then(() => this.graph.mark(missing.var, "lost"));
  }

  onAnswered({ answer, count: total, sizes, first, missing, exact }) {
    this.#over();
    Object.assign(this, { answered: true, answer, total: total ?? answer.length });
    for (const [name, size] of Object.entries(sizes)) this.#size(name, size, first[name]);
    const returned = [...this.vars].find(([, { returned: is }]) => is)?.[0] ?? "";
    const found = total === null || total === undefined ? "Nothing could be resolved." : total ? `${count(total)} found.` : `0 found: ${this.#reason(missing)}`;
    const inexact = exact === false ? " Some may not be part of an answer." : "";
    const partial = missing?.length && total ? " The answer is partial." : "";
    const unasked = this.leftOut && !total ? ` This is no answer to the whole request: ${this.leftOut}` : "";
    byId("run-status").textContent = `${found}${partial}${inexact}${unasked}`;
    byId("run-status").className = "outcome";
    if (missing?.length) {
      showProblem(byId("run-problem"), { message: "The answer is without:" });
      byId("run-problem").append(element("ul", {}, ...missing.map((each) => element("li", {}, `${each.constraints.join(", ") || each.var}: ${each.reason}`))));
    }
    if (answer.length) this.#results(returned, true);
  }

  // Why nothing is an answer: what could not be resolved, else the first variable that was left without a candidate.
  #reason(missing) {
    if (missing?.length) return "a part of the request could not be resolved.";
    const [name, own] = [...this.vars].find(([, { sizes }]) => sizes.length && !sizes[0]) ?? [...this.vars].find(([, { sizes }]) => sizes.at(-1) === 0) ?? [];
    if (!own) return "nothing meets all conditions.";
    return own.words && !own.sizes[0] ? `no ${own.kind} has ${own.words}.` : `no ${own.kind} (${name}) meets all conditions.`;
  }

  // The calls of the run in their order: the main picture.
  onCalled({ call }) {
    const came = element("span", { class: call.error ? "fault" : "quiet" }, ` ${call.error || cameBack(call)}, ${call.ms.toFixed(0)} ms`);
    byId("calls").append(element("li", {}, element("code", {}, call.what), came));
  }

  onFailed({ error }) {
    this.#failed(error);
  }

  onCancelled() {
    this.#over();
    byId("run-status").textContent = "Cancelled.";
  }

  #failed(error) {
    this.#over();
    byId("run-status").textContent = "The run has failed.";
    showProblem(byId("run-problem"), error);
  }

  #over() {
    byId("cancel").hidden = true;
    for (const { row } of this.vars.values()) row.classList.remove("now");
    this.drawn.then(() => this.graph.current(null));
  }

  // Candidates only change by being narrowed down, so the row shows every step.
  #size(name, size, first) {
    const own = this.vars.get(name);
    if (!own) return;
    own.first = first ?? own.first;
    if (own.sizes.at(-1) !== size) own.sizes.push(size);
    own.size.textContent = own.sizes.slice(-6).map(count).join(" → ");
    const only = size === 1 && own.first.length === 1 ? cut(titleOf(own.first[0]), 21) : "";
    this.drawn.then(() => this.graph.describe(name, only && only !== name ? `1: ${only}` : count(size), "candidates", radiusOf(size)));
  }

  #results(name, ofAnswer = false) {
    const own = this.vars.get(name), box = byId("results-list");
    if (!own) return;
    this.drawn.then(() => this.graph.select(name));
    const list = element("ol", { class: "plain" }), title = ofAnswer ? "Answer" : `Results of ${name} (${own.kind})`;
    byId("results").hidden = false;
    byId("results-title").textContent = title;
    box.replaceChildren(list);
    if (!this.answered) {
      const size = own.sizes.at(-1) ?? 0, shown = own.first.length;
      const rest = size > shown ? ` ${shown ? `The first ${count(shown)} are` : "They are"} listed${shown ? "" : " when the run has ended"}.` : "";
      list.before(element("p", { class: "quiet" }, `${own.sizes.length ? count(size) : "No"} candidates so far.${rest}`));
      list.append(...own.first.map(entityItem));
      return;
    }
    const found = ofAnswer ? this.answer : own.first;
    list.append(...found.map(entityItem));
    const total = ofAnswer ? this.total : own.sizes.at(-1);
    byId("results-title").textContent = `${title}: ${count(total)}${total > found.length ? `, of which the first ${count(found.length)} are listed` : ""}`;
  }

  #log(event) {
    const line = element("li", {}, logLine(event));
    if (event.event === "Failed" || event.event === "BranchFailed" || event.call?.error) line.className = "wrong";
    const list = byId("log");
    if (list.childElementCount >= MOST_LINES) list.firstElementChild.remove();
    list.append(line);
    list.scrollTop = list.scrollHeight;
  }
}

// The more candidates, the larger the node, and never beyond its place.
const radiusOf = (size) => Math.min(16, 5 + 3 * Math.log10(size + 1));

function titleOf({ id, fields }) {
  const key = TITLES.find((name) => typeof fields[name] === "string" && fields[name]);
  return cut(key ? fields[key] : id, 160);
}

function entityItem(entity) {
  const pairs = Object.entries(entity.fields).map(([name, value]) => [name, cut(worded(value) ?? "", 2000)]);
  const others = pairs.filter(([name, words]) => !SILENT.has(name) && words && words !== "null" && words !== titleOf(entity)).slice(0, 2);
  const aside = element("span", { class: "quiet aside" }, ` ${others.map(([, words]) => cut(words, 40)).join(" · ")}`);
  return element("li", {}, element("details", {}, element("summary", {}, titleOf(entity), aside), definitions([["identifier", entity.id], ...pairs])));
}

function cameBack({ rows }) {
  return rows === 1 ? "1 row" : `${count(rows)} rows`;
}

function logLine(event) {
  switch (event.event) {
    case "GraphMade": return ["query graph made.", ...(event.notes ?? [])].join(" ");
    case "Said": return event.text;
    case "VariableEntered": return `next: ${event.var}`;
    case "SetResolved": return `${event.var}: ${count(event.size)} candidates`;
    case "EdgeTraversed": return `${event.start} –${event.edge}– ${event.end}: ${count(event.sources)} sources, ${count(event.pairs)} pairs`;
    case "Intersected": return `${event.var}: ${count(event.before)} ∩ ${count(event.other)} = ${count(event.after)}`;
    case "Filtered": return `${event.var}: ${count(event.before)} filtered to ${count(event.after)}`;
    case "Pruned": return `in complete answers: ${Object.entries(event.sizes).map(([name, size]) => `${name} ${count(size)}`).join(", ")}`;
    case "Called": return `${event.call.kind} ${event.call.what}: ${event.call.error || cameBack(event.call)} (${event.call.ms.toFixed(1)} ms)`;
    case "BranchFailed": return `missing: ${event.missing.reason}`;
    case "Done": return `${count(event.calls)} calls, ${count(event.rows)} rows`;
    case "Failed": return `failed: ${event.error.message}`;
    default: {
      const { event: name, answer, execution, ...rest } = event;
      return name === "Answered" || name === "Cancelled" ? name.toLowerCase() : cut(`${name} ${JSON.stringify(rest)}`, 400);
    }
  }
}

// The places of a query graph: the return variable at the right, each other one further left by its distance in edges.
function layered(graph) {
  const edges = graph.constraints.filter((each) => each.kind === "edge");
  const far = new Map([[graph.return_var, 0]]);
  for (const name of far.keys()) {
    for (const { from, to } of edges) {
      const other = from === name ? to : to === name ? from : null;
      if (other !== null && !far.has(other)) far.set(other, far.get(name) + 1);
    }
  }
  const deepest = Math.max(...far.values());
  const rows = new Map();
  for (const [name, depth] of far) rows.set(depth, [...(rows.get(depth) ?? []), name]);
  const nodes = Object.entries(graph.vars).map(([name, kind]) => {
    const depth = far.get(name) ?? deepest + 1, row = rows.get(depth) ?? [name];
    const place = row.indexOf(name) - (row.length - 1) / 2;
    return {
      id: name, label: `${name}: ${kind}`, kind: name === graph.return_var ? "return always" : "always",
      x: (deepest - depth) * 128, y: place * 105, detail: "", radius: 8,
    };
  });
  const links = edges.map(({ from, edge, to }) => ({ id: `${from} ${edge} ${to}`, source: from, target: to, label: edge, path: "arrow" }));
  return { nodes, links };
}
