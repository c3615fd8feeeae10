// Records: from the file itself where it was saved with them, else from the server, followed by a stream.
import { useEffect, useState } from "preact/hooks";
import { patched, type Patch } from "./patch";

export type Json = any; // records are described in docs/ui.md

export type About = {
  version: string;
  title: string;
  live: boolean;
  saved?: string[];
  simulation: { policies: string[]; seconds: number; step: number } | null;
};

const TOKEN = "fairlead-token";
const saved: Record<string, Json> | null = (() => {
  const text = document.getElementById("records")?.textContent;
  return text ? JSON.parse(text) : null;
})();

export const isSaved = saved !== null;
export const has = (view: string) => saved === null || view in saved;

export class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

function headers(): HeadersInit {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { "X-Fairlead-Token": token } : {};
}

async function opened(path: string, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(path, { headers: headers(), signal, credentials: "omit" });
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try {
    const { error } = await response.json();
    message = error.path ? `${error.path}: ${error.message}` : error.message;
  } catch {
    // no JSON: the status says it
  }
  throw new Refused(response.status, message);
}

export async function asked(view: string, query: Record<string, string | string[] | undefined> = {}, signal?: AbortSignal) {
  if (saved) {
    if (view in saved && Object.keys(query).length === 0) return saved[view];
    throw new Refused(404, "This is a saved file: questions need `fairlead ui`.");
  }
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined && each !== "") all.append(name, each);
  const text = all.toString();
  return (await opened(`${view}.json${text ? `?${text}` : ""}`, signal)).json() as Promise<Json>;
}

// --- streams -------------------------------------------------------------------------------------------------------

type Listener = (record: Json) => void;
type Followed = { record: Json; revision: number; listeners: Set<Listener> };

// One connection for all views that are shown: browsers allow few of them.
class Feed {
  private readonly views = new Map<string, Followed>();
  private ending: AbortController | null = null;
  private due = 0;

  last(view: string): Json {
    return this.views.get(view)?.record;
  }

  listen(view: string, listener: Listener): () => void {
    if (!this.views.has(view)) {
      this.views.set(view, { record: undefined, revision: 0, listeners: new Set() });
      this.restart();
    }
    const followed = this.views.get(view)!;
    followed.listeners.add(listener);
    if (followed.record !== undefined) listener(followed.record);
    return () => {
      followed.listeners.delete(listener);
      this.restart();
    };
  }

  // Views come and go together when another page is shown, so that one new connection serves them all.
  private restart(): void {
    clearTimeout(this.due);
    this.due = window.setTimeout(() => {
      const before = [...this.views.keys()].join();
      for (const [view, followed] of this.views) if (followed.listeners.size === 0) this.views.delete(view);
      if (this.ending && before === [...this.views.keys()].join() && before === this.open) return;
      this.ending?.abort();
      this.ending = null;
      if (this.views.size) void this.run((this.ending = new AbortController()));
    }, 20);
  }

  private open = "";

  private async run(ending: AbortController): Promise<void> {
    for (let failures = 0; !ending.signal.aborted; failures++) {
      try {
        await this.follow(ending.signal, () => (failures = 0));
      } catch (error) {
        if (ending.signal.aborted) return;
        connection.set(error instanceof Refused ? error : new Refused(0, "The server does not answer; trying again."));
      }
      await new Promise((done) => setTimeout(done, Math.min(500 * 2 ** failures, 5000)));
    }
  }

  private async follow(signal: AbortSignal, well: () => void): Promise<void> {
    this.open = [...this.views.keys()].join();
    const query = [...this.views].map(([view, { revision }]) => `view=${encodeURIComponent(view)}:${revision}`).join("&");
    const response = await opened(`stream?${query}`, signal);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new Refused(0, "The server closed the connection; trying again.");
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.take(JSON.parse(line));
      well();
      connection.set(null);
    }
  }

  private take(news: { view?: string; revision?: number; record?: Json; patch?: Patch }): void {
    const followed = this.views.get(news.view ?? "");
    if (!followed || news.revision === undefined) return;
    followed.revision = news.revision;
    if (news.record !== undefined) followed.record = news.record;
    else if (news.patch) followed.record = patched(followed.record, news.patch);
    else return;
    for (const listener of followed.listeners) listener(followed.record);
  }
}

class Shared<T> {
  private readonly listeners = new Set<(value: T) => void>();
  constructor(public value: T) {}
  set(value: T): void {
    if (value === this.value) return;
    this.value = value;
    for (const listener of this.listeners) listener(value);
  }
  use(): T {
    const [value, setValue] = useState(this.value);
    useEffect(() => {
      setValue(() => this.value);
      const listener = (next: T) => setValue(() => next);
      this.listeners.add(listener);
      return () => void this.listeners.delete(listener);
    }, []);
    return value;
  }
}

export const connection = new Shared<Refused | null>(null);
const feed = new Feed();

// The record of a view, followed while it is shown; of one moment where the address names one.
export function useView(view: string | null, moment: Record<string, string>): Json | undefined {
  const [record, setRecord] = useState<Json>(undefined);
  const key = JSON.stringify(moment);
  useEffect(() => {
    if (view === null) return setRecord(undefined);
    if (saved) return setRecord(saved[view]);
    if (moment.at === undefined) {
      setRecord(feed.last(view));
      return feed.listen(view, (next) => setRecord(next));
    }
    const ending = new AbortController();
    asked(view, moment, ending.signal).then(setRecord, (error) => ending.signal.aborted || connection.set(error));
    return () => ending.abort();
  }, [view, key]);
  return record;
}

// The answer to a question; asked again when the question or `version` changes. The last answer stays meanwhile.
export function useAnswer(view: string, query: Record<string, string | string[] | undefined> | null, version?: unknown) {
  const [answer, setAnswer] = useState<{ record?: Json; error?: string; asking: boolean }>({ asking: false });
  const key = JSON.stringify(query);
  useEffect(() => {
    if (!query) return setAnswer({ asking: false });
    const ending = new AbortController();
    setAnswer((last) => ({ ...last, asking: true }));
    asked(view, query, ending.signal).then(
      (record) => setAnswer({ record, asking: false }),
      (error: Error) => ending.signal.aborted || setAnswer({ error: error.message, asking: false }),
    );
    return () => ending.abort();
  }, [view, key, version]);
  return answer;
}
