// A run at the server, of a request or a question: its events, and its end by who looks at it.

import { errorOf, post } from "./api.js";
import { showProblem } from "./dom.js";

// Hands each event to hear, and returns the source of them. The box problem says when the connection is lost; failed is told when the run is gone.
export function followRun(run, { hear, problem, failed }) {
  const source = new EventSource(`/api/runs/${run}/events`);
  source.onmessage = (message) => hear(JSON.parse(message.data));
  source.onopen = () => showProblem(problem, null);
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) failed({ message: "the server does not know this run any more", remedy: "Ask again" });
    else showProblem(problem, { message: "The connection to the server is lost", remedy: "The page tries again by itself" });
  };
  return source;
}

export async function cancelRun(run, { status, problem }) {
  status.textContent = "Cancelling …";
  try {
    await post(`/api/runs/${run}/cancel`);
  } catch (failure) {
    showProblem(problem, errorOf(failure));
  }
}
