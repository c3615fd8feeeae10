// Where each node's tile lies: groups as blocks, side by side where they are small.
export type SiteNodes = {
  cluster: string;
  names: string[];
  resources: string[];
  allocatable: number[][];
  used: number[][];
  after: number[][];
  closed: number[];
  groups: Record<string, { label: string; values: string[]; codes: number[] }>;
};

export type Tile = { site: number; row: number; x: number; y: number };
export type Block = { title: string; count: number; x: number; y: number; width: number };
export type Layout = { size: number; gap: number; width: number; height: number; tiles: Tile[]; blocks: Block[] };

const SIZES = [128, 112, 96, 84, 72, 60, 50, 42, 34, 28, 23, 19, 16, 13, 11, 9, 7, 5, 4];
// Width to height of a block, tried in this order; the last is as wide as there is room.
const SHAPES = [2.2, 1, 1e9];
const TITLE = 24;
const BETWEEN = 18;

type Group = { title: string; members: { site: number; row: number }[] };

const natural = new Intl.Collator("en", { numeric: true });

export function grouped(sites: SiteNodes[], by: string): Group[] {
  const groups: Group[] = [];
  sites.forEach((site, number) => {
    const found = new Map<string, Group>();
    const labels = by === "cluster" ? undefined : site.groups[by];
    const order = site.names.map((_, row) => row).sort((a, b) => natural.compare(site.names[a]!, site.names[b]!));
    for (const row of order) {
      const code = labels ? labels.codes[row]! : -1;
      const value = labels ? (code < 0 ? `no ${by}` : labels.values[code]!) : "";
      const title = [site.cluster, value].filter(Boolean).join(" · ") || "all nodes";
      if (!found.has(title)) found.set(title, { title, members: [] });
      found.get(title)!.members.push({ site: number, row });
    }
    groups.push(...[...found.values()].sort((a, b) => natural.compare(a.title, b.title)));
  });
  return groups;
}

export function laidOut(groups: Group[], width: number, height: number): Layout {
  let last: Layout | null = null;
  for (const size of SIZES) {
    for (const shape of SHAPES) {
      last = attempt(groups, width, size, shape);
      if (last.height <= height) return last;
    }
  }
  return last!;
}

function attempt(groups: Group[], width: number, size: number, shape: number): Layout {
  const gap = size >= 28 ? 4 : size >= 13 ? 2 : 1;
  const step = size + gap;
  const most = Math.max(Math.floor((width + gap) / step), 1);
  const tiles: Tile[] = [];
  const blocks: Block[] = [];
  let x = 0;
  let y = 0;
  let shelf = 0;
  for (const group of groups) {
    const least = Math.ceil(Math.min(Math.max(group.title.length * 7 + 40, 90), width) / step);
    const wanted = groups.length === 1 ? most : Math.ceil(Math.sqrt(group.members.length * shape));
    const columns = Math.min(Math.max(wanted, least), most);
    const block = columns * step - gap;
    if (x > 0 && x + block > width) {
      x = 0;
      y += shelf + BETWEEN;
      shelf = 0;
    }
    blocks.push({ title: group.title, count: group.members.length, x, y, width: block });
    group.members.forEach((member, place) => {
      tiles.push({ ...member, x: x + (place % columns) * step, y: y + TITLE + Math.floor(place / columns) * step });
    });
    shelf = Math.max(shelf, TITLE + Math.ceil(group.members.length / columns) * step - gap);
    x += block + BETWEEN;
  }
  return { size, gap, width, height: y + shelf + 2, tiles, blocks };
}
