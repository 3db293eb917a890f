// Draws tables and charts of results, for all views of the page. A chart is plain SVG: bars lie, so that their names can be read.

import { count, cut, element, shape, worded } from "./dom.js";

const WIDTH = 640, LEFT = 150, RIGHT = 60, BAR = 22, HEIGHT = 280, BOTTOM = 46, TOP = 12;
const MOST_BARS = 50, BINS = 12, TICKS = 5;
export const MOST_POINTS = 500;

// A value in few characters: numbers with six digits, nothing for what is missing.
export function rounded(value) {
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return value === null || value === undefined ? "" : worded(value);
}

// A table; the ids of nodes are left out where there is something else to show. say: makes the words of a cell.
export function tableOf({ columns, rows }, { only = [], caption = "", say = (value) => cut(rounded(value), 300) } = {}) {
  let places = columns.map((_, at) => at).filter((at) => columns[at].type !== "node");
  if (!places.length) places = columns.map((_, at) => at);
  if (only.length) places = only.map((name) => columns.findIndex((each) => each.name === name)).filter((at) => at >= 0);
  const numeric = (at) => (["integer", "number"].includes(columns[at].type) ? "number" : undefined);
  const head = element("tr", {}, ...places.map((at) => element("th", { scope: "col", class: numeric(at) }, columns[at].name)));
  const body = rows.map((row) => element("tr", {}, ...places.map((at) => element("td", { class: numeric(at) }, say(row[at])))));
  return element("table", {}, caption ? element("caption", {}, caption) : "", element("thead", {}, head), element("tbody", {}, ...body));
}

// A chart of a table: {kind, options: {x, y}, title, of: {columns, rows, total}}.
export function chartOf({ kind, options, title, of: table }) {
  const at = (name) => table.columns.findIndex((each) => each.name === name);
  const points = table.rows.map((row) => ({ x: row[at(options.x)], y: row[at(options.y)] })).filter(({ x, y }) => x !== null && (kind === "histogram" || typeof y === "number"));
  const words = title || `${options.y ? `${options.y} by ` : ""}${options.x}`;
  const drawn = { bar: bars, line: lines, scatter: dots, histogram }[kind](points, options);
  const left = [table.total > table.rows.length ? `The first ${count(table.rows.length)} of ${count(table.total)} rows.` : "", drawn.note ?? ""].filter(Boolean).join(" ");
  const svg = shape("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${drawn.height}`, role: "img", "aria-label": `${kind}: ${words}` }, ...drawn.parts);
  return element("figure", {}, element("figcaption", {}, words, left ? element("span", { class: "quiet aside" }, ` ${left}`) : ""), svg);
}

function bars(points, { y }) {
  const shown = points.slice(0, MOST_BARS), [low, high] = span([0, ...shown.map((each) => each.y)]);
  const scale = linear(low, high, LEFT, WIDTH - RIGHT);
  const parts = shown.flatMap((each, nth) => {
    const top = TOP + nth * BAR, [from, to] = [scale(Math.min(0, each.y)), scale(Math.max(0, each.y))];
    return [
      shape("text", { class: "left", x: LEFT - 8, y: top + 14 }, cut(rounded(each.x), 22)),
      shape("rect", { class: "bar", x: from, y: top + 2, width: Math.max(1, to - from), height: BAR - 6 }, shape("title", {}, `${rounded(each.x)}: ${rounded(each.y)}`)),
      shape("text", { class: "right", x: to + 5, y: top + 14 }, rounded(each.y)),
    ];
  });
  const height = TOP + shown.length * BAR + 24;
  parts.push(shape("text", { class: "edge", x: (LEFT + WIDTH - RIGHT) / 2, y: height - 6 }, y));
  return { parts, height, note: points.length > MOST_BARS ? `${MOST_BARS} bars of ${count(points.length)}.` : "" };
}

function lines(points, options) {
  const numeric = points.every((each) => typeof each.x === "number");
  const ordered = numeric ? points.toSorted((a, b) => a.x - b.x) : points;
  const frame = axes(ordered.map((each, nth) => ({ x: numeric ? each.x : nth, y: each.y })), options, numeric ? null : ordered.map((each) => rounded(each.x)));
  const path = frame.points.map(({ x, y }, nth) => `${nth ? "L" : "M"}${x} ${y}`).join("");
  return { ...frame, parts: [...frame.parts, shape("path", { class: "line", d: path }), ...frame.points.map(dot)] };
}

function dots(points, options) {
  const frame = axes(points.filter((each) => typeof each.x === "number"), options);
  return { ...frame, parts: [...frame.parts, ...frame.points.map(dot)] };
}

function histogram(points, { x }) {
  const values = points.map((each) => each.x).filter((each) => typeof each === "number"), [low, high] = span(values);
  const wide = (high - low) / BINS || 1, sizes = Array(BINS).fill(0);
  for (const value of values) sizes[Math.min(BINS - 1, Math.floor((value - low) / wide))] += 1;
  const frame = axes([{ x: low, y: 0 }, ...sizes.map((y, nth) => ({ x: low + (nth + 1) * wide, y }))], { x, y: "rows" });
  const [base, ...ends] = frame.points;
  const drawn = ends.map((end, nth) => {
    const from = nth ? ends[nth - 1].x : base.x;
    return shape("rect", { class: "bar", x: from + 1, y: end.y, width: Math.max(1, end.x - from - 2), height: Math.max(0, base.y - end.y) }, shape("title", {}, count(sizes[nth])));
  });
  return { ...frame, parts: [...frame.parts, ...drawn] };
}

const dot = ({ x, y, words }) => shape("circle", { class: "dot", cx: x, cy: y, r: 3.5 }, shape("title", {}, words));

// The frame of a chart with two axes, and the points at their places in it. names: of whole numbers on the x axis.
function axes(points, { x, y }, names = null) {
  const [left, right] = span(points.map((each) => each.x)), [low, high] = span(points.map((each) => each.y).concat(0));
  const across = linear(left, right, 70, WIDTH - 24), up = linear(low, high, HEIGHT - BOTTOM, TOP);
  const parts = [];
  for (const value of ticks(low, high)) {
    parts.push(shape("path", { class: "link", d: `M70 ${up(value)}H${WIDTH - 24}` }), shape("text", { class: "left", x: 62, y: up(value) + 4 }, rounded(value)));
  }
  const marks = names ? thinned(names.length) : ticks(left, right);
  for (const value of marks) parts.push(shape("text", { x: across(value), y: HEIGHT - BOTTOM + 18 }, names ? cut(names[value], 14) : rounded(value)));
  parts.push(shape("text", { class: "edge", x: WIDTH / 2, y: HEIGHT - 6 }, x), shape("text", { class: "edge right", x: 4, y: TOP }, y));
  const placed = points.map((each) => ({ x: across(each.x), y: up(each.y), words: `${names ? names[each.x] : rounded(each.x)}: ${rounded(each.y)}` }));
  return { parts, height: HEIGHT, points: placed };
}

const thinned = (length) => [...Array(length).keys()].filter((nth) => nth % Math.ceil(length / 7) === 0);
const linear = (low, high, from, to) => (value) => from + ((value - low) / (high - low)) * (to - from);

function span(values) {
  const [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
  return low === high ? [Math.min(low, 0), Math.max(high, 0) || 1] : [low, high];
}

// Round numbers between two.
function ticks(low, high) {
  const rough = (high - low) / TICKS, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find((each) => each * power >= rough) * power;
  const first = Math.ceil(low / step), last = Math.floor(high / step);
  return Array.from({ length: last - first + 1 }, (_, nth) => Number(((first + nth) * step).toPrecision(12)));
}
