// Amounts as people read them. Integers are in the unit of their resource: cpu in thousandths, memory in bytes.
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

export const isBytes = (name: string) =>
  name === "memory" || name === "disks" || name.includes("storage") || name.startsWith("hugepages-");

export function amount(name: string, value: number): string {
  if (name === "cpu") return number(value / 1000);
  if (isBytes(name)) return bytes(value);
  return number(value);
}

export function bytes(value: number): string {
  let step = 0;
  while (Math.abs(value) >= 1024 && step < BINARY.length - 1) {
    value /= 1024;
    step += 1;
  }
  return `${number(value)} ${BINARY[step]}B`.replace(" B", " B");
}

export function number(value: number): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

export const percent = (share: number, digits = 0) => `${(share * 100).toFixed(digits)} %`;

// "1500m", "12Gi", "3" to the unit of the resource.
export function parsedAmount(name: string, text: string): number {
  const match = /^([0-9.]+)(m|[KMGTPE]i|[kMGTPE])?$/.exec(text);
  if (!match) return NaN;
  const value = Number(match[1]);
  const suffix = match[2] ?? "";
  const factor = suffix.endsWith("i")
    ? 1024 ** BINARY.indexOf(suffix)
    : suffix === "m"
      ? 0.001
      : 1000 ** Math.max(["", "k", "M", "G", "T", "P", "E"].indexOf(suffix), 0);
  return value * factor * (name === "cpu" ? 1000 : 1);
}

export function span(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.round((seconds - hours * 3600) / 60);
  return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
}

export const clock = (seconds: number) =>
  `${Math.floor(seconds / 3600)}:${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")}`;

export const plural = (count: number, one: string, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
