// The requests of the page, all to its own server.

export class Failure extends Error {
  constructor(error) {
    super(error.message);
    this.error = error;
  }
}

async function answered(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, credentials: "same-origin" });
  } catch {
    throw new Failure({ message: "the server does not answer", remedy: "See whether it still runs, and try again" });
  }
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

export function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return answered(query ? `${path}?${query}` : path, {});
}

export function post(path, body = {}) {
  return answered(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

export const session = () => get("/api/session");

// The error of a failed action as the page shows it; a fault of the page itself goes on to the console.
export function errorOf(failure) {
  if (failure instanceof Failure) return failure.error;
  console.error(failure);
  return { message: "the page has a fault", remedy: "Load it again" };
}
