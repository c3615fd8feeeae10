// A simulation: policies side by side over time.
import { clock, number, percent, plural, span } from "../amounts";
import { Chart, type Line } from "../chart";
import { useAnswer, type Json } from "../data";
import { Card, Choice, Empty, Table, Waiting } from "../parts";
import { steer } from "../route";

type Series = { title: string; note: string; most?: number; percent: boolean; of: (policy: Json) => number[] | undefined };

export function Simulation(props: { query: URLSearchParams }) {
  const { record, error } = useAnswer("simulation", {});
  if (error) return <Empty>{error}</Empty>;
  if (!record) return <Waiting what="Reading the simulation …" />;
  return (
    <>
      <h2 class="title">{record.scenario || "Simulation"}</h2>
      <p class="note">
        {span(record.seconds)}, {plural(record.nodes, "node")}, {plural(record.arrivals, "arrival")}, {plural(record.outages, "node")} lost on the way, seed {record.seed}.
        {record.interrupted ? " Interrupted: the numbers end where the simulation was." : ""}
      </p>
      <Measures record={record} />
      <Measured record={record} query={props.query} />
      <Shares record={record} query={props.query} />
    </>
  );
}

function Measures(props: { record: Json }) {
  const { policies } = props.record;
  const rows: { name: string; cell: (policy: Json) => string }[] = [
    ...resourceNames(props.record).map((name) => ({ name: `use of ${name}, mean`, cell: (policy: Json) => percent(mean(policy.series.resources[name] ?? []), 1) })),
    { name: "evenness of nodes", cell: (policy) => policy.evenness.toFixed(3) },
    { name: "fairness of namespaces", cell: (policy) => policy.fairness.toFixed(3) },
    { name: "waiting, mean", cell: (policy) => span(policy.waiting.mean) },
    { name: "waiting, 95 of 100", cell: (policy) => span(policy.waiting.p95) },
    { name: "waiting, longest", cell: (policy) => span(policy.waiting.max) },
    ...[...new Set<string>(policies.flatMap((policy: Json) => Object.keys(policy.waitingByNamespace)))].slice(0, 12).map((name) => ({
      name: `waiting, mean of ${name}`, cell: (policy: Json) => (policy.waitingByNamespace[name] ? span(policy.waitingByNamespace[name].mean) : "–"),
    })),
    { name: "running of asked for", cell: (policy) => percent(policy.running, 1) },
    { name: "on demand", cell: (policy) => percent(policy.onDemandShare, 1) },
    { name: "evicted", cell: (policy) => number(policy.evictions) },
    { name: "evicted for others", cell: (policy) => number(policy.preemptions) },
    { name: "moved", cell: (policy) => number(policy.moves) },
    { name: "completed", cell: (policy) => number(policy.completed) },
    { name: "waiting at the end", cell: (policy) => number(policy.unplaced) },
  ];
  return (
    <Card title="Policies side by side">
      <Table caption="Measures of each policy" hideCaption rows={rows} columns={[{ head: "measure", cell: (row) => row.name }, ...policies.map((policy: Json) => ({ head: policy.policy, number: true, cell: (row: (typeof rows)[0]) => row.cell(policy) }))]} />
    </Card>
  );
}

const mean = (values: number[]) => (values.length ? values.reduce((sum, each) => sum + each, 0) / values.length : 0);

function resourceNames(record: Json): string[] {
  const names = new Set<string>(record.policies.flatMap((policy: Json) => Object.keys(policy.series.resources ?? {})));
  return [...names].sort((a, b) => Number(b.includes("gpu")) - Number(a.includes("gpu")) || a.localeCompare(b));
}

function Measured(props: { record: Json; query: URLSearchParams }) {
  const { record } = props;
  const all: Record<string, Series> = {};
  for (const name of resourceNames(record))
    all[`use of ${name}`] = { title: `Use of ${name}`, note: `The part of all ${name} that running replicas ask for.`, most: 1, percent: true, of: (policy) => policy.series.resources[name] };
  Object.assign(all, {
    "waiting": { title: "Waiting replicas", note: "Asked for and not running.", percent: false, of: (policy: Json) => policy.series.waiting },
    "evenness": { title: "Evenness of the nodes", note: "Jain's index of the nodes' use: 1 where all are equally used.", most: 1, percent: false, of: (policy: Json) => policy.series.evenness },
    "fairness": { title: "Fairness of the namespaces", note: "Jain's index of shares per weight, while something waits.", most: 1, percent: false, of: (policy: Json) => policy.series.fairness },
    "nodes": { title: "Nodes", note: "Nodes that are up.", percent: false, of: (policy: Json) => policy.series.nodes },
  } satisfies Record<string, Series>);
  const wanted = props.query.get("series");
  const names = Object.keys(all);
  const shown = wanted && all[wanted] ? [wanted] : names.filter((name) => name !== "nodes" || record.outages > 0);
  return (
    <>
      <div class="choices">
        <Choice label="Measure" value={wanted ?? ""} options={[["", "all"], ...names.map((name): [string, string] => [name, name])]} onChange={(value) => steer({ series: value })} />
      </div>
      <div class="charts">
      {shown.map((name) => {
        const series = all[name]!;
        const lines: Line[] = record.policies.map((policy: Json) => ({ name: policy.policy, values: series.of(policy) ?? [], times: policy.series.time }));
        return (
          <Card title={series.title} note={series.note}>
            <Chart name={series.title} times={longest(record)} lines={lines} end={record.seconds} most={series.most} marks={record.events} text={series.percent ? (value) => percent(value) : undefined} at={moment(props.query)} onPick={pick(record)} />
          </Card>
        );
      })}
      </div>
    </>
  );
}

function Shares(props: { record: Json; query: URLSearchParams }) {
  const { record, query } = props;
  const names = resourceNames(record);
  const resource = names.includes(query.get("resource") ?? "") ? query.get("resource")! : (names[0] ?? "cpu");
  const policy = record.policies.find((each: Json) => each.policy === query.get("policy")) ?? record.policies[0];
  const shares: Json[] = policy.series.shares ?? [];
  if (!shares.length) return null;
  const draw = (rows: Json[], title: string) =>
    rows.length ? (
      <Card title={title} note="The part of the whole that each has (the line of its name) and deserves (dotted, in the same colour).">
        <Chart
          name={title}
          times={policy.series.time}
          end={record.seconds}
          marks={record.events}
          text={(value) => percent(value)}
          at={moment(query)}
          onPick={pick(record)}
          lines={rows.flatMap((row, place) => [
            { name: row.name, values: row.used[resource] ?? [], tone: place },
            { name: `${row.name} deserves`, values: row.deserved[resource] ?? [], tone: place, wish: true },
          ])}
        />
      </Card>
    ) : null;
  return (
    <>
      <div class="choices">
        <Choice label="Resource" value={resource} options={names} onChange={(value) => steer({ resource: value })} />
        <Choice label="Policy" value={policy.policy} options={record.policies.map((each: Json) => each.policy)} onChange={(value) => steer({ policy: value })} />
      </div>
      <div class="charts">
      {draw(shares.filter((row) => row.kind === "namespace").slice(0, 6), `Share of ${resource} by namespace under ${policy.policy}`)}
      {draw(shares.filter((row) => row.kind === "queue").slice(0, 6), `Share of ${resource} by queue under ${policy.policy}`)}
      </div>
    </>
  );
}

const longest = (record: Json): number[] => record.policies.map((policy: Json) => policy.series.time).sort((a: number[], b: number[]) => b.length - a.length)[0] ?? [];
const moment = (query: URLSearchParams) => (query.has("at") ? Number(query.get("at")) : undefined);
const pick = (record: Json) => (second: number) => steer({ at: String(Math.round(Math.min(second, record.seconds - 1))) });

// The time slider: every other view shows the moment that it names.
export function Moments(props: { simulation: { policies: string[]; seconds: number; step: number }; query: URLSearchParams }) {
  const { simulation, query } = props;
  const at = Number(query.get("at") ?? 0);
  const policy = query.get("policy") ?? simulation.policies[0]!;
  const set = (second: number) => steer({ at: String(Math.round(Math.min(Math.max(second, 0), simulation.seconds - 1))), policy });
  return (
    <div class="moments" role="region" aria-label="Moment of the simulation">
      {simulation.policies.length > 1 && <Choice label="Policy" value={policy} options={simulation.policies} onChange={(value) => steer({ policy: value, at: String(at) })} />}
      <button type="button" onClick={() => set(at - simulation.step)} aria-label="One step back">◀</button>
      <label class="slider">
        <span class="hidden">Time</span>
        <input type="range" min="0" max={simulation.seconds - 1} step={Math.max(Math.round(simulation.step), 1)} value={at} aria-valuetext={span(at)} onInput={(event) => set(Number(event.currentTarget.value))} />
      </label>
      <button type="button" onClick={() => set(at + simulation.step)} aria-label="One step on">▶</button>
      <output>{clock(at)} of {clock(simulation.seconds)}</output>
    </div>
  );
}

