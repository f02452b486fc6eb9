/** A job's life in order: created, due, each run, the waits between them, what comes next. From its runs alone. */
import { html } from "./vendor/preact-htm.js";
import { now } from "./api.js";
import { between, clock, finished, length, short, when } from "./format.js";
import { Icon } from "./icons.js";
import { Time } from "./ui.js";

const ICONS = { running: "loader-circle", completed: "circle-check", failed: "x", expired: "timer-off", snoozed: "clock", discarded: "skull", cancelled: "ban" };
const CLASS = { running: "in_progress", completed: "completed", failed: "dead_letter", expired: "dead_letter", snoozed: "pending", discarded: "dead_letter", cancelled: "cancelled" };
const WORDS = { running: "is running", completed: "completed", failed: "failed", expired: "its lease expired: the worker fell silent", snoozed: "snoozed", discarded: "was given up by its handler", cancelled: "was cancelled" };

/** Waits and runs as `{kind, seconds, status}`, oldest first. */
function segments(job) {
  const found = [];
  let at = job.created_at;
  for (const run of job.runs) {
    if (!run.started_at) continue;
    found.push({ kind: "wait", seconds: (Date.parse(run.started_at) - Date.parse(at)) / 1000 });
    const end = run.finished_at ?? new Date(now()).toISOString();
    found.push({ kind: "run", seconds: (Date.parse(end) - Date.parse(run.started_at)) / 1000, status: run.status });
    at = end;
  }
  if (!finished(job) && job.runs.at(-1)?.status !== "running") {
    found.push({ kind: "next", seconds: Math.max(Date.parse(job.scheduled_for) - Date.parse(at), 0) / 1000 });
  }
  return found;
}

/** Decoration: the same as the list below it says, with lengths on a logarithmic scale. */
function Track({ job }) {
  const parts = segments(job).map((part) => ({ ...part, width: 12 + 14 * Math.log2(1 + Math.max(part.seconds, 0)) }));
  const total = parts.reduce((sum, part) => sum + part.width + 2, 0);
  let x = 0;
  return html`<svg class="track" viewBox=${`0 0 ${Math.max(total, 40)} 14`} preserveAspectRatio="none" aria-hidden="true">
    ${parts.map((part) => {
      const left = x;
      x += part.width + 2;
      return html`<rect x=${left} y=${part.kind === "run" ? 0 : 5} width=${part.width} height=${part.kind === "run" ? 14 : 4} rx="2" class=${part.kind === "run" ? `mark ${CLASS[part.status] ?? ""}` : part.kind} />`;
    })}</svg>`;
}

const exact = (at) => clock(at, undefined, true);

export function Timeline({ job }) {
  const entries = [];
  const add = (name, icon, kind, at, more) => entries.push(html`<li class=${kind}><${Icon} name=${icon} /><div>
    <strong>${name}</strong> ${at && html`<${Time} at=${at} say=${exact} />`} ${more}</div></li>`);
  const wait = (from, to, why) => Date.parse(to) - Date.parse(from) > 50 && entries.push(html`<li class="gap">
    <span>waited ${between(from, to)}${why ? `, ${why}` : ""}</span></li>`);
  add("Created", "plus", "", job.created_at, job.schedule_name ? `by schedule ${job.schedule_name}` : job.retry_of ? `as a retry of ${short(job.retry_of)}` : "");
  let last = job.created_at;
  let before = null;
  for (const [index, run] of job.runs.entries()) {
    if (run.started_at) {
      const why = before === "failed" || before === "expired" ? "back-off" : before === "snoozed" ? "snoozed" : index === 0 && job.runs.length === 1 && Date.parse(job.scheduled_for) > Date.parse(job.created_at) + 1000 ? "until it was due" : "";
      wait(last, run.started_at, why);
    }
    const took = run.finished_at && run.started_at ? html`<span class="number">took ${between(run.started_at, run.finished_at)}</span>` : run.started_at ? html`<${Time} at=${run.started_at} say=${(at) => `for ${length((now() - Date.parse(at)) / 1000)}`} />` : "";
    add(`Attempt ${run.attempt} ${WORDS[run.status] ?? run.status}`, ICONS[run.status] ?? "circle", CLASS[run.status] ?? "", run.started_at, html`${took}
      ${run.worker && html`<span class="muted" title=${run.worker}>on …${run.worker.slice(-8)}</span>`}${(run.error || run.message) && html`<p class=${run.error ? "message" : ""}>
        ${run.error ?? run.message}</p>`}`);
    last = run.finished_at ?? last;
    before = run.status;
  }
  if (job.status === "failed") add(`Attempt ${job.attempts + 1}`, "rotate-cw", "next", null, html`<${Time} at=${job.scheduled_for} say=${(at) => `${when(at)}, ${clock(at)}`} />`);
  else if (job.status === "pending") add("Due", "clock", "next", null, html`<${Time} at=${job.scheduled_for} say=${(at) => `${when(at)}, ${clock(at)}`} />`);
  else if (job.status === "in_progress") add(job.runs.at(-1)?.status === "running" ? "Lease ends" : "Claimed, not begun; its lease ends", "flag", "next", job.lock_expires_at, "if it is not renewed");
  else if (job.status === "dead_letter") add("Dead letter", "skull", "dead_letter", job.finished_at, "no further attempt");
  else if (job.status === "cancelled") add("Cancelled", "ban", "cancelled", job.finished_at);
  else add("Completed", "circle-check", "completed", job.finished_at);
  return html`<${Track} job=${job} /><ol class="timeline">${entries}</ol>`;
}
