// Fleet, tiers and disks.
import { bytes, plural } from "../amounts";
import { useView, type Json } from "../data";
import { Bar, Card, Empty, Table, Waiting, Work } from "../parts";

export function Fleet(props: { moment: Record<string, string> }) {
  const record = useView("fleet", props.moment);
  if (!record?.planned) return <Waiting />;
  if (!record.workloads.length) return <Empty>No workload is divided over clusters: no propagation policy selects one.</Empty>;
  return (
    <>
      <Card title="Workloads by clusters" note="Replicas of each cluster; below them the floor of its weight, and + where it drew a part of the residual. An arrow shows what was there before.">
        <Table
          caption="Replicas of each workload on each cluster"
          hideCaption
          rows={record.workloads}
          columns={[
            { head: "workload", cell: (row: Json) => <Work workload={row.key} title={row.workload} />, text: (row: Json) => row.workload },
            { head: "replicas", number: true, cell: (row: Json) => row.replicas, text: (row: Json) => row.replicas },
            ...record.clusters.map((name: string) => ({ head: name, number: true, cell: (row: Json) => <Cell row={row} cluster={name} />, text: (row: Json) => row.clusters[name]?.replicas ?? 0 })),
            { head: "residual", number: true, cell: (row: Json) => row.residual, text: (row: Json) => row.residual },
            { head: "moves", number: true, cell: (row: Json) => (row.prior ? row.moves : "–") },
            { head: "how", cell: (row: Json) => how(row) },
          ]}
        />
      </Card>
      {record.workloads.filter((row: Json) => row.trace.draws).map((row: Json) => <Draws row={row} />)}
    </>
  );
}

function Cell(props: { row: Json; cluster: string }) {
  const cell = props.row.clusters[props.cluster];
  if (!cell) return <>–</>;
  if (cell.removed) return <em>{cell.removed}</em>;
  const drew = cell.floor !== null && cell.replicas > cell.floor;
  return (
    <>
      <b>{props.row.prior && cell.before !== cell.replicas ? `${cell.before} → ${cell.replicas}` : cell.replicas}</b>
      {cell.floor !== null && <small class="under">floor {cell.floor}{drew ? ` + ${cell.replicas - cell.floor}` : ""}</small>}
    </>
  );
}

function how(row: Json): string {
  const kept = row.kept ? "the last result is kept" : row.rule;
  return [kept, ...row.findings.map((each: Json) => each.message)].filter(Boolean).join("; ");
}

function Draws(props: { row: Json }) {
  return (
    <Card title={`Draws of ${props.row.workload}`}>
      {props.row.trace.draws.map((draw: Json) => {
        const total = draw.weights.reduce((sum: number, each: number) => sum + each, 0);
        return (
          <Table
            caption={`Odds of the draw for ${props.row.workload}`}
            hideCaption
            rows={draw.equals.map((name: string, place: number) => ({ name, odds: draw.weights[place], won: draw.winners.includes(name) }))}
            columns={[
              { head: "cluster", cell: (each: Json) => each.name },
              { head: "odds", cell: (each: Json) => <Bar used={each.odds} whole={total} label={`${each.odds} in ${total}`} /> },
              { head: "in " + total, number: true, cell: (each: Json) => each.odds },
              { head: "won", cell: (each: Json) => (each.won ? "yes" : "") },
            ]}
          />
        );
      })}
    </Card>
  );
}

export function Tiers(props: { moment: Record<string, string> }) {
  const record = useView("tiers", props.moment);
  if (!record?.planned) return <Waiting />;
  const sites = record.sites.filter((site: Json) => site.workloads.length);
  if (!sites.length) return <Empty>No workload asks for a minimum on demand.</Empty>;
  return sites.map((site: Json) => (
    <Card title={site.cluster ? `Tiers of ${site.cluster}` : "Tiers"} note={`${plural(site.nodes.onDemand, "on-demand node")}, ${site.nodes.spot} spot, ${site.nodes.other} without a tier.`}>
      <Table
        caption="Workloads with a minimum on demand"
        hideCaption
        rows={site.workloads}
        columns={[
          { head: "workload", cell: (row: Json) => <Work workload={row.workload} title={row.title} />, text: (row: Json) => row.title },
          { head: "replicas", number: true, cell: (row: Json) => row.replicas, text: (row: Json) => row.replicas },
          { head: "minimum", number: true, cell: (row: Json) => <>{row.minimum}{String(row.minimum) !== row.text && row.text ? <small class="under">{row.text}</small> : null}</>, text: (row: Json) => row.minimum },
          { head: "on demand", cell: (row: Json) => <Bar used={row.onDemand} after={row.onDemandAfter} whole={row.replicas} marks={[{ at: row.minimum, kind: "deserved", label: `minimum ${row.minimum}` }]} label={`${row.onDemand} now, ${row.onDemandAfter} after the plan, of ${row.replicas}; the minimum is ${row.minimum}`} /> },
          { head: "now", number: true, cell: (row: Json) => row.onDemand, text: (row: Json) => row.onDemand },
          { head: "after", number: true, cell: (row: Json) => <>{row.onDemandAfter}{row.onDemandAfter < row.minimum ? <em> below</em> : null}</>, text: (row: Json) => row.onDemandAfter },
          { head: "bound there", number: true, cell: (row: Json) => row.required, text: (row: Json) => row.required },
          { head: "repair would replace", number: true, cell: (row: Json) => row.repair || "–", text: (row: Json) => row.repair },
          { head: "notes", cell: (row: Json) => row.findings.map((each: Json) => each.message).join("; ") },
        ]}
      />
    </Card>
  ));
}

export function Disks(props: { moment: Record<string, string> }) {
  const record = useView("disks", props.moment);
  if (!record?.planned) return <Waiting />;
  if (!record.sites.length) return <Empty>There are no disks: no Longhorn node has been read.</Empty>;
  return record.sites.map((site: Json) => <DiskSite site={site} />);
}

function DiskSite(props: { site: Json }) {
  const { site } = props;
  const name = site.cluster ? `Disks of ${site.cluster}` : "Disks";
  return (
    <>
      <Card title={name} note="The bar is what storage replicas may have of a disk: blue what is taken, orange what the plan takes.">
        <Table
          caption={name}
          hideCaption
          rows={site.disks}
          columns={[
            { head: "node / disk", cell: (disk: Json) => `${disk.node} / ${disk.disk}`, text: (disk: Json) => `${disk.node}/${disk.disk}` },
            { head: "zone", cell: (disk: Json) => disk.zone || "–", text: (disk: Json) => disk.zone },
            { head: "space", cell: (disk: Json) => <Bar used={disk.total - disk.usable} after={disk.total - disk.usableAfter} whole={disk.total} label={`${bytes(disk.usable)} usable now, ${bytes(disk.usableAfter)} after the plan, of ${bytes(disk.total)}`} /> },
            { head: "usable", number: true, cell: (disk: Json) => bytes(disk.usable), text: (disk: Json) => disk.usable },
            { head: "after", number: true, cell: (disk: Json) => bytes(disk.usableAfter), text: (disk: Json) => disk.usableAfter },
            { head: "scheduled", number: true, cell: (disk: Json) => bytes(disk.scheduled), text: (disk: Json) => disk.scheduled },
            { head: "reserved", number: true, cell: (disk: Json) => bytes(disk.reserved), text: (disk: Json) => disk.reserved },
            { head: "state", cell: (disk: Json) => disk.closed ?? "open", text: (disk: Json) => disk.closed ?? "" },
          ]}
        />
      </Card>
      {(site.placements.length > 0 || site.findings.length > 0) && (
        <Card title="Storage replicas that the plan places" note={site.unplaced ? `${plural(site.unplaced, "storage replica waits", "storage replicas wait")}: ${site.findings.map((each: Json) => each.message).join("; ")}` : ""}>
          <Table
            caption="Storage replicas"
            hideCaption
            rows={site.placements}
            columns={[
              { head: "volume", cell: (each: Json) => each.volume, text: (each: Json) => each.volume },
              { head: "node", cell: (each: Json) => each.node, text: (each: Json) => each.node },
              { head: "disk", cell: (each: Json) => each.disk, text: (each: Json) => each.disk },
            ]}
          />
          {site.scores && <Scores scores={site.scores} />}
        </Card>
      )}
      {site.imbalance && (
        <Card title="Moves worth making" note={`Imbalance of nodes ${site.imbalance.nodes.before.toFixed(3)} → ${site.imbalance.nodes.after.toFixed(3)}: (largest − smallest usable space) / mean.`}>
          {site.moves.length === 0 ? (
            <Empty>No move would help.</Empty>
          ) : (
            <Table
              caption="Moves of storage replicas"
              hideCaption
              rows={site.moves}
              columns={[
                { head: "volume", cell: (each: Json) => each.volume },
                { head: "size", number: true, cell: (each: Json) => each.size },
                { head: "from", cell: (each: Json) => `${each.from.node} / ${each.from.disk}` },
                { head: "to", cell: (each: Json) => `${each.to.node} / ${each.to.disk}` },
                { head: "imbalance", number: true, cell: (each: Json) => `${each.imbalance.before.toFixed(3)} → ${each.imbalance.after.toFixed(3)}` },
              ]}
            />
          )}
        </Card>
      )}
    </>
  );
}

function Scores(props: { scores: Json }) {
  const { scores } = props;
  const rows = (found: Record<string, number>) => Object.entries(found).map(([name, score]) => ({ name, score })).sort((a, b) => a.score - b.score);
  return (
    <details open>
      <summary>How the first storage replica of {scores.volume} was chosen: {scores.chosen}</summary>
      <div class="pair">
        {(["nodes", "disks"] as const).map((kind) => (
          <Table
            caption={kind === "nodes" ? "Imbalance with it on each node (lowest wins)" : "then on each disk of that node"}
            rows={rows(scores[kind])}
            columns={[
              { head: kind === "nodes" ? "node" : "disk", cell: (each) => each.name },
              { head: "imbalance", number: true, cell: (each) => each.score.toFixed(4) },
            ]}
          />
        ))}
      </div>
    </details>
  );
}
