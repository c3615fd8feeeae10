import { plural } from "../amounts";
import { useView, type Json } from "../data";
import { Card, Cure, Empty, Table, Waiting as Loading, Work } from "../parts";

const CURE_WORDS: Record<string, string> = {
  room: "It starts when a node joins, or something that runs ends.",
  eviction: "It starts when a replica that runs ends or is moved.",
  edit: "The workload, a node or a policy has to be changed.",
  nothing: "Nothing needs to change.",
};

export function Waiting(props: { moment: Record<string, string> }) {
  const record = useView("waiting", props.moment);
  if (!record?.planned) return <Loading />;
  if (!record.groups.length) return <Empty>Nothing waits.</Empty>;
  return (
    <>
      <p class="note">{plural(record.replicas, "replica waits", "replicas wait")}. Choose a workload to follow it from fleet to disk.</p>
      {record.groups.map((group: Json) => (
        <Card title={`${group.reason || "Waiting"}: ${plural(group.replicas, "replica")}`} note={<>Level {group.level}. What would cure it: <Cure cure={group.cure} />. {CURE_WORDS[group.cure]}</>}>
          <Table
            caption={`Workloads that wait: ${group.reason}`}
            hideCaption
            rows={group.members}
            columns={[
              { head: "workload", cell: (each: Json) => <Work workload={each.workload} title={each.title} />, text: (each: Json) => each.title },
              { head: "cluster", cell: (each: Json) => each.cluster || "–", text: (each: Json) => each.cluster },
              { head: "queue", cell: (each: Json) => each.queue || "–", text: (each: Json) => each.queue },
              { head: "waits", number: true, cell: (each: Json) => each.waiting, text: (each: Json) => each.waiting },
              { head: "why", cell: (each: Json) => each.message },
            ]}
          />
        </Card>
      ))}
    </>
  );
}

export function Workloads(props: { moment: Record<string, string> }) {
  const record = useView("workloads", props.moment);
  if (!record?.planned) return <Loading />;
  return (
    <Card title="Workloads">
      <Table
        caption="Every workload"
        hideCaption
        rows={record.workloads}
        columns={[
          { head: "workload", cell: (each: Json) => <Work workload={each.workload} title={each.title} />, text: (each: Json) => each.title },
          { head: "kind", cell: (each: Json) => each.kind, text: (each: Json) => each.kind },
          { head: "asked", number: true, cell: (each: Json) => each.replicas, text: (each: Json) => each.replicas },
          { head: "running", number: true, cell: (each: Json) => each.running, text: (each: Json) => each.running },
          { head: "placed", number: true, cell: (each: Json) => each.placed, text: (each: Json) => each.placed },
          { head: "waits", number: true, cell: (each: Json) => each.waiting || "", text: (each: Json) => each.waiting },
        ]}
      />
    </Card>
  );
}
