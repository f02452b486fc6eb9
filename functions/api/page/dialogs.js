/** What changes jobs: each action once, with its confirmation, its message and the way back that truly exists. */
import { html, useState } from "./vendor/preact-htm.js";
import { Refused, forgetCounts, now, one, post, preferences } from "./api.js";
import { STATES, clock, command, short, zoneName } from "./format.js";
import { Action, Command, Dialog, Problem, attempt, close, href, live, open, toast } from "./ui.js";

const changed = () => (forgetCounts(), live.value.reload?.());
const job = (made, label = "Open") => ({ label, href: href(["jobs", made.id]) });

/**
 * A question before something that cannot be taken back. @param {{title: string, effect: any, verb: string,
 * danger?: boolean, line?: string, typed?: string, run: () => Promise<void>}} props
 */
export function Confirm({ title, effect, verb, danger = false, line, typed, run, children }) {
  const [{ busy, error, text }, set] = useState({ busy: false, error: null, text: "" });
  const ready = !typed || text === typed;
  const go = async (event) => {
    event.preventDefault();
    if (!ready || busy) return;
    set({ busy: true, error: null, text });
    try {
      await run();
      close();
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      set({ busy: false, error: refused, text });
    }
  };
  return html`<${Dialog} title=${title}><form onSubmit=${go}>
    <p>${effect}</p>${children}
    ${typed && html`<label>Type <strong>
      ${typed}</strong> to confirm<input autocomplete="off" spellcheck=${false} value=${text} onInput=${(event) => set({ busy, error, text: event.target.value })} /></label>`}
    ${line && html`<${Command} line=${line} />`}
    <${Problem} error=${error} what="It was not done" />
    <div class="buttons"><button type="button" onClick=${close} autofocus>${danger ? "Keep it" : "Cancel"}</button>
      <button class=${danger ? "danger" : "primary"} aria-disabled=${!ready || busy ? "true" : null}>${verb}</button></div></form></${Dialog}>`;
}

const named = (each) => html`<strong>${each.job_type}</strong> <code>${short(each.id)}</code>`;

async function retryNow(each) {
  const answer = await post(one("jobs", each.id, "/retry"));
  const made = answer.data;
  changed();
  if (made.id === each.id) toast(`${each.job_type} is due now.`, { actions: [job(made)] });
  else {
    const cancel = { label: "Cancel it", run: () => attempt(() => post(one("jobs", made.id, "/cancel")).then(changed), "Not cancelled") };
    toast(made.created ? `New job ${short(made.id)}.` : `It was retried before, as ${short(made.id)}.`, { actions: made.created ? [job(made), cancel] : [job(made)] });
  }
}

export function retry(each) {
  if (each.status !== "completed") return attempt(() => retryNow(each), "Not retried");
  open(html`<${Confirm} title="Run it again?" verb="Retry job" line=${command("jobs", "retry", each.id)} run=${() => retryNow(each)}
    effect=${html`${named(each)} has completed. A new job with the same payload runs now; what the first one did is done twice.`} />`);
}

export function cancel(each) {
  const runs = each.status === "in_progress";
  const run = async () => {
    const { data } = await post(one("jobs", each.id, "/cancel"));
    changed();
    const again = { label: "Retry", run: () => attempt(() => retryNow(data), "Not retried") };
    toast(data.status === "cancelled" ? `${each.job_type} is cancelled.` : `${each.job_type} was asked to stop.`, { actions: data.status === "cancelled" ? [again] : [] });
  };
  open(html`<${Confirm} title=${runs ? "Ask it to stop?" : "Cancel this job?"} verb="Cancel job" danger line=${command("jobs", "cancel", each.id)} run=${run}
    effect=${html`${named(each)} ${runs ? "is running: its handler is asked to stop, and learns of it when its lease is renewed. It may still complete." : "will not run. It can be retried as a new job."}`} />`);
}

/** An instant for a `datetime-local` field in the zone that times are shown in, and back. */
export function toField(at) {
  const date = new Date(at);
  if (!preferences.value.utc) date.setMinutes(date.getMinutes() - date.getTimezoneOffset());
  return date.toISOString().slice(0, 19);
}
export function fromField(text) {
  const date = new Date(preferences.value.utc ? `${text}Z` : text);
  return text && !Number.isNaN(date.getTime()) ? date.toISOString() : null;
}

async function move(each, change) {
  const { data } = await post(one("jobs", each.id, "/reschedule"), change);
  changed();
  const back = { run_at: each.scheduled_for, priority: each.priority };
  toast(`${each.job_type} is due ${clock(data.scheduled_for)}.`, {
    actions: [{ label: `Back to ${clock(each.scheduled_for).slice(11, 16)}`, run: () => attempt(() => move(data, back), "Not moved") }] });
}

export const reschedule = (each) => open(html`<${Reschedule} each=${each} />`);

function Reschedule({ each }) {
  const [form, set] = useState({ at: toField(each.scheduled_for), priority: String(each.priority), error: null });
  const at = fromField(form.at);
  const edit = (name) => (event) => set({ ...form, [name]: event.target.value });
  const inMinutes = (minutes) => () => set({ ...form, at: toField(now() + minutes * 60_000) });
  const save = async (event) => {
    event.preventDefault();
    if (!at) return set({ ...form, error: { message: "Give a date and a time." } });
    const moved = form.at !== toField(each.scheduled_for);
    const change = { ...(moved ? { run_at: at } : {}), ...(Number(form.priority) !== each.priority ? { priority: Number(form.priority) } : {}) };
    try {
      if (Object.keys(change).length) await move(each, change);
      close();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      set({ ...form, error });
    }
  };
  return html`<${Dialog} title="Reschedule job"><form onSubmit=${save}>
    <p>${named(each)}, ${STATES[each.status].word}, due ${clock(each.scheduled_for)}.</p>
    <label>Run at (${zoneName()})<input type="datetime-local" step="1" required value=${form.at} onInput=${edit("at")} autofocus /></label>
    <p class="chips"><button type="button" onClick=${inMinutes(0)}>Now</button>
      <button type="button" onClick=${inMinutes(10)}>In 10 min</button>
      <button type="button" onClick=${inMinutes(60)}>In 1 h</button>
      <button type="button" onClick=${inMinutes(1440)}>In 1 day</button></p>
    <label>Priority<select value=${form.priority} onChange=${edit("priority")}>
      ${[0, 1, 2, 3].map((number) => html`<option value=${number}>
      ${number}${number === 3 ? ", first" : number ? "" : ", normal"}</option>`)}</select></label>
    <${Command} line=${command("jobs", "reschedule", each.id, "--run-at", at, "--priority", form.priority)} />
    <${Problem} error=${form.error} what="It was not moved" />
    <div class="buttons"><button type="button" onClick=${close}>Cancel</button>
      <button class="primary">Reschedule job</button></div></form></${Dialog}>`;
}

/** The buttons of one job; in rows only their icons are seen. */
export function JobActions({ each, may, all = false }) {
  const bare = all ? "" : "bare";
  const name = (verb) => (all ? {} : { "aria-label": `${verb} job` });
  const label = (verb) => (all ? `${verb} job` : "");
  const shown = (verb) => all || !may[verb];
  return html`${shown("retry") && html`<${Action} class=${`${bare} ${all && !may.retry && each.status !== "completed" ? "primary" : ""}`} data-key="r" icon="rotate-cw" title="Retry job (r)" reason=${may.retry} onClick=${() => retry(each)} ...${name("Retry")}>
    ${label("Retry")}</${Action}>`}
    ${shown("reschedule") && html`<${Action} class=${bare} data-key="e" icon="calendar-clock" title="Reschedule job" reason=${may.reschedule} onClick=${() => reschedule(each)} ...${name("Reschedule")}>
      ${label("Reschedule")}</${Action}>`}
    ${shown("cancel") && html`<${Action} class=${`${bare} apart ${all ? "dangerous" : ""}`} data-key="c" icon="ban" title="Cancel job (c)" reason=${may.cancel} onClick=${() => cancel(each)} ...${name("Cancel")}>
      ${label("Cancel")}</${Action}>`}`;
}
