// Bundles the page into the Python package. `npm run build`, or `make page` from the root.
import { build } from "esbuild";
import { mkdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const folder = new URL("../src/fairlead/web/static/", import.meta.url).pathname;
const LIMIT = 150_000;

mkdirSync(folder, { recursive: true });
await build({
  entryPoints: { app: "src/main.tsx" },
  outdir: folder,
  bundle: true,
  minify: true,
  target: ["es2022"],
  legalComments: "inline",
  logLevel: "warning",
});
let total = 0;
for (const name of ["app.js", "app.css"]) {
  const size = gzipSync(readFileSync(folder + name), { level: 9 }).length;
  total += size;
  console.log(`page: ${name} ${(size / 1000).toFixed(1)} kB compressed`);
}
if (total > LIMIT) {
  console.error(`page: ${total} bytes compressed are more than ${LIMIT}`);
  process.exit(1);
}
