/** One job: why it waits or what went wrong, its life as a timeline, its payload as it is stored. */
import { html, useState } from "../vendor/preact-htm.js";
import { get, now, one, session, useStore, write } from "../api.js";
import { JobActions } from "../dialogs.js";
import { LIVE, STATES, actionsOf, between, clock, command, count, finished, firstLine, length, plural, quoted, short } from "../format.js";
import { Icon } from "../icons.js";
import { Json } from "../json.js";
import { Badge, Command, Copy, Heading, Problem, Skeleton, Time, href, together, useView } from "../ui.js";
import { Timeline } from "../timeline.js";

export default function Job({ parts: [, id] }) {
  const [every, pace] = useState(15);
  const view = useView(`job ${id}`, async () => {
    const asked = { job: get(one("jobs", id)), why: get(one("jobs", id, "/why")) };
    const answer = await together(asked);
    pace(answer.data.job.status === "in_progress" ? 5 : LIVE.includes(answer.data.job.status) ? 15 : 0);
    return answer;
  }, { every });
  const { data, error } = view;
  if (error?.status === 404 && !data) {
    return html`<${Heading} title="Job not found" /><div class="empty">
      <p>There is no job <code>
        ${id}</code>. Finished jobs expire after ${session.value.about.settings.retention_days} days, dead letters never do.</p>
      <p><a href="#/jobs">Jobs</a></p></div>`;
  }
  if (!data) return html`<${Heading} title=${`Job ${short(id)}`} />
    ${error ? html`<${Problem} error=${error} retry=${view.reload} what="The job could not be loaded" />` : html`<${Skeleton} />`}`;
  const { job, why } = data;
  const may = actionsOf(job);
  const failing = ["failed", "dead_letter"].includes(job.status);
  const runs = job.runs.filter((run) => run.log);
  return html`<div class="page job-page">
    <p class="crumbs">
      <a href=${href(["jobs"])}>Jobs</a> / <a href=${href(["jobs"], { type: job.job_type })}>${job.job_type}</a></p>
    <div class="title"><${Heading} title=${`${job.job_type} ${short(job.id)}`}>${job.job_type}</${Heading}>
      <${Badge} status=${job.status} />${job.status === "failed" && html`<span class="muted">retry <${Time} at=${job.scheduled_for} /></span>`}
      ${job.cancel_requested && html`<span class="tag">cancel requested</span>`}${job.priority > 0 && html`<span class="tag">P${job.priority}</span>`}
      <span class="id"><code>${job.id}</code><${Copy} text=${job.id} label="Copy id" />
        <${Copy} text=${() => location.href} label="Copy link" class="bare">Link</${Copy}></span>
      <div class="verbs"><${JobActions} each=${job} may=${may} all /></div></div>
    ${error && html`<${Problem} error=${error} retry=${view.reload} what="The job could not be refreshed; this is what it was" />`}
    ${!finished(job) && html`<${Why} why=${why} running=${job.status === "in_progress"} />`}
    ${finished(job) && job.retried_by && html`<p class="note">It runs again as <a href=${href(["jobs", job.retried_by])}>
      ${short(job.retried_by)}</a>.</p>`}
    ${failing && html`<${ErrorPanel} job=${job} />`}
    <${Progress} progress=${finished(job) ? null : job.progress} />
    <section class="card"><h2>Timeline</h2><${Timeline} job=${job} /></section>
    <div class="columns"><section class="card"><h2>Payload</h2>
      <${Json} text=${job.payload_json} label="payload" /></section><${Facts} job=${job} /></div>
    ${job.result !== null && html`<section class="card"><h2>Result</h2>
      <${Json} text=${write(job.result)} label="result" /></section>`}
    ${runs.length > 0 && html`<section class="card">
      <h2>Logs</h2>${runs.toReversed().slice(0, 3).map((run) => html`<${Log} run=${run} />`)}</section>`}
    <details class="card"><summary><h2>Raw</h2></summary><${Json} text=${write(job)} label="job" /></details>
    <${Command} line=${command("jobs", "show", job.id)} /></div>`;
}

const MARKS = { true: ["check", "yes"], false: ["x", "no"], null: ["circle", "unknown"] };

function Why({ why, running }) {
  const open = why.checks.some((check) => check.ok === false);
  return html`<section class=${`card why ${open ? "waits" : ""}`} aria-label="Why">
    <h2>${running ? "What is it doing?" : "Why is it not running?"}</h2><p class="sentence">${why.sentence}</p>
    <details><summary>${plural(why.checks.length, "check")}</summary>
      <ul class="checks">${why.checks.map(({ name, ok, evidence }) => html`<li class=${MARKS[ok][1]}>
      <${Icon} name=${MARKS[ok][0]} />
      <span class="hidden">${MARKS[ok][1]}:</span> <strong>${name.replaceAll("_", " ")}</strong> ${evidence}</li>`)}</ul></details></section>`;
}

function Progress({ progress }) {
  if (!progress || typeof progress !== "object") return null;
  const { done, total, message } = progress;
  return html`<section class="card"><h2>Progress</h2>
    <progress max=${total ? Number(total) : null} value=${total ? Number(done) : null} aria-label="Progress"></progress> <span class="number">
      ${String(done)}${total ? ` of ${total}` : ""}</span> ${message}</section>`;
}

const FOREIGN = /[/\\](site|dist)-packages[/\\]|\/opt\/python\/|\/var\/(runtime|lang)\/|[/\\]lib[/\\]python3|[/\\]dynajobs[/\\]dynajobs[/\\]|^  File "</;

/** A traceback in parts: what stands between the frames, and frames with the line below them. */
function framesOf(text) {
  const parts = [];
  for (const line of text.split("\n")) {
    const last = parts.at(-1);
    if (/^  File "/.test(line)) parts.push({ lines: [line], frame: true, own: !FOREIGN.test(line) });
    else if (last?.frame && /^    /.test(line)) last.lines.push(line);
    else parts.push({ lines: [line], frame: false, own: true });
  }
  return parts;
}

function Trace({ text }) {
  const [{ all, newest }, set] = useState({ all: false, newest: true });
  const parts = framesOf(text);
  const frames = parts.filter((part) => part.frame);
  const own = frames.filter((part) => part.own);
  if (!frames.length) return html`<pre class="code wraps">${text}</pre>`;
  const chained = /\nDuring handling|\nThe above exception/.test(text);
  const shown = all || !own.length ? parts : chained ? parts.filter((part) => !part.frame || part.own) : own;
  const ordered = newest && !chained ? shown.toReversed() : shown;
  return html`<div class="bar">
    <button class="bare" aria-pressed=${String(!all)} onClick=${() => set({ all: false, newest })}>Own code (${own.length})</button>
    <button class="bare" aria-pressed=${String(all)} onClick=${() => set({ all: true, newest })}>All frames (${frames.length})</button>
      ${!chained && html`<button class="bare" onClick=${() => set({ all, newest: !newest })}>
        ${newest ? "Newest call first" : "Newest call last"}</button>`}
        <${Copy} text=${text} label="Copy error">Copy error</${Copy}></div>
    <pre class="code wraps" tabindex="0" role="region" aria-label="Traceback">
      ${ordered.map((part) => html`<span class=${part.frame && !part.own ? "muted" : ""}>
      ${part.lines.join("\n")}${"\n"}</span>`)}</pre>`;
}

function ErrorPanel({ job }) {
  const error = job.runs.findLast((run) => run.error)?.error ?? firstLine(job.last_error) ?? "";
  const [kind, ...message] = error.split(": ");
  const alike = job.runs.filter((run) => run.error === error).length;
  return html`<section class="card wrong" aria-label="Error"><h2>${message.length ? kind : "Error"}</h2>
    <p class="message">${message.join(": ") || kind}</p>
    <p class="muted">
      ${alike > 1 && html`The same in ${plural(alike, "attempt")}. `}${job.fingerprint && html`<a class="lone" href=${href(["errors", job.fingerprint])}>Jobs that failed alike</a>`}</p>
    ${job.last_error && html`<${Trace} text=${job.last_error} />`}</section>`;
}

function Facts({ job }) {
  const link = (id) => html`<a href=${href(["jobs", id])}><code>${short(id)}</code></a>`;
  const facts = [
    ["Due", html`<${Time} at=${job.scheduled_for} say=${(at) => clock(at)} />`],
    ["Created", html`<${Time} at=${job.created_at} say=${(at) => clock(at)} />`],
    ["Finished", job.finished_at && html`<${Time} at=${job.finished_at} say=${(at) => clock(at)} />`],
    ["Attempts failed", html`<span class="number">${count(job.attempts)}${job.max_attempts ? ` of at most ${job.max_attempts}` : ""}</span>`],
    ["Priority", `${job.priority}`],
    ["Organisation", job.org_id && html`<a href=${href(["jobs"], { org: job.org_id })}>${job.org_id}</a>`],
    ["Group", job.group_id],
    ["Schedule", job.schedule_name && html`<a href=${href(["schedules", job.schedule_name])}>${job.schedule_name}</a>
      ${job.triggered_by ? ` (${job.triggered_by})` : ""}`],
    ["Template", job.template && html`<a href=${href(["templates", job.template])}>${job.template}</a>`],
    ["Retry of", job.retry_of && link(job.retry_of)],
    ["Retried by", job.retried_by && link(job.retried_by)],
    ["Dedup key", job.dedup_key && html`<code>${job.dedup_key}</code>`],
    ["Dedup window", job.dedup_window],
    ["Lease", job.lock_expires_at && html`until <${Time} at=${job.lock_expires_at} say=${(at) => clock(at)} />`],
    ["Claims not begun", job.undelivered || null],
    ["Version", `${job.version}`],
  ];
  return html`<section class="card"><h2>Facts</h2>
    <dl class="facts">${facts.filter(([, value]) => value).map(([name, value]) => html`<div><dt>${name}</dt>
    <dd>${value}</dd></div>`)}</dl></section>`;
}

function Log({ run }) {
  const { group, stream, request_id: request } = run.log;
  const region = useStore(session).about.region;
  const since = run.started_at ? ` --start-time ${Date.parse(run.started_at) - 1000}` : "";
  const line = group && `aws logs filter-log-events --log-group-name ${quoted(group)}${stream ? ` --log-stream-names ${quoted(stream)}` : ""}${since}${request ? ` --filter-pattern ${quoted(`"${request}"`)}` : ""} --region ${region}`;
  return html`<dl class="facts"><div><dt>Attempt ${run.attempt}</dt><dd>
    <${Time} at=${run.started_at} say=${(at) => clock(at)} /></dd></div>
    ${group && html`<div><dt>Log group</dt><dd>
      <code>${group}</code> <${Copy} text=${group} label="Copy log group" /></dd></div>`}${stream && html`<div>
      <dt>Log stream</dt><dd><code>${stream}</code> <${Copy} text=${stream} label="Copy log stream" /></dd></div>`}
    ${request && html`<div><dt>Request id</dt><dd>
      <code>${request}</code> <${Copy} text=${request} label="Copy request id" /></dd></div>`}</dl>
        ${line && html`<${Command} line=${line} label="Read it" />`}`;
}
