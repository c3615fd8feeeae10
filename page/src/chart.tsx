// Step lines over time. Lines that lie on each other stay visible: earlier ones are wider, later ones thinner and dashed.
import { useRef, useState } from "preact/hooks";
import { clock, number } from "./amounts";
import { Picture } from "./parts";

export type Line = { name: string; values: (number | null)[]; times?: number[]; tone?: number; wish?: boolean };
export type Mark = { at: number; label: string };

const WIDTH = 760;
const HEIGHT = 240;
const LEFT = 58;
const RIGHT = 14;
const TOP = 14;
const BOTTOM = 30;
const STEPS = [1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400];
const LABELLED = 4;
export const COLOURS = 8;

export function Chart(props: {
  name: string; times: number[]; lines: Line[]; end: number; start?: number; most?: number; marks?: Mark[];
  text?: (value: number) => string; at?: number; onPick?: (second: number) => void; label?: (second: number) => string;
}) {
  const [off, setOff] = useState<Set<string>>(new Set());
  const [hover, setHover] = useState<number | null>(null);
  const picture = useRef<SVGSVGElement>(null);
  const start = props.start ?? 0;
  const length = Math.max(props.end - start, 1e-6);
  const shown = props.lines.filter((line) => !off.has(line.name));
  const highest = Math.max(0, ...shown.flatMap((line) => line.values.map((value) => value ?? 0)));
  const top = props.most ?? ceiling(highest);
  const text = props.text ?? number;
  const label = props.label ?? clock;
  const x = (second: number) => LEFT + ((WIDTH - LEFT - RIGHT) * (second - start)) / length;
  const y = (value: number) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * Math.min(value, top)) / top;
  const apart = STEPS.find((step) => length / step <= 7) ?? length / 6;
  const ticks = Array.from({ length: Math.floor(length / apart + 1e-9) + 1 }, (_, place) => start + place * apart);
  const second = (event: PointerEvent) => {
    const frame = picture.current!.getBoundingClientRect();
    const share = ((event.clientX - frame.left) / frame.width) * WIDTH;
    return Math.min(Math.max(start + ((share - LEFT) / (WIDTH - LEFT - RIGHT)) * length, start), props.end);
  };
  const looked = hover ?? props.at ?? null;
  const place = looked === null ? -1 : lastAt(props.times, looked);
  return (
    <Picture name={props.name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}>
      <ul class="keys">
        {props.lines.map((line, row) => (
          <li>
            <button type="button" aria-pressed={!off.has(line.name)} onClick={() => setOff(toggled(off, line.name))}>
              <svg class="key" viewBox="0 0 28 8" aria-hidden="true">
                <line class={tone(line, row)} x1="0" x2="28" y1="4" y2="4" stroke-width="4" stroke-dasharray={dashes(line, row)} />
              </svg>
              {line.name}
              {place >= 0 && <b> {told(line.values[lastAt(line.times ?? props.times, looked!)], text)}</b>}
            </button>
          </li>
        ))}
      </ul>
      <svg
        ref={picture}
        class="picture chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${props.name}: ${props.lines.map((line) => `${line.name} ends at ${told(line.values.at(-1), text)}`).join(", ")}`}
        onPointerMove={(event) => setHover(second(event))}
        onPointerLeave={() => setHover(null)}
        onClick={(event) => props.onPick?.(second(event as unknown as PointerEvent))}
      >
        {[0, 1, 2, 3, 4].map((step) => (
          <g>
            <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y((top * step) / 4)} y2={y((top * step) / 4)} />
            <text class="tick" x={LEFT - 8} y={y((top * step) / 4) + 4} text-anchor="end">{text((top * step) / 4)}</text>
          </g>
        ))}
        {ticks.map((tick) => (
          <text class="tick" x={x(tick)} y={HEIGHT - 10} text-anchor={x(tick) > WIDTH - 40 ? "end" : "middle"}>{label(tick)}</text>
        ))}
        {(props.marks ?? []).map((mark, place) => (
          <g class="event">
            <line x1={x(mark.at)} x2={x(mark.at)} y1={TOP} y2={HEIGHT - BOTTOM} />
            <path d={`M${x(mark.at) - 4} ${TOP - 6}h8l-4 7z`}>
              <title>{mark.label}</title>
            </path>
            {props.marks!.length <= LABELLED && <text x={Math.min(x(mark.at) + 5, WIDTH - 90)} y={HEIGHT - BOTTOM - 6 - 13 * (place % 2)}>{mark.label}</text>}
          </g>
        ))}
        {props.lines.map((line, row) =>
          off.has(line.name) ? null : (
            <path class={tone(line, row)} d={path(line, props.times, x, y)} stroke-width={line.wish ? 1.8 : Math.max(5.5 - 1.2 * shown.filter((each) => !each.wish).indexOf(line), 2)} stroke-dasharray={dashes(line, row)}>
              <title>{line.name}</title>
            </path>
          ),
        )}
        {looked !== null && <line class="cursor" x1={x(looked)} x2={x(looked)} y1={TOP} y2={HEIGHT - BOTTOM} />}
        {looked !== null && <text class="tick" x={Math.min(x(looked) + 4, WIDTH - 44)} y={TOP + 8}>{label(looked)}</text>}
      </svg>
    </Picture>
  );
}

const tone = (line: Line, row: number) => `line c${(line.tone ?? row) % COLOURS}`;
const dashes = (line: Line, row: number) => (line.wish ? "2 3" : line.tone !== undefined || row === 0 ? undefined : [undefined, "10 4", "3 4", "14 4 3 4", "6 6"][row % 5]);
const told = (value: number | null | undefined, text: (value: number) => string) => (value === null || value === undefined ? "–" : text(value));

function toggled(set: Set<string>, name: string): Set<string> {
  const next = new Set(set);
  if (!next.delete(name)) next.add(name);
  return next;
}

export function lastAt(times: number[], second: number): number {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (times[middle]! <= second) low = middle;
    else high = middle - 1;
  }
  return times.length ? low : -1;
}

function ceiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 8, 10].map((step) => step * power).find((step) => step >= value)!;
}

function path(line: Line, times: number[], x: (second: number) => number, y: (value: number) => number): string {
  const own = line.times ?? times;
  const parts: string[] = [];
  let open = false;
  line.values.forEach((value, place) => {
    if (value === null || own[place] === undefined) {
      open = false;
      return;
    }
    const [left, height] = [x(own[place]!).toFixed(1), y(value).toFixed(1)];
    parts.push(open ? `H${left}V${height}` : `M${left} ${height}`);
    open = true;
  });
  return parts.join("");
}
