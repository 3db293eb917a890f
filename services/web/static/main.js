// The page: its views, and the request that both sides of the first work on.

import { errorOf, session } from "./api.js";
import { CatalogueView } from "./catalogue_view.js";
import { byId, element, showProblem } from "./dom.js";
import { QuestionView } from "./question_view.js";
import { RetrievalView } from "./retrieval_view.js";
import { RunView } from "./run_view.js";

const VIEWS = ["ask", "questions", "catalogue"];
const EXAMPLES = {
  personal: [
    "Find the webpage mentioned in the email from the person you met at an event in February.",
    "Find the file folders that contain email attachments from Jane Doe.",
    "Find the last email received on January 10, 2025.",
  ],
  enterprise: ["Which suppliers are blocked?", "Find the orders of the customers that I manage.", "Which contracts expire before 2026-07-01?"],
};
let planner = false, served = {};
new QuestionView();
const catalogue = new CatalogueView();
const retrieval = new RetrievalView((key) => {
  location.hash = "catalogue";
  catalogue.open(key, true);
});
const run = new RunView();

function show() {
  const asked = location.hash.slice(1), name = VIEWS.includes(asked) && served[asked] !== false ? asked : "ask";
  for (const view of VIEWS) {
    byId(view).hidden = view !== name;
    if (view === name) byId(`to-${view}`).setAttribute("aria-current", "page");
    else byId(`to-${view}`).removeAttribute("aria-current");
  }
  if (name === "catalogue") catalogue.load();
}

async function start() {
  const found = await session();
  const refused = found.problem !== null;
  planner = found.planner;
  served = { questions: found.questions };
  for (const [view, is] of Object.entries(served)) byId(`to-${view}`).hidden = !is;
  showProblem(byId("problem"), found.problem);
  byId("domain").replaceChildren(...found.domains.map((name) => element("option", { value: name }, name)));
  byId("domain").hidden = byId("domain-label").hidden = found.domains.length < 2;
  document.body.classList.toggle("no-planner", !planner);
  offer();
  if (refused) {
    for (const view of VIEWS) byId(view).hidden = true;
  } else {
    show();
  }
  document.body.dataset.ready = "true";
}

const needs = () => byId("needs").value.split("\n").map((line) => line.trim()).filter(Boolean);

// What can be asked in the chosen domain, until somebody has asked.
function offer() {
  const examples = EXAMPLES[byId("domain").value] ?? [];
  const use = (words) => {
    byId("request").value = words;
    byId("request-form").requestSubmit();
  };
  const item = (words) => element("li", {}, element("button", { type: "button", class: "link", onclick: () => use(words) }, words));
  byId("examples").hidden = examples.length === 0;
  byId("examples").querySelector("ul").replaceChildren(...examples.map(item));
}

byId("request-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = byId("request").value.trim();
  const wanted = needs();
  if (!query && !wanted.length) return;
  showProblem(byId("problem"), null);
  byId("examples").hidden = true;
  retrieval.ask(query, wanted);
  if (planner && query) run.ask(query, byId("domain").value ?? "");
});
byId("needs").addEventListener("input", () => (byId("request").required = !needs().length));
byId("domain").addEventListener("change", offer);
addEventListener("hashchange", show);
addEventListener("refused", () => start());
start().catch((failure) => showProblem(byId("problem"), errorOf(failure)));
