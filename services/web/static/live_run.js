// A run at the server, of a request or a question: its events are the answer to one request, and whoever ends that ends the run.

import { errorOf, stream } from "./api.js";

const GONE = { message: "The connection to the server is lost, and the run with it", remedy: "Ask again" };

// Hands each event to hear, and returns what ends the run; failed is told why there is no run, or none any more.
export function startRun(path, body, { hear, failed }) {
  const ending = new AbortController();
  const run = { ended: false, cancel: () => { run.ended = true; ending.abort(); } };
  const listen = async () => {
    for await (const event of stream(path, body, ending.signal)) {
      if (run.ended) return;
      run.ended = ["Answered", "QuestionAnswered", "Failed"].includes(event.event);
      hear(event);
    }
    if (!run.ended) failed(GONE);
  };
  listen().catch((failure) => {
    if (!run.ended) failed(failure instanceof TypeError ? GONE : errorOf(failure));
    run.ended = true;
  });
  return run;
}
