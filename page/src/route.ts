// The address: `#/view?name=value`. Everything a view shows is in it, so that it can be shared.
import { useEffect, useState } from "preact/hooks";

export type Route = { view: string; query: URLSearchParams };

export function parsed(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path || "overview", query: new URLSearchParams(query) };
}

export function address(view: string, query: Record<string, string | undefined> = {}, keepMoment = true): string {
  const all = new URLSearchParams();
  const now = parsed(location.hash).query;
  if (keepMoment) for (const name of ["policy", "at"]) if (now.has(name)) all.set(name, now.get(name)!);
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") all.set(name, value);
  const text = all.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

// Change some of the address in place; `undefined` takes a name out.
export function steer(changes: Record<string, string | undefined>, replace = true): void {
  const { view, query } = parsed(location.hash);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const hash = `#/${view}${text ? `?${text}` : ""}`;
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    window.addEventListener("hashchange", changed);
    window.addEventListener("popstate", changed);
    return () => {
      window.removeEventListener("hashchange", changed);
      window.removeEventListener("popstate", changed);
    };
  }, []);
  return parsed(hash);
}
