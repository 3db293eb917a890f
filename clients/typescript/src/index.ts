/** A client of egotools over REST. Its types are made from the OpenAPI document of the server. */
import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];
/** A request or an answer may leave out what has a default. */
type Sent<T> = T extends (infer Item)[] ? Sent<Item>[] : T extends object ? { [Key in keyof T]: T[Key] } : T;

/** A whole request in `query`, or what the agent needs in `needs`, one capability a phrase; `query` is context then. */
export type RetrieveRequest = Partial<Sent<Schemas["RetrieveRequest"]>> & ({ query: string } | { needs: string[] });
export type RetrieveResponse = Schemas["RetrieveResponse"];
export type RetrieveResult = Schemas["RetrieveResult"];
export type RankedTool = Schemas["RankedTool"];
export type NeedResult = Schemas["NeedResult"];
export type GetToolResponse = Schemas["GetToolResponse"];
export type NeighborsResponse = Schemas["NeighborsResponse"];
export type GetCatalogResponse = Schemas["GetCatalogResponse"];
export type PlanRequest = Partial<Sent<Schemas["PlanRequest"]>>;
export type PlanResponse = Schemas["PlanResponse"];
export type ReportOutcomeRequest = Partial<Sent<Schemas["ReportOutcomeRequest"]>> & { request_id: string };
export type Problem = Schemas["Problem"];
type Query<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;

export interface ClientOptions {
  /** Bearer token, or a function that returns the one to use now. */
  token?: string | (() => string | Promise<string>);
  /** Whose catalogue; not needed for a server with one. */
  tenant?: string;
  /** Milliseconds of one attempt. Default: 10,000. */
  timeoutMs?: number;
  /** Attempts of one call. Default: 4. */
  attempts?: number;
}

export interface CallOptions {
  /** Ends the call and its attempts. */
  signal?: AbortSignal;
}

/** A call that failed: `problem` says what is wrong and what to do. */
export class EgotoolsError extends Error {
  constructor(readonly problem: Problem) {
    super([problem.subject && `${problem.subject}:`, problem.detail, problem.remedy].filter(Boolean).join(" "));
    this.name = "EgotoolsError";
  }

  get status(): number {
    return this.problem.status;
  }
}

const AGAIN = new Set([429, 503]);
const FIRST_WAIT_MS = 100;
const MOST_WAIT_MS = 10_000;

/** Finds tools. Every call only reads, or is kept once however often it is sent: so each may be tried again. */
export class Client {
  readonly #base: string;
  readonly #options: ClientOptions;

  /** @param baseUrl address of the REST server, `http://127.0.0.1:8080`. */
  constructor(baseUrl: string, options: ClientOptions = {}) {
    this.#base = baseUrl.replace(/\/+$/, "");
    this.#options = options;
  }

  /** Return the tools that one request needs, best first. */
  retrieve(request: RetrieveRequest, options?: CallOptions): Promise<RetrieveResponse> {
    return this.#json("POST", "/v1/retrieve", request, options);
  }

  /** Answer several requests from one snapshot; each has a response or an error. */
  async retrieveBatch(requests: RetrieveRequest[], options?: CallOptions): Promise<RetrieveResult[]> {
    type Answer = Schemas["RetrieveBatchResponse"];
    return (await this.#json<Answer>("POST", "/v1/retrieve-batch", { requests }, options)).results;
  }

  /** Return all fields of one tool. */
  getTool(id: string, query: Query<"GetTool"> = {}, options?: CallOptions): Promise<GetToolResponse> {
    return this.#json("GET", `/v1/tools/${encodeURIComponent(id)}${search(query)}`, undefined, options);
  }

  /** Return a node of the graph, and what is one edge away. */
  neighbors(query: Query<"Neighbors">, options?: CallOptions): Promise<NeighborsResponse> {
    return this.#json("GET", `/v1/neighbors${search(query)}`, undefined, options);
  }

  /** Describe the served snapshot. */
  catalog(query: Query<"GetCatalog"> = {}, options?: CallOptions): Promise<GetCatalogResponse> {
    return this.#json("GET", `/v1/catalog${search(query)}`, undefined, options);
  }

  /** Plan the calls that lead to goal tools. Nothing is called. */
  plan(request: PlanRequest, options?: CallOptions): Promise<PlanResponse> {
    return this.#json("POST", "/v1/plan", request, options);
  }

  /** Say which of the returned tools were used for a request. */
  async reportOutcome(request: ReportOutcomeRequest, options?: CallOptions): Promise<void> {
    await this.#json("POST", "/v1/outcomes", request, options);
  }

  async #json<T>(method: string, path: string, body?: unknown, options?: CallOptions): Promise<T> {
    return (await (await this.#send(method, path, body, options)).json()) as T;
  }

  /** Send until an answer is no "try again". Of a stream only the wait for its head is timed. */
  async #send(
    method: string,
    path: string,
    body: unknown,
    { signal }: CallOptions = {},
  ): Promise<Response> {
    const { attempts = 4, timeoutMs = 10_000 } = this.#options;
    const sent = body === undefined ? undefined : JSON.stringify(body);
    for (let attempt = 1; ; attempt += 1) {
      const last = attempt >= attempts;
      const timer = new AbortController();
      const timeout = setTimeout(() => timer.abort(new DOMException("no answer in time", "TimeoutError")), timeoutMs);
      let waitMs = FIRST_WAIT_MS * 3 ** (attempt - 1);
      try {
        const response = await fetch(this.#base + path, {
          method,
          headers: await this.#headers(sent !== undefined, timeoutMs),
          body: sent ?? null,
          signal: signal ? AbortSignal.any([signal, timer.signal]) : timer.signal,
        });
        if (response.ok) {
          return new Response(await response.arrayBuffer(), response); // within the time of the attempt
        }
        const problem = await problemOf(response);
        const seconds = Number(response.headers.get("retry-after") ?? "NaN");
        if (last || !AGAIN.has(response.status) || (response.status === 429 && Number.isNaN(seconds))) {
          throw new EgotoolsError(problem);
        }
        if (seconds > 0) waitMs = seconds * 1000;
      } catch (error) {
        if (error instanceof EgotoolsError || last || signal?.aborted) throw error; // else the connection failed, or it took too long
      } finally {
        clearTimeout(timeout);
      }
      await wait(Math.min(waitMs, MOST_WAIT_MS) * (0.75 + Math.random() / 2), signal);
    }
  }

  async #headers(hasBody: boolean, timeoutMs: number): Promise<Record<string, string>> {
    const { token, tenant } = this.#options;
    const bearer = typeof token === "function" ? await token() : token;
    return {
      "egotools-timeout-ms": String(Math.min(60_000, Math.max(1, Math.round(timeoutMs)))),
      ...(hasBody ? { "content-type": "application/json" } : {}),
      ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
      ...(tenant ? { "egotools-tenant": tenant } : {}),
    };
  }
}

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}

/** The schema of a tool in the format that was asked for, ready for a model's `tools`. */
export function schemaOf(tool: { schema_json: string }): unknown {
  return tool.schema_json ? JSON.parse(tool.schema_json) : undefined;
}

function search(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).filter((each) => each != null).map((each) => [name, String(each)]),
  );
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
}

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text();
  try {
    const found = JSON.parse(text) as Problem;
    if (typeof found.status === "number" && typeof found.detail === "string") return found;
  } catch {
    // a proxy between may answer in words of its own
  }
  const detail = `The server answered ${response.status}.`;
  return { type: "about:blank", title: response.statusText, status: response.status, detail, reason: "HTTP" } as Problem;
}
