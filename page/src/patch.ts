// Applies what the server's stream says has changed (src/fairlead/web/patch.py has the form).
export type Patch = { "="?: unknown; "~"?: Record<string, Patch>; "-"?: string[]; n?: number };

export function patched(old: unknown, patch: Patch): unknown {
  if ("=" in patch) return patch["="];
  const inner = patch["~"] ?? {};
  if (Array.isArray(old)) {
    const result = old.slice(0, patch.n);
    for (const [place, each] of Object.entries(inner)) result[Number(place)] = patched(result[Number(place)], each);
    return result;
  }
  const result: Record<string, unknown> = { ...(old as Record<string, unknown>) };
  for (const key of patch["-"] ?? []) delete result[key];
  for (const [key, each] of Object.entries(inner)) result[key] = patched(result[key], each);
  return result;
}
