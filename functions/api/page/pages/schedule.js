/** One schedule: what it does, its coming slots, its history with what was missed; or the form to write one. */
import { html, useState } from "../vendor/preact-htm.js";
import { get, one, write } from "../api.js";
import { Durations, OUTCOMES, Strip } from "../chart.js";
import { Editor } from "../editor.js";
import { clock, command, count, length, relative, short } from "../format.js";
import { Icon } from "../icons.js";
import { Json } from "../json.js";
import { Action, Command, Heading, Problem, Skeleton, Time, announce, href, together, useView } from "../ui.js";
import { backfill, destroy, trigger } from "../schedules.js";
import { Switch } from "./schedules.js";

const ICONS = { completed: "circle-check", failed: "rotate-cw", dead_letter: "skull", cancelled: "ban", queued: "clock", running: "loader-circle", missed: "timer-off", skipped: "chevron-right" };

export default function Schedule({ parts: [, name, verb] }) {
  if (name === "new") return html`<${Editor} />`;
  return verb === "edit" ? html`<${Edit} name=${name} />` : html`<${Shown} name=${name} />`;
}

function Edit({ name }) {
  const view = useView(`schedule ${name} edit`, () => get(one("schedules", name)));
  if (view.data) return html`<${Editor} schedule=${view.data} />`;
  return html`<${Heading} title=${`Edit ${name}`} />
    ${view.error ? html`<${Problem} error=${view.error} retry=${view.reload} what="The schedule could not be loaded" />` : html`<${Skeleton} />`}`;
}

function Shown({ name }) {
  const view = useView(`schedule ${name}`, () => together({
    schedule: get(one("schedules", name)), runs: get(one("schedules", name, "/runs"), { limit: 100 }), next: get(one("schedules", name, "/next"), { n: 5 }),
  }));
  const { data, error } = view;
  if (error?.status === 404 && !data) return html`<${Heading} title="Schedule not found" /><div class="empty">
    <p>There is no schedule <code>${name}</code>. It may have been deleted.</p><p>
    <a href="#/schedules">Schedules</a></p></div>`;
  if (!data) return html`<${Heading} title=${name} />
    ${error ? html`<${Problem} error=${error} retry=${view.reload} what="The schedule could not be loaded" />` : html`<${Skeleton} />`}`;
  const { schedule, runs, next } = data;
  const zone = schedule.timezone;
  const facts = [
    ["Cron", html`<code>${schedule.cron}</code> ${schedule.cron_words ?? ""}`], ["Time zone", zone],
    ["Makes", schedule.template ? html`<a href=${href(["templates", schedule.template])}>template ${schedule.template}</a>` : html`<a href=${href(["jobs"], { type: schedule.job_type })}>
      ${schedule.job_type}</a>`],
    ["After an outage", { latest: "runs the latest missed slot", all: "runs every missed slot", none: "runs no missed slot" }[schedule.catchup] + `, if missed within ${length(schedule.catchup_window)}`],
    ["While a run is not over", { allow: "the next starts beside it", skip: "the next slot is skipped", queue_one: "one slot waits for it" }[schedule.overlap]],
    ["Priority", String(schedule.priority)], ["Attempts", schedule.max_attempts && `at most ${schedule.max_attempts}`],
    ["Total runs", count(schedule.total_runs)], ["Success", schedule.success_rate === null ? null : `${Math.round(schedule.success_rate * 100)} % of the last 50`],
    ["Took", schedule.average_duration === null ? null : `${length(schedule.average_duration)} on average, at most ${length(schedule.max_duration)}`],
    ["Last success", schedule.last_success_at && html`<${Time} at=${schedule.last_success_at} zone=${zone} />`],
  ];
  return html`<div class="page">
    <p class="crumbs"><a href="#/schedules">Schedules</a></p>
    <div class="title"><${Heading} title=${name} /><${Switch} name=${name} enabled=${schedule.enabled} />
      <div class="verbs">
      <${Action} icon="play" class="primary" onClick=${() => trigger(name)}>Run now</${Action}>
        <a class="button" href=${href(["schedules", name, "edit"])}><${Icon} name="pencil" />Edit</a>
        <${Action} onClick=${() => backfill(schedule)}>Backfill…</${Action}>
        <${Action} class="dangerous apart" icon="trash-2" onClick=${() => destroy(name)}>Delete schedule</${Action}></div></div>
    ${schedule.description && html`<p>${schedule.description}</p>`}
    ${error && html`<${Problem} error=${error} retry=${view.reload} what="The schedule could not be refreshed; this is what it was" />`}
    ${schedule.warnings.length > 0 && html`<${Warnings} warnings=${schedule.warnings} />`}
    <section class="card"><${Strip} runs=${runs.runs} zone=${zone} name=${name} slots=${60} />
      <${Durations} runs=${runs.runs} zone=${zone} /></section>
    <div class="columns"><section class="card">
      <h2>Next runs</h2>${schedule.enabled ? "" : html`<p class="muted">It is disabled: these would be its slots.</p>`}
        <${Slots} slots=${next.next.map((utc) => ({ utc }))} zone=${zone} /></section>
      <section class="card"><h2>Facts</h2>
        <dl class="facts">${facts.filter(([, value]) => value).map(([title, value]) => html`<div><dt>${title}</dt>
        <dd>${value}</dd></div>`)}</dl></section></div>
    <section class="card"><h2>${schedule.template ? "Instead of the template's" : "Payload"}</h2>
      <${Json} text=${write(schedule.template ? schedule.param_overrides ?? {} : schedule.payload)} label="payload" /></section>
    <${History} ...${{ name, runs, zone, edit: (page) => view.edit({ ...data, runs: page }) }} />
    <${Command} line=${command("schedules", "show", name)} /></div>`;
}

export const Warnings = ({ warnings }) => html`<div class="problem warn"><${Icon} name="triangle-alert" /><div>
  <strong>When clocks change</strong><ul>${warnings.map((text) => html`<li>${text}</li>`)}</ul></div></div>`;

/** Coming slots by three clocks. @param {{slots: {utc: string}[], zone: string}} props */
export function Slots({ slots, zone }) {
  const zones = [...new Set([zone, "UTC", "local"])];
  const mine = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const columns = zones.filter((each) => each !== "local" || !zones.slice(0, 2).includes(mine));
  return html`<div class="scroller"><table class="plain"><caption class="hidden">Coming slots</caption><thead>
    <tr>${columns.map((each) => html`<th scope="col">${each === "local" ? `You (${mine})` : each}</th>`)}<th scope="col">In</th></tr></thead>
    <tbody>${slots.map(({ utc }) => html`<tr>${columns.map((each) => html`<td class="number">${clock(utc, each).replace(/:00 /, " ")}</td>`)}<td>
      <${Time} at=${utc} say=${(at) => relative(at)} /></td></tr>`)}</tbody></table></div>`;
}

function History({ name, runs, zone, edit }) {
  const [error, set] = useState(null);
  const older = () => get(one("schedules", name, "/runs"), { limit: 50, cursor: runs.cursor }).then(({ data }) => {
    edit({ runs: [...runs.runs, ...data.runs], cursor: data.cursor });
    announce(`${data.runs.length} more.`);
  }, set);
  return html`<section class="card">
    <h2>History</h2>${runs.runs.length === 0 ? html`<p class="muted">It has not run yet.</p>` : html`<div class="scroller">
    <table class="rows history"><caption class="hidden">History</caption><thead><tr><th scope="col">Slot (${zone})</th>
    <th scope="col">Outcome</th><th scope="col">Took</th><th scope="col">By</th><th scope="col">Message</th>
    <th scope="col">Job</th></tr></thead>
    <tbody>${runs.runs.map((run) => html`<tr data-row><td class="number">
      <${Time} at=${run.scheduled_for} zone=${zone} say=${(at) => clock(at, zone)} /></td>
      <td><span class=${`badge ${OUTCOMES[run.outcome] ?? ""}`}>
        <${Icon} name=${ICONS[run.outcome] ?? "circle"} size=${14} />
          ${run.outcome.replace("_", " ")}${run.count > 1 ? ` × ${run.count}` : ""}</span></td>
      <td class="number">${run.duration === null ? "" : length(run.duration)}</td><td>${run.triggered_by}</td>
        <td class="wrap">${run.message}</td><td>${run.job_id && html`<a data-open href=${href(["jobs", run.job_id])}>
        <code>${short(run.job_id)}</code></a>`}</td></tr>`)}</tbody></table></div>`}
    ${runs.cursor && html`<p class="after">
      <button onClick=${older}>Load older</button></p>`}<${Problem} error=${error} what="Older runs could not be loaded" /></section>`;
}
