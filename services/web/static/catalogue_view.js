// The catalogue: search, and the graph around an entity.

import { errorOf, get, post } from "./api.js";
import { byId, count, cut, definitions, described, element, plain } from "./dom.js";
import { GraphView, MANY_NODES } from "./graph_view.js";

const RINGS = [10, 20, 34, 50, 70, 120]; // nodes of each ring around an entity, from the inside
const LEGEND = [["entry", "this entity"], ["tool", "tool"], ["other", "other node"]];

export class CatalogueView {
  constructor() {
    this.graph = new GraphView(byId("entity-graph"), { label: "Graph of the entity", open: (node) => this.open(node.id), legend: LEGEND });
    this.page = "";
    this.turn = 0;
    this.loaded = false;
    byId("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#search(byId("search").value.trim());
    });
    byId("more-tools").addEventListener("click", () => this.#list());
  }

  // What is there before anybody asks; once for a visitor.
  async load() {
    if (this.loaded) return;
    this.loaded = true;
    await this.#search("");
  }

  async #search(query) {
    byId("search-results").replaceChildren();
    this.page = "";
    if (!query) return this.#list();
    byId("more-tools").hidden = true;
    await this.#said("search-status", async () => {
      const { tools } = await post("/api/retrieve", { query, k: 50 });
      byId("search-results").append(...tools.map((tool) => this.#tool(tool.id, tool.title || tool.name)));
      return `${count(tools.length)} tools, best first.`;
    });
  }

  async #list() {
    await this.#said("search-status", async () => {
      const found = await get("/api/catalog", { page: this.page });
      this.page = found.next_page_token;
      byId("search-results").append(...found.tool_ids.map((id) => this.#tool(id)));
      byId("more-tools").hidden = !this.page;
      byId("snapshot").textContent = `snapshot ${found.snapshot_id}, ${count(found.tool_count)} tools`;
      return `${count(byId("search-results").childElementCount)} of ${count(found.tool_count)} tools.`;
    });
  }

  #tool(id, title = "") {
    const open = element("button", { type: "button", class: "link mono", onclick: () => this.open(`tool:${id}`, true) }, id);
    return element("li", {}, title ? `${title} ` : "", open);
  }

  // Show a node with its neighbours, and the document of a tool.
  async open(key, focus = false) {
    const turn = (this.turn += 1);
    byId("entity").replaceChildren();
    this.graph.clear();
    await this.#said("entity-status", async () => {
      const found = await get("/api/neighbors", { node: key });
      const id = found.center.tool_id;
      const tool = id ? await get("/api/tool", { id }) : null;
      if (turn !== this.turn) return byId("entity-status").textContent;
      byId("entity-title").textContent = found.center.name;
      if (focus) byId("entity-title").focus();
      byId("entity").append(...(tool ? toolParts(tool) : []), this.#edges(found));
      this.graph.show(...around(found));
      return `${found.center.type}, ${count(found.edges.length)} of ${count(found.total_degree)} edges.`;
    });
  }

  #edges(found) {
    const other = (edge) => (edge.head === found.center.key ? edge.tail : edge.head);
    const row = (edge) =>
      element(
        "li",
        {},
        `${edge.head === found.center.key ? "→" : "←"} ${edge.predicate} `,
        element("button", { type: "button", class: "link mono", onclick: () => this.open(other(edge), true) }, other(edge)),
      );
    return element("details", {}, element("summary", {}, "Edges"), element("ul", { class: "plain" }, ...found.edges.map(row)));
  }

  // Say what came of some work, or why nothing did.
  async #said(id, work) {
    try {
      byId(id).textContent = await work();
    } catch (failure) {
      const error = errorOf(failure);
      byId(id).textContent = [error.message, error.remedy].filter(Boolean).join(". ");
    }
  }
}

function toolParts(tool) {
  const input = (each) => [each.name, `${each.type}${each.required ? ", required" : ""}${each.description ? `: ${cut(plain(each.description), 200)}` : ""}`];
  return [
    element("p", { class: "mono" }, tool.id),
    element("p", { class: "description" }, described(tool)),
    element("h3", {}, "Inputs"),
    tool.parameters.length ? definitions(tool.parameters.map(input)) : element("p", { class: "quiet" }, "None."),
    element("h3", {}, "Outputs"),
    tool.returns.length ? definitions(tool.returns.map(input)) : element("p", { class: "quiet" }, "The document names none."),
  ];
}

// The entity in the middle, its neighbours on rings around it, those of one predicate side by side.
function around({ center, nodes, edges }) {
  const said = new Map();
  for (const { head, predicate, tail } of edges) {
    const [other, words] = head === center.key ? [tail, `→ ${predicate}`] : [head, `← ${predicate}`];
    said.set(other, said.has(other) ? `${said.get(other)}, ${predicate}` : words);
  }
  const others = nodes.filter((node) => node.key !== center.key).sort((one, two) => (said.get(one.key) ?? "").localeCompare(said.get(two.key) ?? ""));
  const kind = (node) => (node.type === "tool" ? "tool" : "other"), many = nodes.length > MANY_NODES; // then no node shows its detail
  return [
    [
      { id: center.key, label: center.name, spoken: center.type, kind: "entry always", radius: 11, x: 0, y: 0, fx: 0, fy: 0 },
      ...others.map((node, at) => ({ id: node.key, label: node.name, detail: said.get(node.key), spoken: node.type, kind: kind(node), toward: onRing(at, others.length) })),
    ],
    edges.map(({ head, predicate, tail }) => ({ id: `${head} ${predicate} ${tail}`, source: head, target: tail, label: many ? predicate : "" })),
  ];
}

function onRing(at, all) {
  let ring = 0, first = 0;
  while (ring < RINGS.length - 1 && at - first >= RINGS[ring]) first += RINGS[ring++];
  const angle = (2 * Math.PI * (at - first)) / Math.min(RINGS[ring], all - first) + ring / 3;
  const far = 105 + 80 * ring;
  return [1.8 * far * Math.cos(angle), far * Math.sin(angle)];
}
