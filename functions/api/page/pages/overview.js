/** Is anything wrong? One sentence, then what needs somebody, then counts and what comes next. */
import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { get, now, one, post, session, stats } from "../api.js";
import { Coming } from "../chart.js";
import { DAY, MINUTE, STATES, command, count, length, plural, relative, short, summary } from "../format.js";
import { Icon } from "../icons.js";
import { Action, Command, Heading, Problem, Skeleton, Time, attempt, href, live, toast, useTicking, useView } from "../ui.js";

const SILENT_AFTER = 2 * MINUTE;
const LOOKED_AT = 200;
const FRESH = 5000;
/** Seconds for which the dearer parts are good enough. */
const KEEP = { schedules: 60, errors: 300 };
const kept = new Map();

/** An answer of lately, or a new one; the cost is that of this look. */
async function lately(name, manual, ask) {
  const had = kept.get(name);
  if (had && !manual && Date.now() - had.at < KEEP[name] * 1000) return { data: had.data, units: 0 };
  const answer = await ask();
  kept.set(name, { data: answer.data, at: Date.now() });
  return answer;
}

/** Where this is, as the sign-in heard it a moment ago, or anew. */
function about() {
  const known = session.value.about;
  return now() - Date.parse(known.now) < FRESH ? { data: known, units: 0 } : get("about");
}

async function look({ manual }) {
  const answers = await Promise.all([
    about(), stats(manual), get("jobs", { state: "live", limit: LOOKED_AT }), get("reservation"),
    lately("schedules", manual, () => get("schedules", { recent: 30 })),
  ]);
  const [told, counts, jobs, reservation, schedules] = answers.map((answer) => answer.data);
  session.set({ about: told });
  return {
    data: { about: told, counts, countedAt: answers[1].at, live: jobs, reservation, schedules: schedules.schedules, manual },
    units: answers.reduce((sum, { units }) => sum + units, 0),
  };
}

/** The groups of errors come after the rest: they are the dearest part, and must not hold up the others. */
function useErrors(data) {
  const [errors, set] = useState(kept.get("errors")?.data ?? null);
  useEffect(() => {
    if (!data) return;
    lately("errors", data.manual, () => get("errors")).then(({ data: found, units }) => {
      set(found);
      live.set({ units: live.value.units + units });
    }, (error) => set({ groups: [], error }));
  }, [data]);
  return errors;
}

function needs({ about, counts, live, reservation, schedules }, errors) {
  const at = now();
  const found = [];
  const add = (text, to, more) => found.push({ text, to, more });
  const silent = about.last_tick_at ? at - Date.parse(about.last_tick_at) : null;
  if (silent === null) add("The poller has not ticked yet: is its schedule switched on, or a worker running?", href(["settings"]));
  else if (silent > SILENT_AFTER) add(`The poller is silent: it last ticked ${relative(about.last_tick_at)}.`, href(["settings"]));
  if (!about.settings.enabled) add("Nothing is claimed: DYNAJOBS_ENABLED is false.", href(["settings"]));
  if (!about.settings.scheduler_enabled) add("No slots are fired: DYNAJOBS_SCHEDULER_ENABLED is false.", href(["settings"]));
  if (reservation.status === "active") add(`The queue is reserved by ${reservation.by}: nothing new starts before ${relative(reservation.until)}.`, href(["settings"]));
  if (counts.oldest_due_age > 60) add(`The oldest due job has waited for ${length(counts.oldest_due_age)}.`, href(["jobs"], { state: "pending" }));
  const expired = live.jobs.filter((job) => job.lock_expires_at && Date.parse(job.lock_expires_at) < at - 10_000);
  if (expired.length) add(`${plural(expired.length, "lease")} expired: a worker fell silent.`, href(["jobs"], { state: "in_progress" }));
  if (about.handled && !about.handled.includes("*")) {
    const homeless = [...new Set(live.jobs.map((job) => job.job_type))].filter((type) => !about.handled.includes(type));
    for (const type of homeless) add(`Job type ${type} has no handler: DYNAJOBS_HANDLERS does not name it.`, href(["jobs"], { type }));
  }
  const fresh = (errors?.groups ?? []).filter((group) => at - Date.parse(group.first_seen) < DAY);
  for (const group of fresh.slice(0, 5)) add(`New error: ${group.title} (${[group.dead_letters && plural(group.dead_letters, "dead letter"), group.failed && `${count(group.failed)} will retry`].filter(Boolean).join(", ")})`, href(["errors", group.fingerprint]), group.last_seen);
  for (const schedule of schedules) {
    const last = schedule.recent.find((run) => !["queued", "running", "skipped"].includes(run.outcome));
    if (["failed", "dead_letter", "missed"].includes(last?.outcome)) {
      add(`Schedule ${schedule.name}: the last run ${last.outcome === "missed" ? "was missed" : last.outcome === "failed" ? "failed, and is retried" : "became a dead letter"}.`, href(["schedules", schedule.name]), last.scheduled_for);
    }
    if (schedule.enabled && schedule.next_run_at && at - Date.parse(schedule.next_run_at) > SILENT_AFTER) add(`Schedule ${schedule.name} is overdue since ${relative(schedule.next_run_at)}.`, href(["schedules", schedule.name]));
  }
  return { found, stopped: silent === null || silent > SILENT_AFTER || !about.settings.enabled };
}

function Health({ data, errors }) {
  const said = useTicking(() => {
    const { found, stopped } = needs(data, errors);
    const state = stopped ? "Not running" : found.length ? "Needs attention" : "Healthy";
    const { about, counts } = data;
    const day = errors?.error ? "Errors could not be read." : errors ? `${plural(errors.groups.reduce((sum, group) => sum + group.day, 0), "failure")} in the last 24 h.` : "";
    return `${state}.|${about.last_tick_at ? `Poller ticked ${relative(about.last_tick_at)}` : "The poller has not ticked yet"}. ${counts.oldest_due_age ? `Oldest due job waits ${length(counts.oldest_due_age)}` : "Nothing due waits"}. ${day}`;
  });
  const [state, sentence] = said.split("|");
  const kind = state.startsWith("Healthy") ? "good" : state.startsWith("Not") ? "bad" : "warn";
  return html`<p class=${`health ${kind}`}>
    <${Icon} name=${kind === "good" ? "circle-check" : "triangle-alert"} size=${20} /><span>
    <strong>${state}</strong> ${sentence}</span></p>`;
}

export default function Overview() {
  const view = useView("overview", look, { every: 15 });
  const { data, error } = view;
  const errors = useErrors(data);
  if (!data) return html`<${Heading} title="Overview" />
    ${error ? html`<${Problem} error=${error} retry=${view.reload} what="The overview could not be loaded" />` : html`<${Skeleton} />`}`;
  const { counts, countedAt, live: page, schedules, about } = data;
  const { found } = needs(data, errors);
  const from = now();
  const waiting = page.jobs.filter((job) => job.status !== "in_progress");
  const slots = schedules.filter((schedule) => schedule.enabled && schedule.next_run_at);
  const empty = Object.values(counts.by_status).every((number) => !number);
  return html`<div class="page overview">
    <${Heading} title="Overview" />
    ${error && html`<${Problem} error=${error} retry=${view.reload} what="The overview could not be refreshed; this is what it was" />`}
    <${Health} ...${{ data, errors }} />
    ${found.length > 0 && html`<section class="card needs">
      <h2>Needs attention <span class="number">${found.length}</span></h2>
      <ul>${found.map(({ text, to, more }) => html`<li><${Icon} name="triangle-alert" />
      <a href=${to}>${text}</a>${more && html`<span class="muted">
      <${Time} at=${more} /></span>`}</li>`)}</ul></section>`}
    <section aria-label="Jobs by state" class="tiles">
      ${Object.entries(STATES).map(([state, { word, icon }]) => html`<a class=${`tile ${state}`} href=${href(["jobs"], { state })}>
      <span><${Icon} name=${icon} /> ${state === "failed" ? "failed, will retry" : word}</span>
      <strong>${count(counts.by_status[state], counts.truncated)}</strong></a>`)}</section>
    <p class="muted small">Counted <${Time} at=${new Date(countedAt).toISOString()} say=${(at) => relative(at, Date.now())} />
      ${counts.truncated ? "; counting stops at 1,000 of a kind to save reads" : ""}. Finished jobs are kept for ${about.settings.retention_days} days.</p>
    ${empty && !schedules.length ? html`<section class="card"><h2>Enqueue the first job</h2>
      <pre class="code">queue = JobQueue.from_env()
queue.enqueue("email.send", {"to": "ada@example.com"})</pre>
  <${Command} line=${command("jobs", "enqueue", "email.send", "--payload", '{"to": "ada@example.com"}')} label="Or" /></section>` : html`
    <div class="columns wide-left"><section class="card">
      <${Coming} jobs=${waiting.map((job) => job.scheduled_for)} slots=${slots.map((schedule) => schedule.next_run_at)} from=${from} more=${Boolean(page.cursor)} /></section>
      <${Next} ...${{ waiting, slots }} /></div>`}
    <${Command} line=${command("stats")} /></div>`;
}

function Next({ waiting, slots }) {
  const rows = [
    ...waiting.map((job) => ({ at: job.scheduled_for, key: job.id, to: href(["jobs", job.id]), name: job.job_type, more: summary(job.payload, 40) || short(job.id), run: null })),
    ...slots.map((schedule) => ({ at: schedule.next_run_at, key: schedule.name, to: href(["schedules", schedule.name]), name: schedule.name, more: `schedule · ${schedule.cron_words ?? schedule.cron}`, run: schedule.name })),
  ].sort((one_, other) => Date.parse(one_.at) - Date.parse(other.at)).slice(0, 10);
  return html`<section class="card">
    <h2>Next runs</h2>${rows.length ? html`<ul class="next-runs">${rows.map((row) => html`<li key=${row.key} data-row>
    <span class="at">
    <${Time} at=${row.at} say=${(at) => (Date.parse(at) < now() - 1000 ? `due ${relative(at)}` : relative(at))} /></span>
    <span class="what"><a data-open href=${row.to}>${row.name}</a><span class="second">${row.more}</span></span>
    <${RunNow} row=${row} /></li>`)}</ul>` : html`<p class="muted">Nothing waits.</p>`}</section>`;
}

function RunNow({ row }) {
  const job = () => attempt(async () => {
    const id = row.key;
    await post(one("jobs", id, "/reschedule"), { delay: 0 });
    toast(`${row.name} is due now.`, { actions: [{ label: "Open", href: row.to }, { label: "Undo", run: () => attempt(() => post(one("jobs", id, "/reschedule"), { run_at: row.at }), "Not moved") }] });
  }, "Not run");
  const schedule = async () => (await import("../schedules.js")).trigger(row.run);
  return html`<${Action} class="small" aria-label=${`Run now: ${row.name}`} onClick=${row.run ? schedule : job}>Run now</${Action}>`;
}
