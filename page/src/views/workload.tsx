// A workload's path: fleet → tier → queue → node → disk, its sentences, why not a node, and what would change it.
import { plural } from "../amounts";
import { isSaved, useAnswer, useView, type Json } from "../data";
import { NodeMap, type MapRecord } from "../nodemap";
import { Card, Empty, Picture, Waiting } from "../parts";
import { steer } from "../route";
import { useMapChoice } from "./map";
import { Buttons } from "./whatif";

export function Workload(props: { moment: Record<string, string>; query: URLSearchParams }) {
  const key = props.query.get("workload") ?? "";
  const list = useView("workloads", props.moment);
  const { record, error } = useAnswer("workload", key && !isSaved ? { workload: key, ...props.moment } : null, list);
  const map: MapRecord | undefined = useView("map", props.moment);
  const saved = useView(isSaved ? "paths" : null, props.moment);
  const shown = isSaved ? saved?.[key] : record;
  if (error) return <Empty>{error}</Empty>;
  if (!shown) return <Waiting />;
  return (
    <>
      <h2 class="title">{shown.title} <small>{key.split("/")[0]}</small></h2>
      <Card title="Path" note="From the fleet to the disk: how many replicas each level lets through, and where they go.">
        <Path record={shown} />
      </Card>
      <Card title="Why">
        <pre class="lines">{shown.explain.join("\n")}</pre>
      </Card>
      {map && <WhyNot record={shown} map={map} query={props.query} moment={props.moment} />}
      {!isSaved && map && <Buttons map={map} workload={key} namespace={key.split("/")[1] ?? ""} replicas={shown.sites.reduce((sum: number, site: Json) => sum + site.replicas, 0)} />}
    </>
  );
}

function placements(record: Json): Map<string, number> {
  const found = new Map<string, number>();
  for (const site of record.sites) {
    for (const [node, count] of Object.entries<number>(site.runs)) found.set(node, (found.get(node) ?? 0) + count);
    for (const part of site.parts) for (const [node, count] of Object.entries<number>(part.placements)) found.set(node, (found.get(node) ?? 0) + count);
  }
  return found;
}

function WhyNot(props: { record: Json; map: MapRecord; query: URLSearchParams; moment: Record<string, string> }) {
  const { resource, group, tools } = useMapChoice(props.map, props.query);
  const node = props.query.get("node") ?? "";
  const [kind = "", ...rest] = String(props.record.workload).split("/");
  const { record, error } = useAnswer("explain", node ? { what: `${kind.toLowerCase()}/${rest.join("/")}`, whyNot: node, ...props.moment } : null, props.map);
  return (
    <Card title="Why not this node?" tools={tools} note="Framed tiles have replicas of this workload. Choose a node to ask why it gets no more.">
      <NodeMap record={props.map} resource={resource} group={group} which={props.map.planned ? "after" : "used"} name={`nodes-of-${props.record.title}`.replace(/[^a-z0-9-]+/gi, "-")} height={340} selected={node || undefined} marked={placements(props.record)} onSelect={(name) => steer({ node: name === node ? undefined : name })} />
      <div role="status" class="answer">
        {error && <Empty>{error}</Empty>}
        {node && record && record.lines.map((line: string) => <p>{line}</p>)}
      </div>
    </Card>
  );
}

// --- the drawing ------------------------------------------------------------------------------------------------------------

const COLUMN = 200;
const BETWEEN = 44;
const LINE = 16;
const LEVELS = ["Fleet", "Tier", "Queue", "Node", "Disk"];

type Box = { column: number; row: number; lines: string[]; weight: number; kind?: string };

function Path(props: { record: Json }) {
  const rows = boxes(props.record);
  const heights: number[] = [];
  for (const box of rows) heights[box.row] = Math.max(heights[box.row] ?? 0, box.lines.length * LINE + 18);
  const tops = heights.map((_, row) => 34 + heights.slice(0, row).reduce((sum, height) => sum + height + 18, 0));
  const height = Math.max(...tops.map((top, row) => top + heights[row]!), 60) + 10;
  const width = LEVELS.length * COLUMN + (LEVELS.length - 1) * BETWEEN;
  const most = Math.max(...rows.map((box) => box.weight), 1);
  const x = (column: number) => column * (COLUMN + BETWEEN);
  const middle = (box: Box) => tops[box.row]! + heights[box.row]! / 2;
  const top = (box: Box) => middle(box) - (box.lines.length * LINE + 14) / 2;
  return (
    <Picture name={`path-${props.record.title}`.replace(/[^a-z0-9-]+/gi, "-")}>
      <div class="wide" tabIndex={0} role="group" aria-label="Drawing of the path">
        <svg class="picture path" viewBox={`0 0 ${width} ${height}`} style={{ minWidth: "720px" }} role="img" aria-label={rows.map((box) => `${LEVELS[box.column]}: ${box.lines.join(", ")}`).join(". ")}>
          {LEVELS.map((level, column) => (
            <text class="head" x={x(column)} y="18">{level}</text>
          ))}
          {rows.map((box) => {
            const before = rows.filter((each) => each.column === box.column - 1 && (each.row === box.row || box.column === 1));
            return before.slice(0, 1).map((from) => {
              const [x1, y1, x2, y2] = [x(from.column) + COLUMN, middle(from), x(box.column), middle(box)];
              return <path class="flow" d={`M${x1} ${y1}C${x1 + BETWEEN / 2} ${y1} ${x2 - BETWEEN / 2} ${y2} ${x2} ${y2}`} stroke-width={Math.max((18 * box.weight) / most, 1.5)} />;
            });
          })}
          {rows.map((box) => (
            <g class={`box ${box.kind ?? ""}`}>
              <rect x={x(box.column)} y={top(box)} width={COLUMN} height={box.lines.length * LINE + 14} rx="6" />
              {box.lines.map((line, number) => (
                <text x={x(box.column) + 10} y={top(box) + 21 + number * LINE} class={number ? "" : "first"}>{line}</text>
              ))}
            </g>
          ))}
        </svg>
      </div>
    </Picture>
  );
}

const short = (text: string, most = 27) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function boxes(record: Json): Box[] {
  const found: Box[] = [];
  const total = record.sites.reduce((sum: number, site: Json) => sum + site.replicas, 0);
  const fleet = record.fleet;
  found.push({
    column: 0, row: 0, weight: total,
    lines: fleet
      ? [plural(fleet.replicas, "replica"), ...Object.entries(fleet.placements).map(([name, count]) => short(`${name}: ${count}`)), short(fleet.rule)]
      : [plural(total, "replica"), "one cluster, not divided"],
  });
  record.sites.forEach((site: Json, row: number) => {
    found.push({ column: 1, row, weight: site.replicas, lines: tier(site) });
    const need = site.parts.reduce((sum: number, part: Json) => sum + part.need, 0);
    found.push({
      column: 2, row, weight: site.granted + site.running, kind: site.granted < need ? "short" : "",
      lines: [short(`queue ${site.queue}`), `${site.running} running`, `${site.granted} of ${need} may start`, ...(site.gang > 1 ? [`gang of ${site.gang}`] : [])],
    });
    found.push({ column: 3, row, weight: placed(site) + site.running, kind: site.unplaced ? "short" : "", lines: nodes(site) });
    found.push({ column: 4, row, weight: site.volumes?.length ? placed(site) : 0, lines: disks(site) });
  });
  return found;
}

const placed = (site: Json) => site.parts.reduce((sum: number, part: Json) => sum + Object.values<number>(part.placements).reduce((a, b) => a + b, 0), 0);

function tier(site: Json): string[] {
  const head = short(site.cluster ? `on ${site.cluster}: ${plural(site.replicas, "replica")}` : plural(site.replicas, "replica"));
  if (site.onDemand === null) return [head, "no minimum on demand"];
  return [head, `${site.onDemand} must be on demand`, ...site.parts.filter((part: Json) => part.tier).map((part: Json) => `new ${part.tier}: ${part.need}`)];
}

function nodes(site: Json): string[] {
  const spots = new Map<string, number>();
  for (const part of site.parts) for (const [node, count] of Object.entries<number>(part.placements)) spots.set(node, (spots.get(node) ?? 0) + count);
  const lines = [`${placed(site)} placed${site.unplaced ? `, ${site.unplaced} wait` : ""}`];
  const all = [...spots].sort((a, b) => b[1] - a[1]);
  lines.push(...all.slice(0, 6).map(([node, count]) => short(`${node} ×${count}`)));
  if (all.length > 6) lines.push(`and ${plural(all.length - 6, "more node")}`);
  for (const finding of site.findings) lines.push(short(finding.reason));
  return lines;
}

function disks(site: Json): string[] {
  if (!site.volumes?.length) return ["no volume"];
  const names = [...new Set<string>(site.volumes.map((each: Json) => short(each.volume)))].slice(0, 2);
  return [...names, ...site.volumes.slice(0, 6).map((each: Json) => short(`${each.disk}${each.new ? " (new)" : ""}`))];
}

