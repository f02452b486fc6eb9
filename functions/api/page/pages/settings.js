/** Where this is, the reservation, who changed what, and how this person wants the page. */
import { html, useState } from "../vendor/preact-htm.js";
import { get, post, preferences, remove, signOut, tick, useStore, write } from "../api.js";
import { Confirm } from "../dialogs.js";
import { clock, plural, relative } from "../format.js";
import { Action, Heading, Problem, Skeleton, Time, announce, attempt, live, open, toast, together, useView } from "../ui.js";

export default function Settings() {
  const view = useView("settings", () => together({ about: get("about"), reservation: get("reservation"), audit: get("audit", { limit: 50 }) }));
  const { data, error } = view;
  return html`<div class="page"><${Heading} title="Settings" />
    <${Preferences} />
    ${error && html`<${Problem} error=${error} retry=${view.reload} what="This could not be loaded" />`}
    ${!data && !error && html`<${Skeleton} />`}
    ${data && html`<div class="columns"><${About} about=${data.about} />
      <${Reservation} held=${data.reservation} /></div>
      <${Audit} audit=${data.audit} edit=${(audit) => view.edit({ ...data, audit })} />`}</div>`;
}

const CHOICES = {
  theme: ["Theme", [["auto", "As the system"], ["light", "Light"], ["dark", "Dark"]]],
  utc: ["Clock", [[false, "Local time"], [true, "UTC"]]],
  absolute: ["Times", [[false, "Relative: 5m ago"], [true, "Absolute: date and time"]]],
  refresh: ["Refresh", [["auto", "As each view needs it"], ["5", "Every 5 s"], ["15", "Every 15 s"], ["60", "Every 60 s"], ["off", "By hand"]]],
};
const SWITCHES = { compact: "Compact rows", keys: "Keyboard shortcuts of single keys", restless: "Go on refreshing after 10 min without input (costs reads; for wall screens)" };

function Preferences() {
  const chosen = useStore(preferences);
  return html`<section class="card"><h2>Preferences</h2><p class="muted">Kept on this device.</p>
    <div class="preferences">
    ${Object.entries(CHOICES).map(([name, [label, options]]) => html`<label>${label}
      <select onChange=${(event) => preferences.set({ [name]: options[event.target.selectedIndex][0] })}>
      ${options.map(([value, text]) => html`<option selected=${chosen[name] === value}>
      ${text}</option>`)}</select></label>`)}
      <label>Your name<input maxlength="100" autocomplete="name" value=${chosen.actor} placeholder="Recorded with your changes" onChange=${(event) => preferences.set({ actor: event.target.value.trim() })} /></label></div>
    ${Object.entries(SWITCHES).map(([name, text]) => html`<label class="check">
      <input type="checkbox" checked=${chosen[name]} onChange=${(event) => preferences.set({ [name]: event.target.checked })} />${text}</label>`)}
    <div class="buttons start"><button onClick=${signOut}>Sign out</button></div></section>`;
}

function About({ about }) {
  const look = () => attempt(async () => {
    const { data } = await tick();
    toast(`The poller looked: ${plural(data.claimed, "job")} claimed, ${plural(data.fired, "slot")} fired.`);
    live.value.reload?.();
  }, "The poller was not called");
  const facts = [
    ["Table", html`<code>
      ${about.table}</code>`], ["Region", about.region], ["Environment", about.environment || "not set"], ["Version", about.version], ["You", `${about.actor}, may ${about.role === "operate" ? "read and change" : "read"}`],
    ["Poller", about.last_tick_at ? html`ticked <${Time} at=${about.last_tick_at} />` : "has not ticked yet"], ["Handlers", about.handled ? about.handled.map((name) => (name === "*" ? "all types" : name)).join(", ") : "not told by a poller"],
    ["Job types seen", about.job_types.join(", ") || "none yet"], ...Object.entries(about.settings).map(([name, value]) => [name[0].toUpperCase() + name.slice(1).replaceAll("_", " "), String(value)]),
  ];
  return html`<section class="card"><h2>About</h2><dl class="facts">${facts.map(([name, value]) => html`<div>
    <dt>${name}</dt><dd>${value}</dd></div>`)}</dl><div class="buttons start">
    <${Action} onClick=${look}>Poll now</${Action}></div></section>`;
}

function Reservation({ held }) {
  const [{ by, minutes }, set] = useState({ by: "", minutes: "5" });
  const active = held.status === "active";
  const take = (event) => {
    event.preventDefault();
    const run = async () => {
      await post("reservation", { by: by.trim(), ttl: Number(minutes) * 60 });
      toast(`The queue is reserved for ${minutes} min.`, { actions: [{ label: "Release", run: release }] });
      live.value.reload?.();
    };
    open(html`<${Confirm} title="Reserve the queue?" verb="Reserve queue" run=${run} effect=${`No new job starts for ${minutes} min, or until it is released. What runs goes on; slots still make their jobs, which wait.`} />`);
  };
  const release = () => attempt(async () => {
    await remove("reservation");
    toast("The queue is released.");
    live.value.reload?.();
  }, "It was not released");
  return html`<section class="card"><h2>Reservation</h2>
    ${active ? html`<p>
      <strong>${held.by}</strong> has the queue since ${clock(held.since)}, until ${clock(held.until)} (${relative(held.until)}). Nothing new starts before.</p>
      <div class="buttons start"><${Action} class="primary" onClick=${release}>Release queue</${Action}></div>` : html`
    <p class="muted">
      ${held.by ? html`Nobody has the queue now; the last was ${held.by}, ${held.released_at ? html`released <${Time} at=${held.released_at} />` : html`until <${Time} at=${held.until} />`}.` : "Nobody had the queue to themselves yet."} While it is reserved, no new job starts.</p>
    <form class="inline" onSubmit=${take}>
      <label>Who<input required maxlength="256" value=${by} onInput=${(event) => set({ by: event.target.value, minutes })} /></label>
      <label>Minutes<input required type="number" min="1" max="1440" value=${minutes} onInput=${(event) => set({ by, minutes: event.target.value })} /></label>
      <${Action} type="submit">Reserve queue…</${Action}></form>`}</section>`;
}

function Audit({ audit, edit }) {
  const [error, fail] = useState(null);
  const older = () => get("audit", { limit: 50, cursor: audit.cursor }).then(({ data }) => (edit({ entries: [...audit.entries, ...data.entries], cursor: data.cursor }), announce(`${data.entries.length} more.`)), fail);
  const told = (details) => (details === null ? "" : write(details));
  return html`<section class="card">
    <h2>Who changed what</h2>${audit.entries.length === 0 ? html`<p class="muted">Nothing was changed yet.</p>` : html`<div class="scroller">
    <table class="rows audit"><caption class="hidden">Changes, newest first</caption><thead><tr>
    <th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">On</th>
    <th scope="col">Outcome</th><th scope="col">Details</th></tr></thead>
    <tbody>${audit.entries.map((entry) => html`<tr><td data-label="When"><${Time} at=${entry.at} /></td>
      <td data-label="Who" class="wrap">${entry.who} <span class="muted">(${entry.via})</span></td>
      <td data-label="What"><code>${entry.action}</code></td><td data-label="On" class="wrap">${entry.target}</td>
      <td data-label="Outcome">${entry.outcome}</td><td class="wrap">
      <div class="second">${told(entry.details).slice(0, 300)}</div></td></tr>`)}</tbody></table></div>`}
    ${audit.cursor && html`<p class="after">
      <button onClick=${older}>Load older</button></p>`}<${Problem} error=${error} what="Older entries could not be loaded" /></section>`;
}
