// What if: buttons that change the cluster on paper, and the answer beside the present.
import { useState } from "preact/hooks";
import { plural } from "../amounts";
import { useAnswer, useView, type Json } from "../data";
import { NodeMap, type MapRecord } from "../nodemap";
import { Big, Card, Choice, Empty, Table, Waiting } from "../parts";
import { address } from "../route";
import { useMapChoice } from "./map";

const NAMES = ["drain", "lose", "addNodes", "like", "scale", "weight"] as const;

export function WhatIf(props: { moment: Record<string, string>; query: URLSearchParams }) {
  const map: MapRecord | undefined = useView("map", props.moment);
  const change: Record<string, string> = {};
  for (const name of NAMES) if (props.query.get(name)) change[name] = props.query.get(name)!;
  const any = Object.keys(change).length > 0;
  const { record, error, asking } = useAnswer("whatif", any ? { ...change, ...props.moment } : null, map);
  const { resource, group, tools } = useMapChoice(map, props.query);
  if (!map) return <Waiting />;
  return (
    <>
      <Buttons map={map} workload={props.query.get("workload") ?? ""} namespace="" replicas={0} />
      {any && <h2 class="title">{words(change)}</h2>}
      <div role="status">
        {asking && !record && <Waiting what="Planning the changed cluster …" />}
        {error && <Empty>{error}</Empty>}
      </div>
      {record && any && <Answer record={record} map={map} resource={resource} group={group} tools={tools} />}
    </>
  );
}

function words(change: Record<string, string>): string {
  const parts = [];
  if (change.drain) parts.push(`${change.drain} is drained`);
  if (change.lose) parts.push(`all nodes with ${change.lose} are lost`);
  if (change.addNodes) parts.push(`${plural(Number(change.addNodes), "more node")} like ${change.like}`);
  if (change.scale) parts.push(`replicas: ${change.scale}`);
  if (change.weight) parts.push(`weight of namespace: ${change.weight}`);
  return `If ${parts.join(", ")}`;
}

function Answer(props: { record: Json; map: MapRecord; resource: string; group: string; tools: preact.ComponentChildren }) {
  const { record } = props;
  const more = record.unplaced.after - record.unplaced.before;
  return (
    <>
      <div class="bigs">
        <Big label="Moves" value={record.moves} />
        <Big label="Waiting" value={`${record.unplaced.before} → ${record.unplaced.after}`} kind={more > 0 ? "warn" : "good"} note={more === 0 ? "as many as now" : `${Math.abs(more)} ${more > 0 ? "more" : "fewer"}`} />
        {record.sites.map((site: Json) => (
          <Big label={`Evenness${site.cluster ? ` of ${site.cluster}` : ""}`} value={`${text(site.evenness.before)} → ${text(site.evenness.after)}`} />
        ))}
      </div>
      <Card title="Before and after" tools={props.tools}>
        <div class="pair">
          <figure>
            <figcaption>as planned now</figcaption>
            <NodeMap record={props.map} resource={props.resource} group={props.group} which="after" name="before" height={420} />
          </figure>
          <figure>
            <figcaption>with the change</figcaption>
            <NodeMap record={record.map} resource={props.resource} group={props.group} which="after" name="after" height={420} />
          </figure>
        </div>
      </Card>
      {record.budgets && (
        <Card title="Disruption budgets" note={record.steps === null ? "One of them stops it." : `Within the budgets it takes ${record.steps === 1 ? "one step" : `${record.steps} steps`}.`}>
          <Table
            caption="Disruption budgets"
            hideCaption
            rows={record.budgets}
            columns={[
              { head: "budget", cell: (row: Json) => row.budget, text: (row: Json) => row.budget },
              { head: "evicted", number: true, cell: (row: Json) => row.evicted, text: (row: Json) => row.evicted },
              { head: "at once", number: true, cell: (row: Json) => row.allowed, text: (row: Json) => row.allowed },
              { head: "steps", number: true, cell: (row: Json) => row.steps ?? "–", text: (row: Json) => row.steps ?? 0 },
            ]}
          />
        </Card>
      )}
      <Card title="What changes">
        {record.workloads.length === 0 ? (
          <Empty>Nothing.</Empty>
        ) : (
          <Table
            caption="Workloads that change"
            hideCaption
            rows={record.workloads}
            columns={[
              { head: "workload", cell: (row: Json) => row.workload, text: (row: Json) => row.workload },
              { head: "cluster", cell: (row: Json) => row.cluster || "–", text: (row: Json) => row.cluster },
              { head: "from", cell: (row: Json) => counts(row.from) },
              { head: "to", cell: (row: Json) => counts(row.to) },
              { head: "moves", number: true, cell: (row: Json) => row.moves, text: (row: Json) => row.moves },
              { head: "waits", number: true, cell: (row: Json) => (row.waits.before === row.waits.after ? row.waits.after || "" : `${row.waits.before} → ${row.waits.after}`), text: (row: Json) => row.waits.after },
            ]}
          />
        )}
      </Card>
    </>
  );
}

const text = (value: number | null) => (value === null ? "–" : value.toFixed(2));

function counts(found: Record<string, number>): string {
  const all = Object.entries(found);
  const some = all.slice(0, 8).map(([name, count]) => `${name} ${count}`).join(", ");
  return all.length > 8 ? `${some} and ${all.length - 8} more` : some;
}

// --- the buttons ------------------------------------------------------------------------------------------------------------

export function Buttons(props: { map: MapRecord; workload: string; namespace: string; replicas: number }) {
  const nodes = props.map.sites.flatMap((site) => site.names);
  const zones = [...new Set(props.map.sites.flatMap((site) => site.groups.zone?.values ?? []))].sort();
  const list = useView("workloads", {});
  const titles: [string, string][] = (list?.workloads ?? []).map((each: Json) => [each.workload, `${each.title} (${each.kind})`]);
  const spaces = [...new Set(titles.map(([key]) => key.split("/")[1]!))].sort();
  return (
    <Card title="What would change it?" note="Each button plans a changed cluster and shows it beside the present. Nothing is written.">
      <div class="whatifs">
        <Ask label="Drain a node" make={(node) => ({ drain: node })} first={<NodeChoice nodes={nodes} />} />
        {zones.length > 0 && <Ask label="Lose a zone" make={(zone) => ({ lose: `zone=${zone}` })} options={zones} />}
        <Ask label="Add nodes" number={3} make={(node, count) => ({ addNodes: String(count), like: node })} first={<NodeChoice nodes={nodes} />} word="like" />
        {titles.length > 0 && <Ask label="Scale" number={props.replicas || 10} value={props.workload} make={(key, count) => ({ scale: `${key}=${count}`, workload: key })} options={titles} word="of" />}
        {spaces.length > 0 && <Ask label="Weight of a namespace" number={2} value={props.namespace} make={(name, count) => ({ weight: `${name}=${count}` })} options={spaces} word="for" />}
      </div>
    </Card>
  );
}

function NodeChoice(props: { nodes: string[] }) {
  return (
    <>
      <input type="text" name="node" list="nodes" placeholder="node" aria-label="Node" defaultValue={props.nodes[0]} autocomplete="off" />
      <datalist id="nodes">{props.nodes.slice(0, 2000).map((name) => <option value={name} />)}</datalist>
    </>
  );
}

function Ask(props: {
  label: string; number?: number; value?: string; word?: string; options?: (string | [string, string])[];
  first?: preact.ComponentChildren; make: (value: string, count: number) => Record<string, string>;
}) {
  const values = (props.options ?? []).map((option) => (typeof option === "string" ? option : option[0]));
  const [value, setValue] = useState(props.value && values.includes(props.value) ? props.value : (values[0] ?? ""));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const what = props.options ? value || values[0]! : String(form.get("node") ?? "");
    if (what) location.hash = address("whatif", props.make(what, Number(form.get("count") ?? 0)));
  };
  return (
    <form class="ask" onSubmit={submit}>
      <span class="label">{props.label}</span>
      {props.number !== undefined && <input type="number" name="count" min="0" max="100000" defaultValue={String(props.number)} aria-label={`${props.label}: number`} />}
      {props.word && <span>{props.word}</span>}
      {props.options ? <Choice label={`${props.label}: which`} bare value={value} options={props.options} onChange={setValue} /> : props.first}
      <button type="submit">Show</button>
    </form>
  );
}
