// Draws graphs as SVG. Layout and drawing are spread over frames, so that a graph of hundreds of nodes never holds up the keyboard.

import { cut, element, shape } from "./dom.js";

const FRAME_MS = 8;
const TICKS = 120;
export const MANY_NODES = 60; // from which on only the words of the node in focus are shown
const FEW_LINKS = 12;
const LEAST_WIDTH = 640;
const LABEL_CHARS = 27;
const GAP = 18; // between an arrow and the middle of its node
const { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } = globalThis.d3;

const frame = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go)));

async function spread(work) {
  await frame();
  let end = performance.now() + FRAME_MS;
  for (const _ of work) {
    if (performance.now() < end) continue;
    await frame();
    end = performance.now() + FRAME_MS;
  }
}

const visible = (node) => cut(node.label, node.side === "left" ? LABEL_CHARS - 6 : LABEL_CHARS);
const spoken = (node, detail, after) => [visible(node), detail, node.note, after].filter(Boolean).join(" ");

// One tab stop for a graph: arrow keys lead to the nearest node in their direction, Enter and Space open a node.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const PATHS = {
  line: (a, b) => `M${a.x} ${a.y}L${b.x} ${b.y}`,
  arrow: (a, b) => {
    const far = Math.hypot(b.x - a.x, b.y - a.y) || 1, [x, y] = [(b.x - a.x) / far, (b.y - a.y) / far];
    return `M${a.x} ${a.y}L${b.x - x * GAP} ${b.y - y * GAP}`;
  },
  curve: (a, b) => `M${a.x} ${a.y}C${(a.x + b.x) / 2} ${a.y} ${(a.x + b.x) / 2} ${b.y} ${b.x} ${b.y}`,
  arc: (a, b) => {
    const out = a.x - 30 - Math.min(140, Math.abs(b.y - a.y) / 2);
    return `M${a.x - 10} ${a.y}C${out} ${a.y} ${out} ${b.y} ${b.x - 12} ${b.y}`;
  },
};

export class GraphView {
  // label: what the graph is, for screen readers; open(node): what a click on a node does; legend: [kind, words], of the colours.
  constructor(box, { label, open, legend = [] }) {
    this.svg = shape("svg", { role: "group", "aria-label": label, preserveAspectRatio: "xMidYMid meet" });
    this.scroll = element("div", { class: "graph" }, this.svg);
    const zoom = (step, sign, name) => element("button", { type: "button", "aria-label": name, title: name, onclick: () => this.#zoom(step) }, sign);
    const colours = legend.map(([kind, words]) => element("span", { class: `colour ${kind}` }, words));
    this.box = box;
    this.open = open;
    this.level = 1;
    this.turn = 0;
    this.nodes = new Map();
    this.links = new Map();
    box.replaceChildren(this.scroll, element("div", { class: "legend" }, ...colours, element("span", { class: "zoom" }, zoom(-1, "−", "Smaller"), zoom(1, "+", "Larger"))));
    box.hidden = true;
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    this.svg.addEventListener("click", (event) => this.#clicked(event.target.closest(".node")));
    for (const kind of ["pointerover", "focusin"]) this.svg.addEventListener(kind, (event) => this.#near(event.target.closest(".node")));
    for (const kind of ["pointerleave", "focusout"]) this.svg.addEventListener(kind, () => this.#near(null));
  }

  clear() {
    this.turn += 1;
    this.box.hidden = true;
    delete this.scroll.dataset.drawn;
    this.nodes.clear();
    this.links.clear();
    this.svg.replaceChildren();
  }

  // nodes: {id, label, kind, detail, note, spoken, side, radius}; spoken is what a screen reader says after the visible words; side: where
  // these stand, "below", "left" or "right". A node with x and y is there; toward: the [x, y] that another one tends to.
  // links: {id, source, target, label, kind, path}, source and target being ids, path one of PATHS.
  async show(nodes, links) {
    this.clear();
    const turn = this.turn;
    const known = new Set(nodes.map((node) => node.id));
    const placed = nodes.map((node) => ({ ...node }));
    const joined = links.filter((link) => known.has(link.source) && known.has(link.target)).map((link) => ({ ...link }));
    this.box.hidden = placed.length === 0;
    if (placed.some((node) => node.x === undefined)) await spread(layout(placed, joined));
    if (turn !== this.turn) return;
    this.svg.classList.toggle("many", placed.length > MANY_NODES && !placed.some((node) => node.side));
    await spread(this.#draw(turn, placed, joined));
    if (turn === this.turn) this.scroll.dataset.drawn = String(placed.length);
  }

  *#draw(turn, nodes, links) {
    const at = new Map(nodes.map((node) => [node.id, node]));
    const view = viewOf(nodes);
    this.svg.setAttribute("viewBox", view.join(" "));
    this.svg.style.setProperty("--scale", view[2] / LEAST_WIDTH); // words of a large graph are as large as those of a small one
    const [lines, dots] = [shape("g"), shape("g")];
    this.names = shape("g", { "aria-hidden": "true" });
    this.nearNames = shape("g", { "aria-hidden": "true" });
    this.named = links.length <= FEW_LINKS;
    const head = shape("path", { d: "M0 0L8 4L0 8z" });
    this.svg.append(shape("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" }, head), lines, this.names, dots, this.nearNames);
    for (const link of links) {
      if (turn !== this.turn) return;
      const [a, b] = [at.get(link.source), at.get(link.target)];
      const drawn = shape("path", { class: `link ${link.kind ?? ""}`, d: PATHS[link.path ?? "line"](a, b) });
      if (link.path === "arrow" || link.path === "arc") drawn.setAttribute("marker-end", "url(#head)");
      lines.append(drawn);
      this.links.set(link.id ?? `${link.source} ${link.label} ${link.target}`, { link, drawn });
      if (this.named && link.label) this.names.append(nameOf(link, drawn));
      yield;
    }
    for (const node of nodes) {
      if (turn !== this.turn) return;
      dots.append(this.#node(node));
      yield;
    }
  }

  #node(node) {
    const below = (node.side ?? "below") === "below", end = node.side === "left" ? -14 : 15;
    const line = (name, words, dy) => shape("tspan", below ? { class: name, x: 0, dy } : { class: name, dx: name === "label" ? 0 : 6 }, words);
    const detail = line("detail", ` ${node.detail ?? ""}`, 14); // the blank keeps it apart from the label for whoever reads both
    const words = [line("label", visible(node), 0), detail, node.note ? line("note", ` ${cut(node.note, LABEL_CHARS)}`, 14) : ""];
    const circle = shape("circle", { r: node.radius ?? (node.kind.startsWith("tool") ? 9 : 7) });
    const drawn = shape(
      "g",
      {
        class: `node ${node.kind}`, transform: `translate(${node.x} ${node.y})`, role: "button",
        tabindex: this.nodes.size ? -1 : 0, "aria-label": spoken(node, node.detail, node.spoken),
      },
      shape("rect", { class: "hit", x: -22, y: -14, width: 44, height: below ? 44 : 28 }),
      circle,
      shape("text", below ? { y: 30 } : { class: node.side, x: end, y: 4 }, ...words),
    );
    drawn.dataset.id = node.id;
    this.nodes.set(node.id, { node, drawn, detail, circle });
    return drawn;
  }

  // Mark one node as the current one, or none.
  current(id) {
    this.#only(id, "now");
  }

  // Mark one node as the one whose results are shown, or none.
  select(id) {
    this.#only(id, "selected");
  }

  #only(id, name) {
    for (const [own, { drawn }] of this.nodes) drawn.classList.toggle(name, own === id);
  }

  describe(id, detail, after, radius) {
    const found = this.nodes.get(id);
    if (!found) return;
    found.detail.textContent = ` ${detail}`;
    found.circle.setAttribute("r", radius);
    found.drawn.setAttribute("aria-label", spoken(found.node, detail, after));
  }

  mark(id, name) {
    this.nodes.get(id)?.drawn.classList.add(name);
  }

  traverse(id) {
    for (const { drawn } of this.links.values()) drawn.classList.remove("now");
    this.links.get(id)?.drawn.classList.add("now", "done");
  }

  // Bring out a node with its edges and what they lead to, or nothing.
  #near(drawn) {
    const id = drawn?.dataset.id, around = new Set([id]);
    if (!this.nearNames || this.named) return;
    this.svg.classList.toggle("focused", Boolean(drawn));
    const own = [];
    for (const { link, drawn: line } of this.links.values()) {
      const near = link.source === id || link.target === id;
      line.classList.toggle("near", near);
      if (near && link.label) own.push(nameOf(link, line, link.source === id ? 0.72 : 0.28)); // nearer to the other end, where names lie apart
      if (near) around.add(link.source).add(link.target);
    }
    for (const [each, { drawn: group }] of this.nodes) group.classList.toggle("near", around.has(each));
    this.nearNames.replaceChildren(...(own.length <= FEW_LINKS ? own : []));
  }

  #clicked(drawn) {
    if (!drawn) return;
    this.#stopAt(drawn);
    this.open(this.nodes.get(drawn.dataset.id).node);
  }

  #stopAt(drawn) {
    for (const each of this.nodes.values()) each.drawn.setAttribute("tabindex", each.drawn === drawn ? 0 : -1);
    drawn.focus();
  }

  #key(event) {
    const drawn = event.target.closest(".node");
    if (!drawn) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#clicked(drawn);
    } else if (ARROWS[event.key]) {
      event.preventDefault();
      const next = this.#nearest(this.nodes.get(drawn.dataset.id).node, ARROWS[event.key]);
      if (next) this.#stopAt(next);
    }
  }

  #nearest(from, [right, down]) {
    let best = null, least = Infinity;
    for (const { node, drawn } of this.nodes.values()) {
      const [dx, dy] = [node.x - from.x, node.y - from.y];
      const along = dx * right + dy * down;
      if (along <= 0) continue;
      const far = along + 3 * Math.abs(dx * down + dy * right);
      if (far < least) [best, least] = [drawn, far];
    }
    return best;
  }

  #zoom(step) {
    this.scroll.classList.remove(`zoom-${this.level}`);
    this.level = Math.min(3, Math.max(1, this.level + step));
    this.scroll.classList.add(`zoom-${this.level}`);
  }
}

// The n-th place of a spiral whose places lie equally far apart, and further apart sideways, where words are.
export const spiral = (n) => [130 * Math.sqrt(n) * Math.cos(2.4 * n), 90 * Math.sqrt(n) * Math.sin(2.4 * n)];

// The part of the plane that is shown: all nodes with their words, and never so little that words become large.
function viewOf(nodes) {
  const xs = nodes.map((node) => node.x), ys = nodes.map((node) => node.y);
  const [before, after, under] = nodes.some((node) => node.side) ? [245, 205, 24] : [76, 76, 70];
  const [left, right] = [Math.min(...xs) - before, Math.max(...xs) + after];
  const width = Math.max(right - left, LEAST_WIDTH), top = Math.min(...ys) - 26;
  return [(left + right - width) / 2, top, width, Math.max(...ys) + under - top];
}

function nameOf(link, drawn, share = 0.5) {
  const { x, y } = drawn.getPointAtLength(drawn.getTotalLength() * share);
  return shape("text", { class: "edge", x, y: y - 6 }, link.label ?? "");
}

function* layout(nodes, links) {
  const simulation = forceSimulation(nodes).stop();
  const forces = {
    link: forceLink(links).id((node) => node.id).distance(70).strength(0.02),
    charge: forceManyBody().strength(-60),
    collide: forceCollide(40),
    x: forceX((node) => node.toward?.[0] ?? 0).strength(0.3),
    y: forceY((node) => node.toward?.[1] ?? 0).strength(0.3),
  };
  for (const [name, force] of Object.entries(forces)) {
    yield;
    simulation.force(name, force);
  }
  for (let tick = 0; tick < TICKS; tick += 1) {
    yield;
    simulation.alpha(1 - tick / TICKS).tick();
  }
  for (const link of links) {
    link.source = link.source.id;
    link.target = link.target.id;
  }
}
