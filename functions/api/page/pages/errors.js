/** What went wrong, grouped by fingerprint, and the retry of a whole group. */
import { html } from "../vendor/preact-htm.js";
import { get } from "../api.js";
import { Bars } from "../chart.js";
import { bulk } from "../bulk.js";
import { JobActions } from "../dialogs.js";
import { actionsOf, command, count, firstLine, plural, short, summary } from "../format.js";
import { Icon } from "../icons.js";
import { Action, Badge, Command, Heading, Problem, Skeleton, Time, href, together, useView } from "../ui.js";

export default function Errors({ parts: [, fingerprint] }) {
  return fingerprint ? html`<${Group} fingerprint=${fingerprint} />` : html`<${Groups} />`;
}

const redrive = (group) => bulk({ action: "retry", filter: { state: "dead_letter", fingerprint: group.fingerprint }, what: "the dead letters of this group" });
const reason = (group) => (group.dead_letters > group.retried ? "" : "It has no dead letters that were not retried yet.");
const barsOf = (group) => html`<${Bars} bars=${group.bars} label=${`${plural(group.day, "failure")} in 24 hours, ${group.bars.at(-1)} in the last one`} />`;

function Groups() {
  const view = useView("errors", () => get("errors"));
  const { data, error } = view;
  if (!data) return html`<${Heading} title="Errors" />
    ${error ? html`<${Problem} error=${error} retry=${view.reload} what="The errors could not be loaded" />` : html`<${Skeleton} />`}`;
  return html`<div class="page">
    <${Heading} title=${`${plural(data.groups.length, "error group")}`}>Errors</${Heading}>
    ${error && html`<${Problem} error=${error} retry=${view.reload} what="The errors could not be refreshed; this is what they were" />`}
    <p class="muted">Grouped the latest ${count(data.examined)}${data.truncated ? " of more" : ""} dead letters and jobs that wait for a retry, by job type, exception, message without its numbers and names, and place in the code.</p>
    ${data.groups.length === 0 ? html`<div class="empty good"><${Icon} name="circle-check" size=${32} />
      <h2>Nothing went wrong.</h2><p>There are no dead letters, and nothing waits for a retry.</p></div>` : html`
    <div class="scroller"><table class="rows groups"><caption class="hidden">Errors</caption><thead><tr>
      <th scope="col">Error</th><th scope="col" class="right">1 h</th><th scope="col" class="right">24 h</th>
      <th scope="col" class="right">7 d</th><th scope="col" class="right">All</th><th scope="col">24 hours</th>
      <th scope="col">First</th><th scope="col">Last</th><th scope="col">
      <span class="hidden">Actions</span></th></tr></thead>
      <tbody>${data.groups.map((group) => html`<tr key=${group.fingerprint} data-row><td class="job">
        <a data-open href=${href(["errors", group.fingerprint])}>${group.title}</a>
        <div class="second">
          ${group.job_types.join(", ")} · ${plural(group.dead_letters, "dead letter")}${group.failed ? ` · ${count(group.failed)} will retry` : ""}${group.retried ? ` · ${count(group.retried)} retried` : ""}</div></td>
        <td class="right number" data-label="1 h">${count(group.hour)}</td>
          <td class="right number" data-label="24 h">${count(group.day)}</td>
          <td class="right number" data-label="7 d">${count(group.week)}</td>
          <td class="right number" data-label="All">${count(group.dead_letters + group.failed)}</td>
          <td class="strip-cell">${barsOf(group)}</td>
        <td data-label="First"><${Time} at=${group.first_seen} /></td><td data-label="Last">
          <${Time} at=${group.last_seen} /></td>
        <td class="actions">
          <${Action} data-key="r" reason=${reason(group)} onClick=${() => redrive(group)}>Retry group…</${Action}></td></tr>`)}</tbody></table></div>`}
    <${Command} line=${command("jobs", "list", "--state", "dead_letter")} /></div>`;
}

function Group({ fingerprint }) {
  const view = useView(`errors ${fingerprint}`, () => together({
    groups: get("errors"),
    dead: get("jobs", { state: "dead_letter", fingerprint, limit: 50 }),
    failed: get("jobs", { state: "failed", fingerprint, limit: 50 }),
  }));
  const { data, error } = view;
  if (!data) return html`<${Heading} title="Error group" />
    ${error ? html`<${Problem} error=${error} retry=${view.reload} what="The group could not be loaded" />` : html`<${Skeleton} />`}`;
  const group = data.groups.groups.find((each) => each.fingerprint === fingerprint);
  const jobs = [...data.failed.jobs, ...data.dead.jobs];
  if (!group && !jobs.length) return html`<${Heading} title="Error group not found" /><div class="empty">
    <p>No job with the fingerprint <code>${fingerprint}</code> is stored.</p><p>
    <a href="#/errors">Errors</a></p></div>`;
  const [kind, ...message] = (group?.title ?? firstLine(jobs[0]?.last_error)).split(": ");
  return html`<div class="page">
    <p class="crumbs"><a href="#/errors">Errors</a> / <code>${fingerprint}</code></p>
    <div class="title"><${Heading} title=${`${kind} ${message.join(": ")}`.slice(0, 80)}>${kind}</${Heading}>
      <div class="verbs">
        ${group && html`<${Action} class="primary" data-key="r" reason=${reason(group)} onClick=${() => redrive(group)}>Retry group…</${Action}>`}</div></div>
    <p class="message">${message.join(": ")}</p>
    ${error && html`<${Problem} error=${error} retry=${view.reload} what="The group could not be refreshed" />`}
    ${group && html`<section class="card"><dl class="facts across"><div><dt>Job types</dt>
      <dd>${group.job_types.join(", ")}</dd></div><div><dt>Dead letters</dt>
      <dd>${count(group.dead_letters)}${group.retried ? `, ${count(group.retried)} retried` : ""}</dd></div><div>
      <dt>Will retry</dt><dd>${count(group.failed)}</dd></div>
      <div><dt>24 hours</dt><dd>${barsOf(group)}</dd></div><div><dt>First seen</dt><dd>
        <${Time} at=${group.first_seen} /></dd></div><div><dt>Last seen</dt><dd>
        <${Time} at=${group.last_seen} /></dd></div></dl></section>`}
    <div class="scroller"><table class="rows"><caption class="hidden">Jobs of the group</caption><thead><tr>
      <th scope="col">State</th><th scope="col">Job</th><th scope="col">When</th><th scope="col">
      <span class="hidden">Actions</span></th></tr></thead>
      <tbody>${jobs.map((job) => html`<tr key=${job.id} data-row><td class="state">
        <${Badge} status=${job.status} />
          ${job.retried_by && html`<small class="muted">retried as <a href=${href(["jobs", job.retried_by])}>
          ${short(job.retried_by)}</a></small>`}</td>
        <td class="job"><a data-open href=${href(["jobs", job.id])}>${job.job_type}</a>
          <div class="second">${summary(job.payload)}</div>
          <div class="second wrong">${firstLine(job.last_error)}</div></td>
        <td class="when"><${Time} at=${job.finished_at ?? job.updated_at} /></td><td class="actions">
          <${JobActions} each=${job} may=${actionsOf(job)} /></td></tr>`)}</tbody></table></div>
    <p class="after">
      <a href=${href(["jobs"], { state: "dead_letter", fingerprint })}>All dead letters of this group</a></p></div>`;
}
