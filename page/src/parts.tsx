// Small parts that every view uses.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { address } from "./route";
import { download, png, svgText } from "./save";

export function Card(props: { title: string; id?: string; children: ComponentChildren; note?: ComponentChildren; tools?: ComponentChildren }) {
  return (
    <section class="card" aria-label={props.title} id={props.id}>
      <header>
        <h2>{props.title}</h2>
        {props.tools}
      </header>
      {props.note && <p class="note">{props.note}</p>}
      {props.children}
    </section>
  );
}

export function Empty(props: { children: ComponentChildren }) {
  return <p class="empty">{props.children}</p>;
}

export function Waiting(props: { what?: string }) {
  return (
    <p class="empty" role="status">
      {props.what ?? "Making the plan …"}
    </p>
  );
}

export function Big(props: { label: string; value: ComponentChildren; note?: ComponentChildren; kind?: string; href?: string }) {
  const inner = (
    <>
      <span class="label">{props.label}</span>
      <span class="value">{props.value}</span>
      {props.note && <span class="note">{props.note}</span>}
    </>
  );
  return props.href ? (
    <a class={`big ${props.kind ?? ""}`} href={props.href}>{inner}</a>
  ) : (
    <div class={`big ${props.kind ?? ""}`}>{inner}</div>
  );
}

export function Work(props: { workload: string; title?: string }) {
  const target = props.workload.startsWith("volume/")
    ? address("disks")
    : address("workload", { workload: props.workload });
  return <a href={target}>{props.title ?? props.workload}</a>;
}

const CURES: Record<string, string> = { room: "more room", eviction: "an eviction", edit: "an edit", nothing: "nothing" };

export function Cure(props: { cure: string }) {
  return <span class={`cure ${props.cure}`}>{CURES[props.cure] ?? props.cure}</span>;
}

// --- a bar: what is used, what comes on top, and marks -----------------------------------------------------------------

export function Bar(props: { used: number; after?: number; whole: number; label: string; marks?: { at: number; kind: string; label: string }[] }) {
  const scale = Math.max(props.whole, props.used, props.after ?? 0, ...(props.marks ?? []).map((mark) => mark.at), 1e-9);
  const x = (value: number) => (100 * Math.max(value, 0)) / scale;
  const after = props.after ?? props.used;
  return (
    <svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label={props.label}>
      <title>{props.label}</title>
      <rect class="ground" width={x(props.whole)} height="12" />
      <rect class="new" width={x(Math.max(after, props.used))} height="12" />
      <rect class="used" width={x(Math.min(props.used, after))} height="12" />
      {after < props.used && <rect class="less" x={x(after)} width={x(props.used - after)} height="12" />}
      {props.marks?.map((mark) => (
        <line class={`mark ${mark.kind}`} x1={x(mark.at)} x2={x(mark.at)} y1="0" y2="12" vector-effect="non-scaling-stroke">
          <title>{mark.label}</title>
        </line>
      ))}
    </svg>
  );
}

// --- tables ---------------------------------------------------------------------------------------------------------------

export type Column<T> = {
  head: string;
  cell: (row: T) => ComponentChildren;
  text?: (row: T) => string | number;
  number?: boolean;
};

const FIRST = 100;

export function Table<T>(props: { caption: string; columns: Column<T>[]; rows: T[]; hideCaption?: boolean }) {
  const [all, setAll] = useState(false);
  const [sorted, setSorted] = useState<{ column: number; down: boolean } | null>(null);
  let rows = props.rows;
  if (sorted) {
    const text = props.columns[sorted.column]?.text;
    if (text) {
      const sign = sorted.down ? -1 : 1;
      rows = [...rows].sort((a, b) => sign * compared(text(a), text(b)));
    }
  }
  const shown = all ? rows : rows.slice(0, FIRST);
  return (
    <div class="table" tabIndex={0} role="group" aria-label={props.caption}>
      <table>
        <caption class={props.hideCaption ? "hidden" : ""}>{props.caption}</caption>
        <thead>
          <tr>
            {props.columns.map((column, place) => (
              <th scope="col" class={column.number ? "number" : ""} aria-sort={sorted?.column === place ? (sorted.down ? "descending" : "ascending") : undefined}>
                {column.text ? (
                  <button type="button" class="sort" onClick={() => setSorted({ column: place, down: sorted?.column === place ? !sorted.down : !!column.number })}>
                    {column.head}
                    <span aria-hidden="true">{sorted?.column === place ? (sorted.down ? " ↓" : " ↑") : ""}</span>
                  </button>
                ) : (
                  column.head
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr>
              {props.columns.map((column, place) =>
                place === 0 ? (
                  <th scope="row">{column.cell(row)}</th>
                ) : (
                  <td class={column.number ? "number" : ""}>{column.cell(row)}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="tools">
        <CopyTable />
        {rows.length > shown.length && (
          <button type="button" onClick={() => setAll(true)}>
            Show all {rows.length.toLocaleString("en")}
          </button>
        )}
      </p>
    </div>
  );
}

function compared(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function CopyTable() {
  const [done, setDone] = useState(false);
  const copy = (event: Event & { currentTarget: HTMLButtonElement }) => {
    const table = event.currentTarget.closest(".table")?.querySelector("table");
    const text = [...(table?.rows ?? [])].map((row) => [...row.cells].map((cell) => cell.innerText.trim().replace(/\s+/g, " ")).join("\t")).join("\n");
    void navigator.clipboard?.writeText(text).then(() => setDone(true));
  };
  return (
    <button type="button" onClick={copy} title="Copy the table as text, tabs between columns">
      {done ? "Copied" : "Copy"}
    </button>
  );
}

// --- pictures ---------------------------------------------------------------------------------------------------------------

export function Picture(props: { name: string; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const text = () => svgText(box.current!.querySelector("svg.picture") as SVGSVGElement);
  return (
    <div class="picturebox" ref={box}>
      {props.children}
      <p class="tools">
        <button type="button" onClick={() => download(`${props.name}.svg`, new Blob([text()], { type: "image/svg+xml" }))}>
          Save SVG
        </button>
        <button type="button" onClick={() => void png(text()).then((blob) => download(`${props.name}.png`, blob))}>
          Save PNG
        </button>
      </p>
    </div>
  );
}

export function Choice(props: { label: string; bare?: boolean; value: string; options: (string | [string, string])[]; onChange: (value: string) => void }) {
  return (
    <label class="choice">
      <span class={props.bare ? "hidden" : ""} aria-hidden="true">{props.label}</span>
      <select aria-label={props.label} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map((option) => {
          const [value, text] = typeof option === "string" ? [option, option] : option;
          return (
            <option value={value} selected={value === props.value}>
              {text}
            </option>
          );
        })}
      </select>
    </label>
  );
}
