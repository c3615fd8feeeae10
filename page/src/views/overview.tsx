import { amount, number, percent, plural } from "../amounts";
import { Chart } from "../chart";
import { useView, type Json } from "../data";
import { Bar, Big, Card, Cure, Empty, Table, Waiting, Work } from "../parts";
import { address } from "../route";

const CURES = ["room", "eviction", "edit", "nothing"];

export function Overview(props: { moment: Record<string, string> }) {
  const record = useView("overview", props.moment);
  if (!record) return <Waiting what="Reading …" />;
  return (
    <>
      {record.planned ? <Numbers record={record} /> : <Waiting />}
      {record.sites.length === 0 && !record.trouble && <Empty>Nothing that a plan can use has been read yet.</Empty>}
      {record.sites.map((site: Json) => (
        <Site site={site} />
      ))}
      <Mistakes record={record} />
      {!props.moment.at && <Recent />}
    </>
  );
}

function Numbers(props: { record: Json }) {
  const { replicas, waiting, storage, fleet } = props.record;
  return (
    <div class="bigs">
      <Big label="Replicas asked for" value={number(replicas.asked)} href={address("workloads")} />
      <Big label="Running" value={number(replicas.running)} />
      <Big label="Placed by the plan" value={number(replicas.placed)} kind="fresh" href={address("map")} />
      <Big
        label="Waiting"
        value={number(replicas.waiting)}
        kind={replicas.waiting ? "warn" : "good"}
        href={address("waiting")}
        note={
          replicas.waiting ? (
            <span class="cures">
              {CURES.filter((cure) => waiting[cure]).map((cure) => (
                <span>
                  {number(waiting[cure])} <Cure cure={cure} />
                </span>
              ))}
            </span>
          ) : (
            "nothing waits"
          )
        }
      />
      {fleet.workloads > 0 && <Big label="Divided over clusters" value={number(fleet.workloads)} note={fleet.workloads === 1 ? "workload" : "workloads"} href={address("fleet")} />}
      {storage.placed + storage.waiting > 0 && (
        <Big label="Storage replicas" value={number(storage.placed)} note={storage.waiting ? `placed, ${storage.waiting} wait` : "placed by the plan"} href={address("disks")} />
      )}
    </div>
  );
}

function Site(props: { site: Json }) {
  const { site } = props;
  const name = site.cluster ? `Cluster ${site.cluster}` : "Cluster";
  const shut = site.nodes - site.openNodes;
  return (
    <Card title={name} note={`${plural(site.nodes, "node")}${shut ? `, ${shut} of which take nothing new` : ""}. Blue is used now, orange is what the plan adds.`}>
      <Table
        caption={`Resources of ${name.toLowerCase()}`}
        hideCaption
        rows={site.resources}
        columns={[
          { head: "resource", cell: (row: Json) => row.name, text: (row: Json) => row.name },
          {
            head: "use",
            cell: (row: Json) => (
              <Bar used={row.used} after={row.after} whole={row.allocatable} label={`${row.name}: ${percent(row.used / row.allocatable)} now, ${percent(row.after / row.allocatable)} after the plan`} />
            ),
          },
          { head: "now", number: true, cell: (row: Json) => percent(row.used / row.allocatable), text: (row: Json) => row.used / row.allocatable },
          { head: "after", number: true, cell: (row: Json) => percent(row.after / row.allocatable), text: (row: Json) => row.after / row.allocatable },
          { head: "left after", number: true, cell: (row: Json) => amount(row.name, row.allocatable - row.after) },
          { head: "evenness", number: true, cell: (row: Json) => row.evenness.toFixed(2), text: (row: Json) => row.evenness },
        ]}
      />
      <dl class="facts">
        <div>
          <dt>Evenness of nodes</dt>
          <dd>{site.evenness.before.toFixed(2)} → {site.evenness.after.toFixed(2)}</dd>
        </div>
        {site.fairness && (
          <div>
            <dt>Fairness of namespaces</dt>
            <dd>{site.fairness.before.toFixed(2)} → {site.fairness.after.toFixed(2)}</dd>
          </div>
        )}
        {site.onDemand.minimum > 0 && (
          <div>
            <dt>On demand, of the minimum</dt>
            <dd>
              <a href={address("tiers")}>{site.onDemand.running} → {site.onDemand.after} of {site.onDemand.minimum}</a>
            </dd>
          </div>
        )}
      </dl>
      <p class="note">Evenness and fairness are Jain's index: 1 is even.</p>
    </Card>
  );
}

function Mistakes(props: { record: Json }) {
  const { errors, notCounted } = props.record;
  return (
    <>
      {errors && (
        <Card title={`${plural(errors.length, "mistake")} in the manifests`} id="mistakes" note="What is broken is left out; the rest is planned.">
          <ul class="mistakes">
            {errors.map((each: Json) => (
              <li>
                <code>{each.path}</code> {each.message}
              </li>
            ))}
          </ul>
        </Card>
      )}
      {notCounted && <p class="note">Not counted in this plan: {Object.entries(notCounted).map(([kind, count]) => `${count} ${kind}`).join(", ")}.</p>}
    </>
  );
}

function Recent() {
  const record = useView("history", {});
  if (!record?.samples || record.samples.length < 2) return null;
  const times = record.samples.map((sample: Json) => sample.time);
  const words = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
  const changes = [...record.changes].reverse().slice(0, 50);
  return (
    <Card title="Lately">
      <Chart
        name="Replicas lately"
        times={times}
        start={times[0]}
        end={Math.max(times.at(-1), times[0] + 1)}
        label={words}
        lines={["running", "placed", "waiting"].map((name) => ({ name, values: record.samples.map((sample: Json) => sample.replicas[name]) }))}
      />
      <ol class="changes">
        {changes.map((each: Json) => (
          <li>
            <time>{words(each.time)}</time> <Work workload={each.workload} title={each.title} />: {changed(each)}
          </li>
        ))}
      </ol>
    </Card>
  );
}

function changed(each: Json): string {
  if (each.kind === "new") return `new, ${plural(each.after.replicas, "replica")}, ${each.after.waiting} waiting`;
  if (each.kind === "gone") return "gone";
  return Object.keys(each.after)
    .filter((name) => each.before[name] !== each.after[name])
    .map((name) => `${name} ${each.before[name]} → ${each.after[name]}`)
    .join(", ");
}
