// Elements are made one by one, and text stays text: nothing that comes from elsewhere is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick" || name === "onsubmit") node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== "" && child !== false && child !== null && child !== undefined));
  return node;
}

export const element = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
export const shape = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);
export const byId = (id) => document.getElementById(id);
export const count = (number) => number.toLocaleString("en");
export const worded = (value) => (typeof value === "string" ? value : JSON.stringify(value));
export const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

// A text of a document without the marks of Markdown.
export const plain = (text) =>
  text.replace(/!?\[([^\]]*)\]\([^)\s]*\)/g, "$1").replace(/(\*\*|__|`+)(.*?)\1/g, "$2").replace(/^\s*(#{1,6}|>)\s+/gm, "");

// What a tool's document says beside its title.
export function described({ title, description }) {
  const text = plain(description).trim(), first = text.split(/(?<=[.!?])\s/, 1)[0];
  return first.replace(/[.!?]$/, "").toLowerCase() === (title ?? "").trim().replace(/[.!?]$/, "").toLowerCase() ? text.slice(first.length).trim() : text;
}

export function showProblem(box, error) {
  box.hidden = !error;
  box.replaceChildren();
  if (!error) return;
  const where = error.subject ? `${error.subject}: ` : "";
  box.append(element("p", {}, `${where}${error.message}`));
  if (error.remedy) box.append(element("p", {}, error.remedy));
}

export const definitions = (pairs) =>
  element("dl", {}, ...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
