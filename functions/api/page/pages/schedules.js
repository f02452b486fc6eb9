/** All schedules: what each does, how its last slots went, when it runs next. */
import { html } from "../vendor/preact-htm.js";
import { get, now } from "../api.js";
import { Strip } from "../chart.js";
import { clock, command, plural, relative } from "../format.js";
import { Icon } from "../icons.js";
import { Action, Command, Heading, Problem, Skeleton, Time, href, useView } from "../ui.js";
import { toggle, trigger } from "../schedules.js";

const LATE = 120_000;

export default function Schedules() {
  const view = useView("schedules", () => get("schedules", { recent: 30 }));
  const { data, error } = view;
  if (!data) return html`<${Heading} title="Schedules" />
    ${error ? html`<${Problem} error=${error} retry=${view.reload} what="The schedules could not be loaded" />` : html`<${Skeleton} />`}`;
  const all = data.schedules;
  return html`<div class="page">
    <div class="title"><${Heading} title=${plural(all.length, "schedule")}>Schedules</${Heading}><div class="verbs">
      <a class="button primary" href="#/schedules/new"><${Icon} name="plus" />New schedule</a></div></div>
    ${error && html`<${Problem} error=${error} retry=${view.reload} what="The schedules could not be refreshed; this is what they were" />`}
    ${all.length === 0 ? html`<div class="empty"><h2>No schedules yet</h2>
      <p>A schedule makes a job at every slot of a cron expression, in a time zone, and keeps a history of every run.</p>
      <p><a class="button" href="#/schedules/new">New schedule</a></p></div>` : html`
    <div class="scroller"><table class="rows schedules"><caption class="hidden">Schedules</caption><thead><tr>
      <th scope="col">Schedule</th><th scope="col">When</th><th scope="col">Last 30 slots</th><th scope="col">Last</th>
      <th scope="col">Next</th><th scope="col">Enabled</th><th scope="col">
      <span class="hidden">Actions</span></th></tr></thead>
      <tbody>${all.map((schedule) => html`<${Row} key=${schedule.name} schedule=${schedule} />`)}</tbody></table></div>
    <p class="legend strip-legend">${["completed", "failed", "dead letter", "running", "missed", "skipped"].map((word) => html`<span>
      <i class=${`slot ${word.replace(" ", "_").replace("running", "in_progress")}`}></i>${word}</span>`)}</p>`}
    <${Command} line=${command("schedules", "list")} /></div>`;
}

function Row({ schedule }) {
  const { name, enabled, timezone, next_run_at: next } = schedule;
  const last = schedule.recent.find((run) => run.outcome !== "skipped") ?? schedule.recent[0];
  const overdue = enabled && next && now() - Date.parse(next) > LATE;
  return html`<tr data-row class=${enabled ? "" : "off"}><td class="job">
    <a data-open href=${href(["schedules", name])}>${name}</a>
      <div class="second plain-text">
        ${schedule.template ? html`template ${schedule.template}` : schedule.job_type}${schedule.description ? ` · ${schedule.description}` : ""}</div>
        ${schedule.warnings.length > 0 && html`<small class="late" title=${schedule.warnings.join("\n")}>
        <${Icon} name="triangle-alert" size=${12} /> ${plural(schedule.warnings.length, "clock change")}</small>`}</td>
    <td class="cron">${schedule.cron_words ?? html`<code>${schedule.cron}</code>`}<div class="second">
      ${schedule.cron_words ? `${schedule.cron} · ` : ""}${timezone}</div></td>
    <td class="strip-cell"><${Strip} runs=${schedule.recent} zone=${timezone} name=${name} /></td>
    <td data-label="Last">${last ? html`<${Time} at=${last.scheduled_for} zone=${timezone} />
      <div class="second plain-text">${last.outcome.replace("_", " ")}</div>` : "–"}</td>
    <td data-label="Next">
      ${overdue ? html`<span class="late">Overdue ${relative(next)}: poller?</span>` : next ? html`<${Time} at=${next} zone=${timezone} />
      <div class="second">${clock(next, timezone).slice(5, 16)} ${clock(next, timezone).slice(20)}</div>` : html`<span class="muted">off</span>`}</td>
    <td><${Switch} ...${{ name, enabled }} /></td>
    <td class="actions">
      <${Action} aria-label=${`Run now: ${name}`} onClick=${() => trigger(name)}>Run now</${Action}></td></tr>`;
}

export const Switch = ({ name, enabled }) => html`<${Action} class=${`switch ${enabled ? "on" : ""}`} role="switch" aria-checked=${String(enabled)} aria-label=${`${name} enabled`} onClick=${() => toggle(name, !enabled)}>
  <i></i><span aria-hidden="true">${enabled ? "On" : "Off"}</span></${Action}>`;
