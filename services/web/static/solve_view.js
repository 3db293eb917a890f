// Recorded runs of `egotools solve`: a slider over the steps, the graph after each, and what was decided, asked, called and computed in it.

import { errorOf, get } from "./api.js";
import { tableOf } from "./chart_view.js";
import { byId, count, cut, definitions, element, showProblem, worded } from "./dom.js";
import { GraphView, spiral } from "./graph_view.js";

const AGAIN_MS = 2_000; // after which a run that has not ended is read again
const MOST_ROWS = 100;
const NAMES = ["name", "title", "label", "id", "value", "text"];
const LEGEND = [["entry", "new in this step"], ["other", "there before"]];

export class SolveView {
  constructor() {
    this.graph = new GraphView(byId("solve-graph"), { label: "Graph of the task", open: (node) => this.#node(node), legend: LEGEND });
    this.turn = 0;
    byId("solve-step").addEventListener("input", () => this.#show(Number(byId("solve-step").value)));
  }

  async load() {
    try {
      const { runs } = await get("/api/solves");
      byId("solves-status").textContent = runs.length ? `${many(runs.length, "run")}, the newest first.` : "The folder has no runs yet.";
      byId("solves").replaceChildren(...runs.map((run) => this.#listed(run)));
    } catch (failure) {
      showProblem(byId("solve-problem"), errorOf(failure));
    }
  }

  #listed({ name, question, ended, problem, outcome, written }) {
    if (problem) return element("li", {}, `${name}: ${problem}`);
    const open = element("button", { type: "button", class: "link", onclick: () => this.open(name) }, cut(question, 160));
    return element("li", {}, open, element("span", { class: "quiet aside" }, ` ${name}, ${ended ? outcome : "not ended"}, ${written}`));
  }

  async open(name) {
    this.turn += 1;
    Object.assign(this, { name, run: null, steps: [], places: new Map(), states: new Map(), at: 0 });
    clearTimeout(this.timer);
    this.graph.clear();
    byId("solve").hidden = byId("solve-node").hidden = byId("solve-none").hidden = true;
    await this.#read(this.turn);
  }

  // Reads the run; one that has not ended is read again, and the slider stays where it is, or at the end.
  async #read(turn) {
    try {
      const run = await get(`/api/solves/${encodeURIComponent(this.name)}`);
      if (turn !== this.turn) return;
      const grown = run.events.length !== this.run?.events.length || run.ended !== this.run?.ended;
      const atEnd = this.at >= this.steps.length - 1;
      this.run = run;
      if (grown) {
        this.steps = stepsOf(run.events);
        this.#head();
        this.#show(atEnd ? this.steps.length - 1 : this.at);
      }
      showProblem(byId("solve-problem"), null);
      if (!run.ended) this.timer = setTimeout(() => this.#read(turn), AGAIN_MS);
    } catch (failure) {
      if (turn !== this.turn) return;
      const error = errorOf(failure);
      showProblem(byId("solve-problem"), error);
      if (this.run && !error.code) this.timer = setTimeout(() => this.#read(turn), AGAIN_MS); // the server may come back
    }
  }

  #head() {
    const { run, steps } = this, end = run.events.findLast((each) => each.event === "Ended");
    byId("solve").hidden = false;
    byId("solve-title").textContent = cut(run.question, 2_000);
    byId("solve-outcome").textContent = end ? `${end.answer || "No answer"} (${end.outcome})` : run.ended ? "Ended." : "The run has not ended.";
    byId("solve-missing").textContent = end?.missing ? `Missing: ${end.missing}` : "";
    byId("solve-about").replaceChildren(definitions([
      ["files", run.files.join(", ") || "none"],
      ["models", Object.entries(run.models).map(([role, model]) => `${role}: ${model}`).join(", ") || "none: rules"],
      ["graph", run.language],
      ...Object.entries(run.settings).map(([name, value]) => [name.replaceAll("_", " "), String(value)]),
    ]));
    fill("solve-cost", costs(run.events));
    byId("solve-step").max = String(steps.length - 1);
    byId("solve-step").disabled = steps.length < 2;
  }

  async #show(at) {
    const step = this.steps[at], turn = this.turn;
    this.at = at;
    byId("solve-step").value = String(at);
    const words = `Step ${at + 1} of ${this.steps.length}: ${step.title}`;
    byId("solve-step").setAttribute("aria-valuetext", words);
    byId("solve-events").replaceChildren(...step.events.map(shown).filter(Boolean));
    byId("solve-node").hidden = true;
    try {
      const [state, before] = await Promise.all([this.#state(step.graph), this.#state(this.steps[at - 1]?.graph ?? null)]);
      if (turn !== this.turn || at !== this.at) return;
      byId("solve-step-words").textContent = `${words}, ${many(state.nodes.length, "node")}, ${many(state.edges.length, "edge")}`;
      await this.#draw(state, before);
    } catch (failure) {
      if (turn === this.turn) showProblem(byId("solve-problem"), errorOf(failure));
    }
  }

  // The graph after an event; every state is asked for once.
  #state(n) {
    if (n === null) return Promise.resolve({ nodes: [], edges: [] });
    if (!this.states.has(n)) {
      const asked = get(`/api/solves/${encodeURIComponent(this.name)}/state`, { event: n }), { states } = this;
      states.set(n, asked);
      asked.catch(() => states.delete(n));
    }
    return this.states.get(n);
  }

  // A node that was drawn in another step stands where it stood. Ids mean nothing across states: label and main value tell nodes apart.
  async #draw(state, before) {
    let fresh = 0;
    const known = new Set(keyed(before.nodes).map(({ key }) => key));
    const nodes = keyed(state.nodes).map(({ node, key }) => {
      const place = this.places.get(key), fixed = place ? { x: place.x, y: place.y, fx: place.x, fy: place.y } : { toward: spiral(this.places.size + fresh++) };
      return { id: node.id, key, label: titleOf(node), detail: node.label, kind: known.has(key) ? "other" : "entry", properties: node.properties, ...fixed };
    });
    const links = state.edges.map((edge, nth) => ({ id: `e${nth}`, source: edge.source, target: edge.target, label: edge.type, path: "arrow" }));
    if (!nodes.length) return this.graph.clear();
    await this.graph.show(nodes, links);
    for (const { node } of this.graph.nodes.values()) this.places.set(node.key, node);
  }

  #node(node) {
    this.graph.select(node.id);
    byId("solve-node-title").textContent = `${node.detail}: ${node.label}`;
    byId("solve-node-properties").replaceChildren(definitions(Object.entries(node.properties).map(([name, value]) => [name, worded(value)])));
    byId("solve-node").hidden = false;
  }
}

const many = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

function titleOf({ label, properties }) {
  const name = NAMES.find((each) => properties[each] !== undefined) ?? Object.keys(properties)[0];
  return name === undefined ? label : cut(worded(properties[name]), 60);
}

// Nodes with what tells them apart; equal ones are numbered.
function keyed(nodes) {
  const seen = new Map();
  return nodes.map((node) => {
    const own = JSON.stringify([node.label, titleOf(node)]), nth = seen.get(own) ?? 0;
    seen.set(own, nth + 1);
    return { node, key: `${own} ${nth}` };
  });
}

// Steps: one for each iteration, and the beginning where it has a graph. A model is asked before what it is asked for, so its calls belong
// to the event after them; what follows the last iteration belongs to it.
function stepsOf(events) {
  const steps = [];
  let waiting = [], graph = null;
  events.forEach((event, n) => {
    if (event.event === "ModelAsked") {
      waiting.push(event);
      return;
    }
    const iteration = event.iteration ?? steps.at(-1)?.iteration ?? 0;
    if (!steps.length || iteration !== steps.at(-1).iteration) steps.push({ iteration, title: "", events: [], graph });
    const step = steps.at(-1);
    step.events.push(...waiting, event);
    waiting = [];
    if (event.event === "GraphChanged") step.graph = graph = n;
  });
  if (!steps.length) steps.push({ iteration: 0, title: "", events: [], graph });
  steps.at(-1).events.push(...waiting);
  for (const step of steps) {
    const decided = step.events.find((each) => each.event === "Decided");
    const did = decided ? { enhance: "the graph is enlarged", solve: "the graph is asked" }[decided.decision] ?? decided.decision : "";
    step.title = step.iteration ? [`iteration ${step.iteration}`, did].filter(Boolean).join(", ") : "the beginning";
  }
  return steps;
}

// Calls of models, by what they were asked for.
function costs(events) {
  const rows = new Map();
  for (const { event, step, executor, prompt_tokens: read, completion_tokens: written, usd, seconds = 0 } of events) {
    if (event !== "ModelAsked") continue;
    for (const name of [`${step} (${executor})`, "all"]) {
      const row = rows.get(name) ?? [0, 0, 0, 0, 0];
      rows.set(name, [row[0] + 1, row[1] + read, row[2] + written, row[3] + usd, row[4] + seconds]);
    }
  }
  const all = rows.get("all");
  rows.delete("all");
  const cells = ([name, [calls, read, written, usd, seconds]]) => [name, count(calls), count(read), count(written), usd.toFixed(4), seconds.toFixed(1)];
  return all ? [...rows, ["all", all]].map(cells) : [];
}

function fill(id, rows) {
  byId(id).hidden = !rows.length;
  const cells = ([name, ...others]) => element("tr", {}, element("th", { scope: "row" }, name), ...others.map((each) => element("td", {}, each)));
  byId(id).tBodies[0].replaceChildren(...rows.map(cells));
}

const part = (title, ...children) => element("section", { class: "card" }, element("h4", {}, title), ...children);
const code = (text) => element("pre", { class: "mono" }, text);
const fault = (text) => (text ? element("p", { class: "fault" }, `Fault: ${text}`) : "");
const folded = (title, ...children) => element("details", {}, element("summary", {}, title), ...children);

function vote(each) {
  if (each === null) return "unusable";
  return each.kind === "Retrieve" ? ["RETRIEVE ", code(each.query)] : `INSERT: ${each.reason}`;
}

function rowsOf({ columns, rows, cut: more }) {
  const shown = { columns: columns.map((name) => ({ name })), rows: rows.slice(0, MOST_ROWS) };
  const left = more || rows.length > MOST_ROWS ? element("p", { class: "quiet" }, "There are more rows.") : "";
  return [tableOf(shown, { caption: many(rows.length, "row"), say: worded }), left];
}

const operation = ({ kind, ...rest }) => element("li", {}, `${kind} `, element("code", {}, cut(rest.text ?? JSON.stringify(rest), 2_000)));

// An event as a part of its step; null for what is shown elsewhere. All words are set as text, whatever stands in them.
function shown(event) {
  switch (event.event) {
    case "Decided":
      return part(`Votes: ${event.decision}`, element("ol", { class: "votes" }, ...event.votes.map((each) => element("li", {}, ...[vote(each)].flat()))),
        event.judged ? element("p", {}, "Judged: ", ...[vote(event.judged)].flat()) : "");
    case "Missing": return part("What is missing", element("p", {}, event.text));
    case "ToolsFound": return part("Tools found", element("ol", {}, ...event.tool_ids.map((id) => element("li", {}, id))));
    case "CallMade": {
      const { call, seconds } = event;
      const note = element("p", { class: "quiet" }, "What the tool answered is data, not an instruction.");
      return part(`Call of ${call.tool_id}: ${call.status}${seconds === undefined ? "" : ` (${seconds.toFixed(2)} s)`}`,
        definitions(Object.entries(call.arguments).map(([name, value]) => [name, worded(value)])),
        folded("Answer", note, code(call.text || worded(call.body) || "")));
    }
    case "Written":
      return part(`Written: ${many(event.operations.length, "operation")}`, folded("Operations", element("ol", {}, ...event.operations.map(operation))),
        ...event.dropped.map(({ operation: own, fault: why }) => element("div", { class: "fault" }, "Dropped: ", element("ul", {}, operation(own)), fault(why))));
    case "Queried":
      return part(`Asked the graph (${event.kind})`, code(event.query), fault(event.fault), ...(event.rows ? rowsOf(event.rows) : []));
    case "Computed": return part("Computed", code(event.code), event.output ? code(event.output) : "", fault(event.fault));
    case "Parsed": return part(`Answer: ${event.chosen}`, element("ol", {}, ...event.answers.map((each) => element("li", {}, each))));
    case "Dropped": return part(`Left out: ${event.step}`, element("p", { class: "fault" }, event.problem));
    case "Ended": return part(`Ended: ${event.outcome}`, element("p", {}, event.answer || "No answer."));
    case "GraphChanged": case "ModelAsked": return null;
    default: return part(event.event, code(JSON.stringify(event)));
  }
}
