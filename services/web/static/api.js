// The requests of the page, all to its own server.

export class Failure extends Error {
  constructor(error) {
    super(error.message);
    this.error = error;
  }
}

async function fetched(path, options) {
  try {
    return await fetch(path, { ...options, credentials: "same-origin" });
  } catch {
    throw new Failure({ message: "the server does not answer", remedy: "See whether it still runs, and try again" });
  }
}

async function read(path, response) {
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = { error: { message: text || `status ${response.status}` } };
  }
  if (response.status === 401 && path !== "/api/session") dispatchEvent(new Event("refused"));
  if (!response.ok) throw new Failure(body.error);
  return body;
}

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return read(path, await fetched(query ? `${path}?${query}` : path, {}));
}

const posted = (body) => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export async function post(path, body = {}) {
  return read(path, await fetched(path, posted(body)));
}

// The events that a request is answered with, each as it comes.
export async function* stream(path, body, signal) {
  const response = await fetched(path, { ...posted(body), signal });
  if (!response.ok) await read(path, response);
  let rest = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data: ")) yield JSON.parse(line.slice(6));
  }
}

export const session = () => get("/api/session");

// The error of a failed action as the page shows it; a fault of the page itself goes on to the console.
export function errorOf(failure) {
  if (failure instanceof Failure) return failure.error;
  console.error(failure);
  return { message: "the page has a fault", remedy: "Load it again" };
}
