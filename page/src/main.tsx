// The page: a head with the views, the one that the address names, and what is wrong with the connection.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import "./style.css";
import { asked, connection, has, isSaved, keepToken, useView, type About } from "./data";
import { address, useRoute } from "./route";
import { Fleet, Disks, Tiers } from "./views/levels";
import { ClusterMap } from "./views/map";
import { Overview } from "./views/overview";
import { Queues } from "./views/queues";
import { Moments, Simulation } from "./views/simulation";
import { Waiting, Workloads } from "./views/waiting";
import { WhatIf } from "./views/whatif";
import { Workload } from "./views/workload";

const VIEWS: [string, string, string][] = [
  ["overview", "Overview", "overview"],
  ["map", "Map", "map"],
  ["queues", "Queues", "queues"],
  ["waiting", "Waiting", "waiting"],
  ["workloads", "Workloads", "workloads"],
  ["fleet", "Fleet", "fleet"],
  ["tiers", "Tiers", "tiers"],
  ["disks", "Disks", "disks"],
  ["whatif", "What if", "whatif"],
  ["simulation", "Simulation", "simulation"],
];

function Page() {
  const { view, query } = useRoute();
  const [about, setAbout] = useState<About | null>(null);
  const trouble = connection.use();
  useEffect(() => {
    let again = 0;
    const ask = () =>
      asked("about").then(
        (found) => {
          setAbout(found);
          connection.set(null);
        },
        (error) => {
          connection.set(error);
          again = window.setTimeout(ask, 1000);
        },
      );
    void ask();
    return () => clearTimeout(again);
  }, []);
  useEffect(() => {
    document.title = `${VIEWS.find(([name]) => name === view)?.[1] ?? query.get("workload") ?? "Page"} – Fairlead`;
  }, [view, query.get("workload")]);
  if (trouble?.status === 401) return <Token />;
  if (!about) return <p class="empty" role="status">{trouble?.message ?? "Reading …"}</p>;
  const simulation = about.simulation;
  const moment: Record<string, string> = {};
  if (simulation && !isSaved) {
    moment.policy = query.get("policy") ?? simulation.policies[0]!;
    moment.at = query.get("at") ?? "0";
  }
  const here = isSaved && view !== "workload" && !has(view) ? (VIEWS.find(([name]) => has(name))?.[0] ?? view) : view;
  const views = VIEWS.filter(([name, , record]) => (name === "simulation" ? simulation !== null : name === "whatif" ? !isSaved : has(record)));
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <header class="top">
        <a class="brand" href={address(has("overview") ? "overview" : "simulation")}>Fairlead</a>
        <span class="source" title={about.title}>{about.title}</span>
        <nav aria-label="Views">
          {views.map(([name, title]) => (
            <a href={address(name)} aria-current={name === here || (name === "workloads" && view === "workload") ? "page" : undefined}>{title}</a>
          ))}
        </nav>
        <Theme />
      </header>
      <Troubles trouble={trouble?.message ?? ""} moment={moment} />
      {simulation && !isSaved && view !== "simulation" && <Moments simulation={simulation} query={query} />}
      <main id="main" tabIndex={-1}>
        <h1 class="hidden">{VIEWS.find(([name]) => name === here)?.[1] ?? "Workload"}</h1>
        {shown(here, query, moment, simulation !== null)}
      </main>
      <footer>
        Fairlead {about.version}. It only reads.
        {!isSaved && view !== "whatif" && view !== "workload" && (
          <> This view as <a href={`${view}.json${moment.at ? `?${new URLSearchParams(moment)}` : ""}`}>JSON</a>.</>
        )}
      </footer>
    </>
  );
}

function shown(view: string, query: URLSearchParams, moment: Record<string, string>, simulated: boolean) {
  switch (view) {
    case "overview": return <Overview moment={moment} />;
    case "map": return <ClusterMap moment={moment} query={query} />;
    case "queues": return <Queues moment={moment} query={query} simulated={simulated} />;
    case "waiting": return <Waiting moment={moment} />;
    case "workloads": return <Workloads moment={moment} />;
    case "workload": return <Workload moment={moment} query={query} />;
    case "fleet": return <Fleet moment={moment} />;
    case "tiers": return <Tiers moment={moment} />;
    case "disks": return <Disks moment={moment} />;
    case "whatif": return <WhatIf moment={moment} query={query} />;
    case "simulation": return <Simulation query={query} />;
    default: return <p class="empty">There is no view {view}.</p>;
  }
}

function Troubles(props: { trouble: string; moment: Record<string, string> }) {
  const record = useView("overview", props.moment);
  const words = props.trouble || record?.trouble || "";
  const errors = record?.errors?.length ?? 0;
  return (
    <div role="status" aria-live="polite">
      {words && <p class="trouble">{words}</p>}
      {errors > 0 && (
        <p class="trouble mild">
          {errors === 1 ? "One manifest is broken" : `${errors} mistakes in the manifests`}: <code>{record.errors[0].path}</code> {record.errors[0].message}{" "}
          <a href={address("overview")}>All of them</a>
        </p>
      )}
    </div>
  );
}

function Token() {
  const kept = (event: SubmitEvent) => {
    event.preventDefault();
    keepToken(String(new FormData(event.currentTarget as HTMLFormElement).get("token") ?? ""));
    location.reload();
  };
  return (
    <main class="token">
      <h1>Fairlead</h1>
      <form onSubmit={kept}>
        <label>
          This server asks for a token
          <input type="password" name="token" autocomplete="off" required />
        </label>
        <button type="submit">Go on</button>
      </form>
      <p class="note">It is kept until this tab is closed, and sent in a header of its own.</p>
    </main>
  );
}

const THEMES = ["system", "light", "dark"];

function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem("fairlead-theme") ?? "system");
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("fairlead-theme", theme);
  }, [theme]);
  return (
    <button type="button" class="theme" onClick={() => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!)} aria-label={`Colours: ${theme}. Change`}>
      {theme === "dark" ? "☾" : theme === "light" ? "☀" : "◐"}
    </button>
  );
}

render(<Page />, document.getElementById("page")!);
