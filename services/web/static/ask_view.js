// Questions of a graph: a conversation of turns, each with its plan, queries, tables, charts and graphs, its answer, and branches.

import { errorOf, get, post } from "./api.js";
import { MOST_POINTS, chartOf, rounded, tableOf } from "./chart_view.js";
import { byId, count, cut, element, showProblem } from "./dom.js";
import { GraphView, spiral } from "./graph_view.js";
import { cancelRun, followRun } from "./live_run.js";

const ROWS = 10;
const MOST_NODES = 200; // of a drawn graph
const OUTCOMES = { "asked back": "A question back:", ungrounded: "Not sure (this stands in no result):" };

export class AskView {
  constructor() {
    this.talk = "";
    this.turn = null;
    byId("question-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const query = byId("question").value.trim();
      if (query) this.#ask({ query });
    });
    byId("question-cancel").addEventListener("click", () => this.turn?.cancel());
    byId("question-new").addEventListener("click", () => {
      this.turn?.cancel();
      this.talk = "";
      byId("turns").replaceChildren();
      byId("question").focus();
    });
  }

  async #ask(asked) {
    showProblem(byId("question-problem"), null);
    byId("question-form").querySelector("[type=submit]").disabled = true;
    const turn = new Turn({ ask: (more) => this.#ask(more), over: () => this.#over() });
    try {
      const { talk, run } = await post("/api/talks", { ...asked, ...(this.talk ? { talk: this.talk } : {}) });
      this.talk = talk;
      this.turn = turn;
      byId("turns").append(turn.box);
      turn.title.textContent = asked.query;
      turn.box.scrollIntoView({ block: "nearest" });
      byId("question").value = "";
      byId("question-cancel").hidden = false;
      turn.follow(talk, run);
    } catch (failure) {
      showProblem(byId("question-problem"), errorOf(failure));
      this.#over();
    }
  }

  #over() {
    byId("question-form").querySelector("[type=submit]").disabled = false;
    byId("question-cancel").hidden = true;
  }
}

// One turn. hooks: ask, of a branch; over, when it has ended.
class Turn {
  constructor(hooks) {
    this.hooks = hooks;
    this.number = 0;
    this.steps = new Map();
    this.title = element("h3");
    this.status = element("p", { role: "status", class: "quiet" }, "Reading the question …");
    this.answer = element("p", { class: "outcome" });
    this.problem = element("div", { class: "problem", role: "alert", hidden: true });
    this.results = element("div", { class: "results" });
    this.plan = element("ol", { class: "plan" });
    this.details = element("details", { hidden: true, open: true }, element("summary", {}, "Plan"), this.plan);
    this.box = element("article", { class: "card turn" }, this.title, this.status, this.answer, this.problem, this.results, this.details);
  }

  follow(talk, run) {
    Object.assign(this, { talk, run });
    const hear = (event) => this[`on${event.event}`]?.(event);
    this.source = followRun(run, { hear, problem: this.problem, failed: (error) => this.#failed(error) });
  }

  async cancel() {
    if (this.run && !this.ended) await cancelRun(this.run, { status: this.status, problem: this.problem });
  }

  onTurnBegun({ turn, question }) {
    this.number = turn;
    this.title.textContent = question;
  }

  onStepBegun({ step, operators, fallback }) {
    const offered = element("details", { class: "aside" }, element("summary", {}, `${count(operators.length)} operators`), element("p", { class: "quiet" }, operators.join(", ")));
    const list = element("ul", { class: "plain" });
    const branch = element("button", { type: "button", class: "link aside", hidden: true, onclick: () => this.hooks.ask({ query: this.title.textContent, branch: { turn: this.number, step } }) }, "Branch after this step");
    const row = element("li", {}, `Step ${step} `, branch, fallback ? element("p", { class: "fault" }, `Operators were not looked up: ${fallback}`) : "", list, offered);
    this.steps.set(step, { row, list, branch, calls: new Map() });
    this.last = step;
    this.plan.append(row);
    this.details.hidden = false;
    this.status.textContent = `Step ${step} …`;
  }

  onInvoked({ step, nth, operator, arguments: values }) {
    const item = element("li", { class: "call" }, element("code", {}, `${operator} ${cut(JSON.stringify(values), 600)}`));
    this.steps.get(step)?.list.append(item);
    this.steps.get(step)?.calls.set(nth, item);
    this.call = item;
  }

  onQueryRun({ text, parameters }) {
    const given = Object.keys(parameters).length ? `\n${JSON.stringify(parameters)}` : "";
    this.call?.append(element("details", { class: "query" }, element("summary", {}, "Query"), element("pre", { class: "mono" }, text + given)));
  }

  onResultKept({ step, nth, handle, kind, size, cut: more, notes }) {
    const noun = { table: "rows", graph: "nodes" }[kind];
    const words = `${handle}: ${kind}${noun ? `, ${count(size)} ${noun}` : ""}${more ? " (there were more)" : ""}`;
    const open = kind === "presentation" ? words : element("button", { type: "button", class: "link", onclick: () => this.#open(handle, item) }, words);
    const item = element("div", {}, open, ...notes.map((each) => element("p", { class: "quiet" }, each)));
    this.#of(step, nth).append(item);
  }

  onFaulted({ step, nth, problem, hint }) {
    this.#of(step, nth).append(element("p", { class: "fault" }, `${problem}. ${hint}`));
  }

  onOperatorAdapted({ step, operator, version, problem }) {
    const made = version ? `version ${version} serves this question` : "no version of it passed the checks";
    this.#of(step, 0).append(element("p", { class: version ? "quiet" : "fault" }, `${operator}: ${made}${problem ? ` (${problem})` : ""}`));
  }

  onAnswerRejected({ step, text, ungrounded }) {
    this.#of(step, 0).append(element("p", { class: "fault" }, `Not let through: ${text} (in no result: ${ungrounded.join(", ")})`));
  }

  onModelAsked({ problem }) {
    if (problem) this.steps.get(this.last)?.list.append(element("li", { class: "fault" }, `The model: ${problem}`));
  }

  onEnded({ answer, outcome, missing }) {
    const before = OUTCOMES[outcome];
    this.answer.textContent = [before ?? "", answer].filter(Boolean).join(" ");
    this.answer.dataset.outcome = outcome;
    this.missing = missing;
  }

  onTurnEnded({ turn, pages, error }) {
    this.number = turn;
    this.#over(error ? "This question has no sure answer." : "Answered.");
    showProblem(this.problem, error);
    if (pages.length) this.details.open = false;
    for (const page of pages) this.#show(page, this.results);
  }

  onFailed({ error }) {
    this.#failed(error);
  }

  onCancelled() {
    this.#over("Cancelled.");
  }

  #failed(error) {
    this.#over("The question has failed.");
    showProblem(this.problem, error);
  }

  #over(words) {
    this.ended = true;
    this.source?.close();
    this.status.textContent = words;
    for (const [step, { branch }] of this.steps) branch.hidden = !this.number || step === this.last;
    this.hooks.over();
  }

  #of(step, nth) {
    const { list, calls } = this.steps.get(step) ?? { list: this.plan, calls: new Map() };
    if (calls.has(nth)) return calls.get(nth);
    const item = element("li");
    list.append(item);
    return item;
  }

  #page(handle, offset, most) {
    return get(`/api/talks/${this.talk}/${this.number}/results/${handle}`, { offset, count: most });
  }

  async #open(handle, beside) {
    if (beside.dataset.open) return;
    beside.dataset.open = "true";
    try {
      await this.#show(await this.#page(handle, 0, ROWS), beside);
    } catch (failure) {
      delete beside.dataset.open;
      showProblem(this.problem, errorOf(failure));
    }
  }

  // A result, or a presentation of one.
  async #show(page, box) {
    const { kind, of, title, options } = page;
    if (of && kind !== "table" && kind !== "graph") await this.#chart(page, box);
    else if ((of ?? page).nodes) this.#graph(of ?? page, title || (of ?? page).handle, box);
    else this.#table(of ?? page, box, { only: options?.columns ?? [], title });
  }

  async #chart(page, box) {
    const place = element("div");
    box.append(place);
    try {
      const whole = page.of.total > page.of.rows.length ? await this.#page(page.handle, 0, MOST_POINTS) : page;
      place.replaceChildren(chartOf(whole));
    } catch (failure) {
      showProblem(this.problem, errorOf(failure));
    }
    this.#table(page.of, box, { folded: true });
  }

  // A table, page by page.
  #table(first, box, { only = [], title = "", folded = false }) {
    const place = element("div", { class: "scroll" }), words = element("span", { class: "quiet", role: "status" }), size = Math.max(first.rows.length, 1);
    let page = first;
    const turn = async (to) => {
      try {
        page = await this.#page(first.handle, to, size);
        draw();
      } catch (failure) {
        showProblem(this.problem, errorOf(failure));
      }
    };
    const before = element("button", { type: "button", onclick: () => turn(Math.max(0, page.offset - size)) }, "Previous");
    const after = element("button", { type: "button", onclick: () => turn(page.offset + size) }, "Next");
    const draw = () => {
      place.replaceChildren(tableOf(page, { only, caption: title || page.handle }));
      words.textContent = `Rows ${count(page.offset + (page.rows.length ? 1 : 0))} to ${count(page.offset + page.rows.length)} of ${count(page.total)}${page.cut ? "; there were more" : ""}`;
      before.disabled = page.offset === 0;
      after.disabled = page.offset + page.rows.length >= page.total;
    };
    const paged = element("div", { class: "row pager" }, before, words, after);
    before.hidden = after.hidden = first.total <= first.rows.length;
    draw();
    const whole = element("div", {}, place, paged);
    box.append(folded ? element("details", {}, element("summary", {}, `Table ${first.handle}`), whole) : whole);
  }

  #graph({ nodes, edges, handle }, title, box) {
    const shown = nodes.slice(0, MOST_NODES), known = new Set(shown.map((each) => each.id)), types = [...new Set(shown.map((each) => each.type))];
    const place = element("div"), about = element("p", { class: "quiet" });
    const left = nodes.length > shown.length ? ` The first ${count(shown.length)} are drawn.` : "";
    box.append(element("p", {}, `${title}: ${count(nodes.length)} nodes, ${count(edges.length)} relationships.${left}`), place, about);
    const open = (node) => {
      about.textContent = `${node.detail}: ${Object.entries(node.properties).map(([name, value]) => `${name} ${cut(rounded(value), 120)}`).join(", ")}`;
    };
    const view = new GraphView(place, { label: `Graph ${handle}`, open });
    const kinds = ["tool", "entry", "other"];
    view.show(
      shown.map((each, nth) => ({ toward: spiral(nth), id: each.id, label: rounded(each.properties.name ?? each.properties.title ?? each.id), detail: each.type, kind: kinds[types.indexOf(each.type) % kinds.length], properties: each.properties })),
      edges.filter((each) => known.has(each.source) && known.has(each.target)).map((each, nth) => ({ id: `e${nth}`, source: each.source, target: each.target, label: each.type, path: "arrow" })),
    );
  }
}
