// A question of a graph: its steps with their queries while they are taken, then the answer with its tables and graphs.

import { byId, count, cut, element, showProblem, worded } from "./dom.js";
import { GraphView, spiral } from "./graph_view.js";
import { startRun } from "./live_run.js";

const MOST_NODES = 200; // of a drawn graph
const OUTCOMES = { "asked back": "A question back:", ungrounded: "Not sure (this stands in no result):" };
const MEANT = /called “(.+?)”\. Is \D*?[“"'](.+?)[”"']/u;

export class QuestionView {
  constructor() {
    byId("question-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const query = byId("question").value.trim();
      if (query) this.#ask(query);
    });
    byId("question-cancel").addEventListener("click", () => {
      this.run?.cancel();
      this.onCancelled();
    });
  }

  #ask(query) {
    this.query = query;
    for (const id of ["question-results", "question-steps", "question-answer"]) byId(id).replaceChildren();
    for (const id of ["question-meant", "question-plan"]) byId(id).hidden = true;
    showProblem(byId("question-problem"), null);
    byId("question-status").textContent = "Reading the question …";
    this.#busy(true);
    const hear = (event) => this[`on${event.event}`]?.(event);
    this.run = startRun("/api/questions", { query }, { hear, failed: (error) => this.onFailed({ error }) });
  }

  #busy(is) {
    byId("question-form").querySelector("[type=submit]").disabled = is;
    byId("question-cancel").hidden = !is;
  }

  #over(words) {
    this.#busy(false);
    byId("question-status").textContent = words;
  }

  onStepBegun({ step }) {
    this.step = element("ul", { class: "plain" });
    byId("question-steps").append(element("li", {}, this.step));
    byId("question-plan").hidden = false;
    byId("question-status").textContent = `Step ${step} …`;
  }

  #line(words, ...more) {
    this.step?.append(element("li", {}, words, ...more));
  }

  onInvoked({ operator, arguments: values }) {
    this.#line(element("code", {}, `${operator} ${cut(JSON.stringify(values), 600)}`));
  }

  onQueryRun({ text, parameters }) {
    const given = Object.keys(parameters).length ? `\n${JSON.stringify(parameters)}` : "";
    this.#line(element("details", {}, element("summary", {}, "Query"), element("pre", { class: "mono" }, text + given)));
  }

  onResultKept({ handle, kind, size, notes }) {
    this.#line([`${handle}: ${kind}${kind === "presentation" ? "" : `, ${count(size)} ${kind === "graph" ? "nodes" : "rows"}`}`, ...notes].join(". "));
  }

  onFaulted({ problem, hint }) {
    this.#line(element("span", { class: "fault" }, `${problem}. ${hint}`));
  }

  onModelAsked({ problem }) {
    if (problem) this.#line(element("span", { class: "fault" }, `The model: ${problem}`));
  }

  onEnded({ answer, outcome }) {
    byId("question-answer").textContent = [OUTCOMES[outcome] ?? "", answer].filter(Boolean).join(" ");
    const [, asked, near] = MEANT.exec(answer) ?? [];
    if (!near) return;
    const button = byId("question-meant");
    button.textContent = `Ask for “${near}”`;
    button.hidden = false;
    button.onclick = () => {
      byId("question").value = this.query.replace(asked, near);
      this.#ask(byId("question").value);
    };
  }

  onQuestionAnswered({ pages, error }) {
    this.#over(error ? "This question has no sure answer." : "Answered.");
    if (byId("question-meant").hidden) showProblem(byId("question-problem"), error);
    for (const page of pages) this.#show(page.of ?? page, page.title || (page.of ?? page).handle);
  }

  onFailed({ error }) {
    this.#over("The question has failed.");
    showProblem(byId("question-problem"), error);
  }

  onCancelled() {
    this.#over("Cancelled.");
  }

  #show(page, title) {
    byId("question-results").append(page.nodes ? graph(page, title) : table(page, title));
  }
}

// A value in few characters: numbers with six digits, nothing for what is missing.
function rounded(value) {
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return value === null || value === undefined ? "" : worded(value);
}

// A table; the ids of nodes are left out where there is something else to show.
function table({ columns, rows, total }, title) {
  const told = columns.map((_, at) => at).filter((at) => columns[at].type !== "node"), places = told.length ? told : columns.map((_, at) => at);
  const kind = (at) => (["integer", "number"].includes(columns[at].type) ? "number" : undefined);
  const head = element("tr", {}, ...places.map((at) => element("th", { scope: "col", class: kind(at) }, columns[at].name)));
  const body = rows.map((row) => element("tr", {}, ...places.map((at) => element("td", { class: kind(at) }, cut(rounded(row[at]), 300)))));
  const left = total > rows.length ? ` (the first ${count(rows.length)} of ${count(total)} rows)` : "";
  return element("table", {}, element("caption", {}, `${title}${left}`), element("thead", {}, head), element("tbody", {}, ...body));
}

function graph({ nodes, edges, handle }, title) {
  const shown = nodes.slice(0, MOST_NODES), known = new Set(shown.map((each) => each.id)), types = [...new Set(shown.map((each) => each.type))];
  const place = element("div"), about = element("p", { class: "quiet" }), kinds = ["tool", "entry", "other"];
  const open = (node) => (about.textContent = `${node.detail}: ${Object.entries(node.properties).map(([name, value]) => `${name} ${cut(rounded(value), 120)}`).join(", ")}`);
  new GraphView(place, { label: `Graph ${handle}`, open }).show(
    shown.map((each, nth) => ({ toward: spiral(nth), id: each.id, label: rounded(each.properties.name ?? each.properties.title ?? each.id), detail: each.type, kind: kinds[types.indexOf(each.type) % kinds.length], properties: each.properties })),
    edges.filter((each) => known.has(each.source) && known.has(each.target)).map((each, nth) => ({ id: `e${nth}`, source: each.source, target: each.target, label: each.type, path: "arrow" })),
  );
  const left = nodes.length > shown.length ? ` The first ${count(shown.length)} are drawn.` : "";
  return element("div", {}, element("p", {}, `${title}: ${count(nodes.length)} nodes, ${count(edges.length)} relationships.${left}`), place, about);
}
