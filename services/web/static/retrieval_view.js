// The left side: the plan of the calls for a request, the tools by rank with why each of them, and the part of the graph that led to them.

import { errorOf, post } from "./api.js";
import { byId, count, cut, definitions, described, element, showProblem } from "./dom.js";
import { GraphView } from "./graph_view.js";

const MOST_NODES = 300;
const [ENTRIES_X, TOOLS_X, ROW] = [0, 215, 30];
const LEGEND = [["entry", "matched by the request"], ["tool", "tool, by rank"], ["bind", "output fills an input"]];

export class RetrievalView {
  constructor(openNode) {
    this.openNode = openNode;
    this.graph = new GraphView(byId("tools-graph"), { label: "Graph of the retrieval", open: (node) => this.#open(node), legend: LEGEND });
    this.turn = 0;
  }

  async ask(query, needs) {
    const turn = (this.turn += 1);
    this.graph.clear();
    for (const id of ["tools", "tools-needs", "call-plan", "call-plan-open"]) byId(id).replaceChildren();
    byId("tools-graph-box").hidden = byId("rank-title").hidden = true;
    byId("tools-node").hidden = true;
    byId("tools-status").textContent = "Looking for tools …";
    let answer, plan;
    try {
      [answer, plan] = await Promise.all([post("/api/retrieve", { query, needs, k: 10 }), post("/api/plan", { query, needs }).catch(() => ({ steps: [], open_inputs: [] }))]);
    } catch (failure) {
      if (turn === this.turn) {
        byId("tools-status").textContent = "There is no answer.";
        showProblem(byId("problem"), errorOf(failure));
      }
      return;
    }
    if (turn !== this.turn) return;
    const took = answer.timings_ms.total ? ` in ${Math.round(answer.timings_ms.total)} ms` : "";
    const doubtful = answer.unanswerable ? ` These may not fit: probability ${answer.answerable_probability.toFixed(2)}.` : "";
    const nothing = "No tool of this catalogue fits: ask in other words, or for a part of it.";
    byId("tools-status").textContent = [answer.tools.length ? `${count(answer.tools.length)} tools${took}.${doubtful}` : nothing, ...answer.fallbacks].join(" ");
    this.#plan(plan);
    byId("tools-needs").append(...answer.need_results.map((each) => this.#need(each)));
    byId("tools").append(...answer.tools.map((tool) => this.#tool(tool, answer.need_results)));
    if (!answer.tools.length) return;
    byId("tools-graph-box").hidden = byId("rank-title").hidden = false;
    const { nodes, links } = drawing(answer.tools);
    await this.graph.show(nodes, links);
  }

  // The calls in order: what each takes from a call before it, and what must be asked.
  #plan({ steps, open_inputs: open }) {
    const taken = ({ parameter, step, output, source, value }) => element("li", {}, element("code", {}, parameter), step ? ` ← call ${step}${output ? `, ${output}` : ""}` : ` ← ${[source, value].filter(Boolean).join(" ")}`);
    const item = ({ number, tool_id: id, kind, inputs }) =>
      element("li", { class: kind === "goal" ? "goal" : "", value: number }, this.#link(id), element("ul", { class: "plain" }, ...inputs.filter((each) => each.parameter).map(taken)));
    byId("call-plan").replaceChildren(...steps.map(item));
    const asked = open.filter((each) => each.source === "ask").map((each) => each.parameter);
    byId("call-plan-open").textContent = asked.length ? `To be asked: ${[...new Set(asked)].join(", ")}.` : "";
  }

  #need({ need, tool, probability, unserved }) {
    const sure = probability === null ? "" : ` (${Math.round(probability * 100)} %)`;
    const best = tool ? [this.#link(tool)] : [];
    return element("li", unserved ? { class: "fault" } : {}, `${need}${sure}${unserved ? ", may not fit" : ""}: `, ...best);
  }

  #link(id) {
    return element("button", { type: "button", class: "link mono", onclick: () => this.openNode(`tool:${id}`) }, id);
  }

  #tool(tool, results) {
    const serves = tool.needs.map((each) => `${results[each].need}${results[each].unserved ? " (may not fit)" : ""}`).join("; ");
    return element(
      "li",
      { id: `tool-${tool.rank}` },
      element("h3", {}, tool.title || tool.name),
      this.#link(tool.id),
      serves && element("p", { class: "serves" }, `Serves: ${serves}`),
      tool.completes && element("p", { class: "serves" }, "Brought by the graph: another tool of the answer needs it."),
      element("p", { class: "quiet why" }, tool.explanation),
      element("p", { class: "description" }, cut(described(tool), 400)),
      element("details", {}, element("summary", {}, `Reasons (score ${tool.score.toFixed(2)})`), definitions(reasonsOf(tool))),
    );
  }

  #open(node) {
    const { tool } = node;
    byId("tools-node").hidden = false;
    this.graph.select(node.id);
    byId("tools-node-title").textContent = node.label;
    byId("tools-node-reasons").replaceChildren(
      element("p", { class: "why" }, tool?.explanation ?? ""),
      definitions(tool ? reasonsOf(tool) : [["node", node.id], ["matched", node.matched.join("; ") || "–"]]),
      element("button", { type: "button", onclick: () => this.openNode(node.id) }, "Show in the catalogue"),
    );
    for (const each of byId("tools").children) each.classList.toggle("here", each.id === `tool-${tool?.rank}`);
  }
}

function reasonsOf({ reasons: { entries, edges, bindings } }) {
  return [
    ...entries.map((each) => [`${each.kind} ${each.score.toFixed(2)}`, `${cut(each.text, 120)} → ${each.node}`]),
    ...edges.map((each) => ["edge", `${each.head} ${each.predicate} ${each.tail} (${each.confidence})`]),
    ...bindings.map((each) => ["input", each.supplier ? `${each.parameter} ← ${each.supplier} ${each.output}` : `${each.parameter}: open`]),
  ];
}

// The graph of an answer: at the right the tools by rank, at the left the nodes that the request matched, and between them the edges.
function drawing(tools) {
  const nodes = new Map(), links = new Map();
  const node = (key) => {
    if (!nodes.has(key) && nodes.size < MOST_NODES) {
      const [type, name] = [key.slice(0, key.indexOf(":")), key.slice(key.indexOf(":") + 1)];
      const label = type === "tool" ? name.slice(name.lastIndexOf("/") + 1) : name;
      nodes.set(key, { id: key, label, detail: type.replaceAll("_", " "), kind: "other", side: "left", matched: [], ranks: [] });
    }
    return nodes.get(key);
  };
  const join = (source, target, label, changed = {}) => {
    const ends = JSON.stringify([source, target].sort()), link = links.get(ends) ?? { source, target, labels: new Set() };
    link.label = [...link.labels.add(label)].join(", ");
    links.set(ends, Object.assign(link, changed));
  };
  for (const tool of tools) {
    const own = node(`tool:${tool.id}`);
    if (own) Object.assign(own, { label: `${tool.rank}  ${tool.title || tool.name}`, kind: "tool", side: "right", detail: "", tool, spoken: "tool" });
  }
  for (const { id, rank, reasons } of tools) {
    for (const entry of reasons.entries) {
      const own = node(entry.node);
      if (!own) continue;
      if (own.kind === "other") Object.assign(own, { kind: "entry", spoken: `matched by “${cut(entry.text, 60)}”` });
      own.ranks.push(rank);
      const words = cut(entry.text, 80);
      if (!own.matched.includes(words)) own.matched.push(words);
    }
    for (const { head, predicate, tail } of reasons.edges) {
      if (node(head) && node(tail)) join(head, tail, predicate);
    }
    for (const { parameter, supplier } of reasons.bindings) {
      if (supplier && node(`tool:${supplier}`)) join(`tool:${supplier}`, `tool:${id}`, parameter, { kind: "bind", source: `tool:${supplier}`, target: `tool:${id}` });
    }
  }
  place([...nodes.values()]);
  for (const link of links.values()) link.path = nodes.get(link.source)?.tool && nodes.get(link.target)?.tool ? "arc" : "curve";
  return { nodes: [...nodes.values()], links: [...links.values()] };
}

// Two columns; at the left the order follows the tools that a node leads to, so that few edges cross.
function place(nodes) {
  const mean = ({ ranks }) => ranks.reduce((sum, each) => sum + each, 0) / Math.max(1, ranks.length);
  const ranked = nodes.filter((node) => node.tool);
  const others = nodes.filter((node) => !node.tool).sort((one, two) => mean(one) - mean(two));
  for (const [column, x] of [[ranked, TOOLS_X], [others, ENTRIES_X]]) {
    const step = column === ranked ? Math.min(2 * ROW, Math.max(ROW, (others.length * ROW) / Math.max(1, ranked.length))) : ROW;
    column.forEach((each, at) => Object.assign(each, { x, y: step * (at - (column.length - 1) / 2) }));
  }
}
