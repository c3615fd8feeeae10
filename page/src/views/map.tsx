import { useAnswer, useView, type Json } from "../data";
import { NodeMap, share, type MapRecord } from "../nodemap";
import { amount, percent } from "../amounts";
import { Card, Choice, Empty, Table, Waiting, Work } from "../parts";
import { address, steer } from "../route";

export function resources(record: MapRecord): string[] {
  const all = [...new Set(record.sites.flatMap((site) => site.resources.filter((_, column) => site.allocatable[column]!.some((whole) => whole > 0))))];
  const first = ["cpu", "memory"];
  return [...first.filter((name) => all.includes(name)), ...all.filter((name) => !first.includes(name))];
}

export function groups(record: MapRecord): string[] {
  return ["cluster", ...new Set(record.sites.flatMap((site) => Object.keys(site.groups)))];
}

export function useMapChoice(record: MapRecord | undefined, query: URLSearchParams) {
  const all = record ? resources(record) : ["cpu"];
  const ways = record ? groups(record) : ["cluster"];
  const resource = all.includes(query.get("resource") ?? "") ? query.get("resource")! : (all[0] ?? "cpu");
  const group = ways.includes(query.get("group") ?? "") ? query.get("group")! : ways.includes("zone") ? "zone" : "cluster";
  const tools = (
    <div class="choices">
      <Choice label="Colour by" value={resource} options={all} onChange={(value) => steer({ resource: value })} />
      <Choice label="Group by" value={group} options={ways} onChange={(value) => steer({ group: value })} />
    </div>
  );
  return { resource, group, tools };
}

export function ClusterMap(props: { moment: Record<string, string>; query: URLSearchParams }) {
  const record: MapRecord | undefined = useView("map", props.moment);
  const { resource, group, tools } = useMapChoice(record, props.query);
  if (!record) return <Waiting what="Reading the nodes …" />;
  const which = props.query.get("when") === "now" || !record.planned ? "used" : "after";
  const node = props.query.get("node") ?? undefined;
  if (!record.sites.some((site) => site.names.length)) return <Empty>There are no nodes.</Empty>;
  return (
    <div class={node ? "beside" : ""}>
      <Card
        title="Cluster map"
        tools={
          <div class="choices">
            {tools}
            {record.planned && (
              <Choice label="Show" value={which} options={[["after", "after the plan"], ["used", "now"]]} onChange={(value) => steer({ when: value === "used" ? "now" : undefined })} />
            )}
          </div>
        }
        note={record.planned ? "Full squares are running pods, rings are those that the plan puts there. Choose a node to see what is on it." : "The plan is being made; this is what is used now."}
      >
        <NodeMap record={record} resource={resource} group={group} which={which} name="cluster-map" selected={node} onSelect={(name) => steer({ node: name === node ? undefined : name })} />
      </Card>
      {node && <NodePanel node={node} record={record} moment={props.moment} />}
    </div>
  );
}

export function NodePanel(props: { node: string; record: MapRecord; moment: Record<string, string> }) {
  const { record, error } = useAnswer("node", { node: props.node, ...props.moment }, props.record);
  const site = props.record.sites.find((each) => each.names.includes(props.node));
  if (!site) return <Card title={props.node}><Empty>There is no node of this name.</Empty></Card>;
  const row = site.names.indexOf(props.node);
  return (
    <Card title={`Node ${props.node}`} tools={<button type="button" onClick={() => steer({ node: undefined })}>Close</button>} note={site.cluster ? `Cluster ${site.cluster}` : ""}>
      <Table
        caption={`Resources of ${props.node}`}
        hideCaption
        rows={site.resources.map((name, column) => ({ name, column })).filter(({ column }) => site.allocatable[column]![row]! > 0)}
        columns={[
          { head: "resource", cell: (each) => each.name },
          { head: "now", number: true, cell: (each) => percent(share(site, each.name, row, "used") ?? 0) },
          { head: "after", number: true, cell: (each) => percent(share(site, each.name, row, "after") ?? 0) },
          { head: "left after", number: true, cell: (each) => amount(each.name, Math.max(site.allocatable[each.column]![row]! - site.after[each.column]![row]!, 0)) },
        ]}
      />
      {error && <Empty>{error}</Empty>}
      {record && (
        <>
          <Table
            caption={`Workloads on ${props.node}`}
            rows={record.workloads}
            columns={[
              { head: "workload", cell: (each: Json) => <Work workload={each.workload} />, text: (each: Json) => each.workload },
              { head: "running", number: true, cell: (each: Json) => each.running, text: (each: Json) => each.running },
              { head: "new", number: true, cell: (each: Json) => each.new, text: (each: Json) => each.new },
            ]}
          />
          {record.taints.length > 0 && <p class="note">Taints: {record.taints.join(", ")}</p>}
          <p><a class="button" href={address("whatif", { drain: props.node })}>What if it were drained?</a></p>
          <details>
            <summary>Labels</summary>
            <ul class="labels">{Object.entries(record.labels).map(([key, value]) => <li><code>{key}={String(value)}</code></li>)}</ul>
          </details>
        </>
      )}
    </Card>
  );
}
