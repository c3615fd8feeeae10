import { amount, parsedAmount, span } from "../amounts";
import { Chart } from "../chart";
import { useAnswer, useView, type Json } from "../data";
import { Bar, Card, Choice, Empty, Picture, Table, Waiting, Work } from "../parts";
import { steer } from "../route";

const of = (name: string, amounts: Record<string, string>) => (amounts[name] === undefined ? 0 : parsedAmount(name, amounts[name]!));

export function Queues(props: { moment: Record<string, string>; query: URLSearchParams; simulated: boolean }) {
  const record = useView("queues", props.moment);
  if (!record?.planned) return <Waiting />;
  const names = [...new Set<string>(record.sites.flatMap((site: Json) => Object.keys(site.whole).filter((name) => name !== "pods" && of(name, site.whole) > 0)))];
  const asked = props.query.get("resource");
  const dominant = names.find((name) => name.includes("gpu")) ?? "cpu";
  const resource = asked && names.includes(asked) ? asked : names.includes(dominant) ? dominant : (names[0] ?? "cpu");
  return (
    <>
      <div class="choices">
        <Choice label="Resource" value={resource} options={names} onChange={(value) => steer({ resource: value })} />
      </div>
      {record.sites.map((site: Json) => (
        <Site site={site} resource={resource} />
      ))}
      {!props.simulated && <Lately resource={resource} />}
      <Gangs moment={props.moment} simulated={props.simulated} />
    </>
  );
}

type Row = { depth: number; name: string; row: Json; whole: number };

function Site(props: { site: Json; resource: string }) {
  const { site, resource } = props;
  const whole = of(resource, site.whole);
  const rows: Row[] = site.queues
    .filter((queue: Json) => queue.namespaces.length || of(resource, queue.deserved) || of(resource, queue.used))
    .flatMap((queue: Json) => [
      { depth: 0, name: queue.name, row: queue, whole },
      ...queue.namespaces.map((space: Json) => ({ depth: 1, name: space.name, row: space, whole })),
    ]);
  const jobs = site.queues.flatMap((queue: Json) => queue.namespaces.flatMap((space: Json) => space.jobs.map((job: Json) => ({ ...job, queue: queue.name, namespace: space.name }))));
  const title = site.cluster ? `Queues of ${site.cluster}` : "Queues";
  return (
    <>
      <Card title={title} note={`Shares of ${amount(resource, whole)} ${resource}. The bar shows what is used now and what the plan adds; the line is what is deserved, the dotted line what is asked for.`}>
        {rows.length === 0 ? (
          <Empty>Nothing asks for {resource} here.</Empty>
        ) : (
          <Table
            caption={title}
            hideCaption
            rows={rows}
            columns={[
              { head: "queue, namespace", cell: (each) => <span class={`depth${each.depth}`}>{each.name}{each.row.open === false && <em> closed</em>}</span> },
              { head: "weight", number: true, cell: (each) => each.row.weight },
              { head: "use", cell: (each) => <Shares resource={resource} row={each.row} whole={whole} /> },
              { head: "used", number: true, cell: (each) => amount(resource, of(resource, each.row.used)) },
              { head: "after", number: true, cell: (each) => amount(resource, of(resource, each.row.after)) },
              { head: "deserved", number: true, cell: (each) => amount(resource, of(resource, each.row.deserved)) },
              { head: "asked", number: true, cell: (each) => amount(resource, of(resource, each.row.asked)) },
              { head: "borrowed", number: true, cell: (each) => amount(resource, Math.max(of(resource, each.row.after) - of(resource, each.row.deserved), 0)) },
              { head: "distance", number: true, cell: (each) => each.row.distance.toFixed(3) },
              { head: "bounds", cell: (each) => <span class="oneline">{bounds(resource, each.row)}</span> },
            ]}
          />
        )}
      </Card>
      {jobs.length > 0 && (
        <Card title={site.cluster ? `Jobs of ${site.cluster}` : "Jobs"}>
          <Table
            caption="Jobs by queue and namespace"
            hideCaption
            rows={jobs}
            columns={[
              { head: "job", cell: (job: Json) => <Work workload={job.workload} title={job.title} />, text: (job: Json) => job.title },
              { head: "queue", cell: (job: Json) => job.queue, text: (job: Json) => job.queue },
              { head: "gang", number: true, cell: (job: Json) => (job.gang > 1 ? job.gang : "–"), text: (job: Json) => job.gang },
              { head: "priority", number: true, cell: (job: Json) => job.priority, text: (job: Json) => job.priority },
              { head: "asked", number: true, cell: (job: Json) => job.replicas, text: (job: Json) => job.replicas },
              { head: "running", number: true, cell: (job: Json) => job.running, text: (job: Json) => job.running },
              { head: "starts", number: true, cell: (job: Json) => job.starts, text: (job: Json) => job.starts },
              { head: "waits", number: true, cell: (job: Json) => job.waiting || "", text: (job: Json) => job.waiting },
              { head: "reason", cell: (job: Json) => job.reason ?? "", text: (job: Json) => job.reason ?? "" },
            ]}
          />
        </Card>
      )}
    </>
  );
}

function Shares(props: { resource: string; row: Json; whole: number }) {
  const { resource, row } = props;
  const deserved = of(resource, row.deserved);
  const asked = of(resource, row.asked);
  const marks = [
    { at: deserved, kind: "deserved", label: `deserved ${amount(resource, deserved)}` },
    { at: Math.min(asked, props.whole * 1.5), kind: "asked", label: `asked ${amount(resource, asked)}` },
  ];
  const used = of(resource, row.used);
  const after = of(resource, row.after);
  const words = `${amount(resource, used)} used, ${amount(resource, after)} after the plan, ${amount(resource, deserved)} deserved, ${amount(resource, asked)} asked for`;
  return <Bar used={used} after={after} whole={props.whole} label={words} marks={marks} />;
}

function bounds(resource: string, row: Json): string {
  const parts = [];
  if (row.guarantee?.[resource]) parts.push(`at least ${amount(resource, of(resource, row.guarantee))}`);
  if (row.capability?.[resource]) parts.push(`at most ${amount(resource, of(resource, row.capability))}`);
  return parts.join(", ");
}

// --- queues over time --------------------------------------------------------------------------------------------------

function Lately(props: { resource: string }) {
  const record = useView("history", {});
  const samples: Json[] = record?.samples ?? [];
  if (samples.length < 2) return null;
  const names = [...new Set<string>(samples.flatMap((sample) => Object.keys(sample.queues)))].slice(0, 6);
  const times = samples.map((sample) => sample.time);
  const value = (sample: Json, name: string, kind: string) => (sample.queues[name] ? of(props.resource, sample.queues[name][kind]) : null);
  return (
    <Card title={`Queues lately: ${props.resource}`} note="Used since the page's server started; dotted, in the same colour, what is deserved.">
      <Chart
        name={`Queues lately ${props.resource}`}
        times={times}
        start={times[0]}
        end={Math.max(times.at(-1)!, times[0] + 1)}
        label={(second) => new Date(second * 1000).toLocaleTimeString("en-GB")}
        text={(shown) => amount(props.resource, shown)}
        lines={names.flatMap((name, tone) => [
          { name, tone, values: samples.map((sample) => value(sample, name, "used")) },
          { name: `${name} deserves`, tone, wish: true, values: samples.map((sample) => value(sample, name, "deserved")) },
        ])}
      />
    </Card>
  );
}

// --- gangs over time --------------------------------------------------------------------------------------------------

type Life = { job: string; namespace: string; gang: number; spans: number[][]; evictions: Eviction[] };
type Eviction = { at: number; count: number; for: string; by?: string };
const whom = (each: Eviction) => `${each.for ? ` for ${each.for}` : ""}${each.by ? ` by ${each.by}` : ""}`;

function Gangs(props: { moment: Record<string, string>; simulated: boolean }) {
  const simulation = useAnswer("simulation", props.simulated ? {} : null);
  const history = useView("history", {});
  if (props.simulated) {
    const record = simulation.record;
    if (!record) return null;
    const policy = record.policies.find((each: Json) => each.policy === props.moment.policy) ?? record.policies[0];
    return <Bars lives={policy.jobs} start={0} end={record.seconds} words={span} title={`Jobs over time under ${policy.policy}`} />;
  }
  if (!history?.samples?.length) return null;
  const start = history.samples[0].time;
  const evictions: (Eviction & { job: string })[] = history.evictions.map((each: Json) => ({ ...each, at: Math.max(each.time - start, 0) }));
  const jobs = new Set([...Object.keys(history.spans), ...evictions.map((each) => each.job)]);
  // Jobs with evictions first: they are what is looked for here.
  const lives: Life[] = [...jobs].map((job) => ({
    job, namespace: "", gang: 1,
    evictions: evictions.filter((each) => each.job === job),
    spans: (history.spans[job] ?? []).map(([at, running, starting, waiting]: number[]) => [at! - start, running!, waiting!, starting!]),
  })).sort((one, other) => Number(other.evictions.length > 0) - Number(one.evictions.length > 0));
  const end = Math.max(history.samples.at(-1).time - start, 1);
  return <Bars lives={lives} start={0} end={end} words={span} title="Jobs since the page's server started" />;
}

const ROW = 18;
const MOST = 80;

function Bars(props: { lives: Life[]; start: number; end: number; words: (seconds: number) => string; title: string }) {
  const shown = props.lives.slice(0, MOST);
  const left = 190;
  const width = 900;
  const x = (second: number) => left + ((width - left - 10) * (second - props.start)) / (props.end - props.start);
  // In the first seconds several would say the same.
  const ticks = [0, 0.25, 0.5, 0.75, 1]
    .map((part) => props.start + part * (props.end - props.start))
    .map((at) => ({ at, words: props.words(at) }))
    .filter((each, place, all) => all.findIndex((other) => other.words === each.words) === place);
  const evicted = props.lives.flatMap((life) => life.evictions.map((each) => ({ ...each, job: life.job })));
  return (
    <Card title={props.title} note={`Blue: running; orange: starts by the plan; light: waiting; a red mark: evicted.${props.lives.length > MOST ? ` The first ${MOST} of ${props.lives.length} jobs.` : ""}`}>
      <Picture name="jobs-over-time">
        <div class="wide" tabIndex={0} role="group" aria-label={props.title}>
        <svg class="picture gangs" viewBox={`0 0 ${width} ${shown.length * ROW + 26}`} role="img" aria-label={`${props.title}: ${shown.length} jobs`}>
          {shown.map((life, row) => (
            <g>
              <text class="tick" x={left - 8} y={row * ROW + 13} text-anchor="end">{life.job.length > 28 ? `…${life.job.slice(-27)}` : life.job}</text>
              {life.spans.map((each, place) => {
                const until = life.spans[place + 1]?.[0] ?? (each[1]! + each[2]! + (each[3] ?? 0) > 0 ? props.end : each[0]!);
                const starts = each[3] ?? 0;
                const all = each[1]! + each[2]! + starts;
                if (!all) return null;
                const wide = Math.max(x(until) - x(each[0]!), 0.5);
                const high = ((ROW - 4) * each[1]!) / all;
                const begins = ((ROW - 4) * starts) / all;
                return (
                  <g>
                    <rect class="waits" x={x(each[0]!)} y={row * ROW + 2} width={wide} height={ROW - 4}>
                      <title>{`${life.job}: ${each[1]} running,${starts ? ` ${starts} starting,` : ""} ${each[2]} waiting from ${props.words(each[0]!)} to ${props.words(until)}`}</title>
                    </rect>
                    {begins > 0 && <rect class="starts" x={x(each[0]!)} y={row * ROW + 2 + (ROW - 4 - high - begins)} width={wide} height={begins} />}
                    <rect class="runs" x={x(each[0]!)} y={row * ROW + 2 + (ROW - 4 - high)} width={wide} height={high} />
                  </g>
                );
              })}
              {life.evictions.map((each) => (
                <path class="evicted" d={`M${x(each.at)} ${row * ROW + 2}v${ROW - 4}`}>
                  <title>{`${each.count} evicted${whom(each)} at ${props.words(each.at)}`}</title>
                </path>
              ))}
            </g>
          ))}
          {ticks.map(({ at, words }, place) => (
            <text class="tick" x={x(at)} y={shown.length * ROW + 18} text-anchor={place === ticks.length - 1 && place > 0 ? "end" : "middle"}>
              {words}
            </text>
          ))}
        </svg>
        </div>
      </Picture>
      {evicted.length > 0 && (
        <details>
          <summary>{evicted.reduce((sum, each) => sum + each.count, 0)} evicted: by whom, for whom</summary>
          <Table
            caption="Evictions"
            rows={evicted}
            columns={[
              { head: "job", cell: (each) => each.job, text: (each) => each.job },
              { head: "replicas", number: true, cell: (each) => each.count, text: (each) => each.count },
              { head: "for", cell: (each) => each.for || "–", text: (each) => each.for },
              { head: "by", cell: (each) => each.by ?? "the scheduler", text: (each) => each.by ?? "the scheduler" },
              { head: "at", cell: (each) => props.words(each.at), text: (each) => each.at },
            ]}
          />
        </details>
      )}
    </Card>
  );
}

