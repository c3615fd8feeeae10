// Every node a tile on a canvas: thousands of them stay fluid. Keyboard and pointer choose one; its numbers are text.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { amount, percent } from "./amounts";
import { grouped, laidOut, type Layout, type SiteNodes, type Tile } from "./layout";
import { download, png } from "./save";

export type MapRecord = { planned: boolean; sites: SiteNodes[] };
export type Which = "used" | "after";

type Props = {
  record: MapRecord;
  resource: string;
  group: string;
  which: Which;
  name: string;
  height?: number;
  selected?: string;
  marked?: Map<string, number>;
  onSelect?: (node: string) => void;
};

export function share(site: SiteNodes, resource: string, row: number, which: Which): number | null {
  const column = site.resources.indexOf(resource);
  const whole = column < 0 ? 0 : site.allocatable[column]![row]!;
  return whole > 0 ? site[which][column]![row]! / whole : null;
}

export function NodeMap(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [place, setPlace] = useState<number | null>(null);
  const [focused, setFocused] = useState(false);
  const look = useLook();
  const groups = useMemo(() => grouped(props.record.sites, props.group), [props.record, props.group]);
  const layout = useMemo(() => laidOut(groups, Math.max(width, 200), props.height ?? Math.max(window.innerHeight - 330, 420)), [groups, width, props.height]);
  const total = layout.tiles.length;

  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);

  useEffect(() => {
    if (!width) return;
    const frame = requestAnimationFrame(() => paint(canvas.current!, layout, props, look));
    return () => cancelAnimationFrame(frame);
  }, [layout, props.record, props.resource, props.which, props.marked, width, look]);

  const tile = place === null ? undefined : layout.tiles[place];
  const chosen = props.selected === undefined ? -1 : layout.tiles.findIndex((each) => named(props.record, each) === props.selected);

  const at = (event: PointerEvent): number | null => {
    const frame = canvas.current!.getBoundingClientRect();
    return hit(layout, event.clientX - frame.left, event.clientY - frame.top);
  };
  const choose = (number: number | null) => {
    if (number !== null && layout.tiles[number]) props.onSelect?.(named(props.record, layout.tiles[number]!));
  };
  const pressed = (event: KeyboardEvent) => {
    const now = place ?? (chosen >= 0 ? chosen : 0);
    const next = moved(layout, now, event.key);
    if (next !== null) {
      event.preventDefault();
      setPlace(next);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(now);
    }
  };
  const words = tile ? told(props.record, tile) : `${total} nodes; arrow keys go from node to node, Enter shows one`;
  return (
    <div class="nodemap">
      <div
        ref={box}
        class="tiles"
        role="slider"
        tabIndex={0}
        aria-label={`${props.name}: nodes by ${props.resource}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(total - 1, 0)}
        aria-valuenow={place ?? 0}
        aria-valuetext={words}
        onKeyDown={pressed}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onPointerMove={(event) => setPlace(at(event))}
        onPointerLeave={() => setPlace(null)}
        onClick={(event) => choose(at(event as unknown as PointerEvent))}
      >
        <canvas ref={canvas} style={{ width: `${layout.width}px`, height: `${layout.height}px` }} />
        {chosen >= 0 && <Frame layout={layout} tile={layout.tiles[chosen]!} kind="selected" />}
        {tile && <Frame layout={layout} tile={tile} kind={focused ? "cursor focused" : "cursor"} />}
        {tile && <Tip layout={layout} tile={tile} record={props.record} marked={props.marked} />}
      </div>
      <Legend resource={props.resource} />
      <p class="tools">
        <button type="button" onClick={() => download(`${props.name}.svg`, new Blob([drawn(layout, props, look)], { type: "image/svg+xml" }))}>
          Save SVG
        </button>
        <button type="button" onClick={() => void png(drawn(layout, props, look)).then((blob) => download(`${props.name}.png`, blob))}>
          Save PNG
        </button>
      </p>
    </div>
  );
}

function Frame(props: { layout: Layout; tile: Tile; kind: string }) {
  const { size } = props.layout;
  return <div class={`frame ${props.kind}`} style={{ left: `${props.tile.x - 2}px`, top: `${props.tile.y - 2}px`, width: `${size + 4}px`, height: `${size + 4}px` }} />;
}

function Tip(props: { layout: Layout; tile: Tile; record: MapRecord; marked?: Map<string, number> }) {
  const { tile, layout } = props;
  const site = props.record.sites[tile.site]!;
  const right = tile.x > layout.width / 2;
  const style: Record<string, string> = { top: `${tile.y + layout.size + 8}px` };
  if (right) style.right = `${Math.max(layout.width - tile.x - layout.size, 0)}px`;
  else style.left = `${tile.x}px`;
  const here = props.marked?.get(site.names[tile.row]!);
  return (
    <div class="tip" style={style} aria-hidden="true">
      <strong>{site.names[tile.row]}</strong>
      {site.closed.includes(tile.row) && <em> takes nothing new</em>}
      <table>
        <tbody>
          {site.resources.map((name, column) => {
            const whole = site.allocatable[column]![tile.row]!;
            const used = site.used[column]![tile.row]!;
            const after = site.after[column]![tile.row]!;
            return whole ? (
              <tr>
                <th>{name}</th>
                <td>{percent(used / whole)}{after !== used ? ` → ${percent(after / whole)}` : ""}</td>
                <td>{amount(name, Math.max(whole - after, 0))} left</td>
              </tr>
            ) : null;
          })}
        </tbody>
      </table>
      {here ? <p>{here} of this workload here</p> : null}
    </div>
  );
}

function Legend(props: { resource: string }) {
  return (
    <p class="legend" aria-label="Legend">
      <span>{props.resource}: 0 %</span>
      <span class="ramp" aria-hidden="true" />
      <span>100 %</span>
      <span class="swatch over" aria-hidden="true" /> more than it has
      <span class="swatch shut" aria-hidden="true" /> takes nothing new
      <span class="swatch none" aria-hidden="true" /> has none of it
    </p>
  );
}

// --- words --------------------------------------------------------------------------------------------------------------

export const named = (record: MapRecord, tile: Tile) => record.sites[tile.site]!.names[tile.row]!;

function told(record: MapRecord, tile: Tile): string {
  const site = record.sites[tile.site]!;
  const parts = site.resources.flatMap((name, column) => {
    const whole = site.allocatable[column]![tile.row]!;
    return whole ? [`${name} ${percent(site.after[column]![tile.row]! / whole)}, ${amount(name, Math.max(whole - site.after[column]![tile.row]!, 0))} left`] : [];
  });
  return `${site.names[tile.row]}${site.cluster ? ` of ${site.cluster}` : ""}: ${parts.join("; ")}`;
}

function moved(layout: Layout, place: number, key: string): number | null {
  const last = layout.tiles.length - 1;
  if (key === "ArrowRight") return Math.min(place + 1, last);
  if (key === "ArrowLeft") return Math.max(place - 1, 0);
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (key !== "ArrowDown" && key !== "ArrowUp") return null;
  const from = layout.tiles[place];
  if (!from) return 0;
  const sign = key === "ArrowDown" ? 1 : -1;
  let best: number | null = null;
  let nearest = Infinity;
  layout.tiles.forEach((tile, number) => {
    const down = (tile.y - from.y) * sign;
    if (down <= 0) return;
    const far = down * 1000 + Math.abs(tile.x - from.x);
    if (far < nearest) [nearest, best] = [far, number];
  });
  return best ?? place;
}

function hit(layout: Layout, x: number, y: number): number | null {
  const step = layout.size + layout.gap;
  const found = layout.tiles.findIndex((tile) => x >= tile.x && x < tile.x + step && y >= tile.y && y < tile.y + step);
  return found < 0 ? null : found;
}

// --- colours ----------------------------------------------------------------------------------------------------------------

type Look = { stops: string[]; over: string; none: string; ink: string; soft: string; fresh: string; ground: string; text: string };

function read(): Look {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    stops: [0, 1, 2, 3, 4].map((place) => of(`--use-${place}`)),
    over: of("--over"), none: of("--none"), ink: of("--ink"), soft: of("--soft"), fresh: of("--fresh"), ground: of("--ground"), text: of("--ink"),
  };
}

function useLook(): Look {
  const [look, setLook] = useState(read);
  useEffect(() => {
    const changed = () => setLook(read());
    const query = matchMedia("(prefers-color-scheme: dark)");
    query.addEventListener("change", changed);
    const watcher = new MutationObserver(changed);
    watcher.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    changed();
    return () => {
      query.removeEventListener("change", changed);
      watcher.disconnect();
    };
  }, []);
  return look;
}

function rgb(text: string): [number, number, number] {
  const hex = text.replace("#", "");
  return [0, 2, 4].map((place) => parseInt(hex.slice(place, place + 2), 16)) as [number, number, number];
}

function colour(look: Look, value: number | null): string {
  if (value === null) return look.none;
  if (value > 1.0001) return look.over;
  const at = Math.min(Math.max(value, 0), 1) * 4;
  const low = Math.min(Math.floor(at), 3);
  const [a, b] = [rgb(look.stops[low]!), rgb(look.stops[low + 1]!)];
  return `rgb(${a.map((part, place) => Math.round(part + (b[place]! - part) * (at - low))).join(",")})`;
}

function onto(fill: string): string {
  const [r, g, b] = fill.startsWith("#") ? rgb(fill) : (fill.match(/\d+/g)!.map(Number) as [number, number, number]);
  return 0.299 * r! + 0.587 * g! + 0.114 * b! > 140 ? "#10202c" : "#ffffff";
}

// --- drawing ----------------------------------------------------------------------------------------------------------------

function paint(canvas: HTMLCanvasElement, layout: Layout, props: Props, look: Look): void {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(layout.width * scale);
  canvas.height = Math.round(layout.height * scale);
  const paper = canvas.getContext("2d")!;
  paper.scale(scale, scale);
  paper.font = "600 13px system-ui, sans-serif";
  paper.fillStyle = look.text;
  for (const block of layout.blocks) paper.fillText(`${block.title} (${block.count})`, block.x, block.y + 15, Math.max(block.width, 60));
  const shut = props.record.sites.map((site) => new Set(site.closed));
  for (const tile of layout.tiles) {
    const site = props.record.sites[tile.site]!;
    const value = share(site, props.resource, tile.row, props.which);
    const fill = colour(look, value);
    paper.fillStyle = fill;
    paper.fillRect(tile.x, tile.y, layout.size, layout.size);
    if (shut[tile.site]!.has(tile.row)) cross(paper, tile, layout.size, look);
    if (layout.size >= 42) inside(paper, tile, layout.size, site, value, onto(fill), props);
    const marks = props.marked?.get(site.names[tile.row]!);
    if (marks) {
      paper.strokeStyle = look.fresh;
      const wide = layout.size >= 28 ? 3 : 2;
      paper.lineWidth = wide;
      paper.strokeRect(tile.x + wide / 2, tile.y + wide / 2, layout.size - wide, layout.size - wide);
    }
  }
}

function cross(paper: CanvasRenderingContext2D, tile: Tile, size: number, look: Look): void {
  paper.strokeStyle = look.soft;
  paper.lineWidth = 1;
  paper.beginPath();
  paper.moveTo(tile.x, tile.y);
  paper.lineTo(tile.x + size, tile.y + size);
  paper.moveTo(tile.x + size, tile.y);
  paper.lineTo(tile.x, tile.y + size);
  paper.stroke();
}

function inside(paper: CanvasRenderingContext2D, tile: Tile, size: number, site: SiteNodes, value: number | null, ink: string, props: Props): void {
  paper.fillStyle = ink;
  const name = site.names[tile.row]!;
  if (size >= 60) {
    paper.font = "11px system-ui, sans-serif";
    paper.fillText(name.length * 6 > size ? `…${name.slice(-Math.floor(size / 6.6))}` : name, tile.x + 5, tile.y + 14, size - 8);
  }
  paper.font = `600 ${size >= 60 ? 15 : 12}px system-ui, sans-serif`;
  paper.fillText(value === null ? "–" : percent(value), tile.x + 5, tile.y + (size >= 60 ? 32 : size / 2 + 4), size - 8);
  if (size >= 72) pods(paper, tile, size, site, ink, props);
}

// A little square a pod: full where it runs, a ring where the plan puts one.
function pods(paper: CanvasRenderingContext2D, tile: Tile, size: number, site: SiteNodes, ink: string, props: Props): void {
  const column = site.resources.indexOf("pods");
  if (column < 0) return;
  const running = site.used[column]![tile.row]!;
  const all = props.which === "after" ? Math.max(site.after[column]![tile.row]!, running) : running;
  const step = size >= 96 ? 12 : 9;
  const across = Math.floor((size - 10) / step);
  const most = across * Math.floor((size - 44) / step);
  for (let number = 0; number < Math.min(all, most); number++) {
    const x = tile.x + 5 + (number % across) * step;
    const y = tile.y + 41 + Math.floor(number / across) * step;
    if (number < running) {
      paper.fillStyle = ink;
      paper.fillRect(x, y, step - 3, step - 3);
    } else {
      paper.strokeStyle = ink;
      paper.lineWidth = 1.2;
      paper.strokeRect(x + 0.5, y + 0.5, step - 4, step - 4);
    }
  }
}

const safe = (text: string) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]!);

function drawn(layout: Layout, props: Props, look: Look): string {
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${layout.width}" height="${layout.height}" viewBox="0 0 ${layout.width} ${layout.height}" font-family="system-ui, sans-serif">`,
    `<rect width="100%" height="100%" fill="${look.ground}"/>`,
    ...layout.blocks.map((block) => `<text x="${block.x}" y="${block.y + 15}" font-size="13" font-weight="600" fill="${look.text}">${safe(block.title)} (${block.count})</text>`),
  ];
  for (const tile of layout.tiles) {
    const site = props.record.sites[tile.site]!;
    const value = share(site, props.resource, tile.row, props.which);
    const fill = colour(look, value);
    const words = `${site.names[tile.row]}: ${value === null ? "–" : percent(value)}`;
    parts.push(`<rect x="${tile.x}" y="${tile.y}" width="${layout.size}" height="${layout.size}" fill="${fill}"><title>${safe(words)}</title></rect>`);
    if (layout.size >= 42) parts.push(`<text x="${tile.x + 5}" y="${tile.y + 16}" font-size="12" fill="${onto(fill)}">${value === null ? "–" : percent(value)}</text>`);
  }
  return `${parts.join("\n")}</svg>`;
}
