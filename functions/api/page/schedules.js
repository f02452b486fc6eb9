/** What changes schedules, each once: enable, disable, run now, delete, backfill. */
import { html, useState } from "./vendor/preact-htm.js";
import { Refused, now, one, post, remove } from "./api.js";
import { Confirm, fromField, toField } from "./dialogs.js";
import { DAY, command, plural, short, zoneName } from "./format.js";
import { Command, Dialog, Problem, attempt, close, go, href, live, open, toast } from "./ui.js";

export const toggle = (name, on) => attempt(async () => {
  const { data } = await post(one("schedules", name, on ? "/enable" : "/disable"));
  toast(`${name} is ${on ? "enabled" : "disabled"}.`, { actions: [{ label: on ? "Disable" : "Enable", run: () => toggle(name, !on) }] });
  live.value.reload?.();
  return data;
}, `${name} was not changed`);

export function trigger(name) {
  const run = async () => {
    const { data } = await post(one("schedules", name, "/trigger"));
    toast(`${name} runs as ${short(data.job_id)}.`, { actions: [{ label: "Open", href: href(["jobs", data.job_id]) }] });
    live.value.reload?.();
  };
  open(html`<${Confirm} title=${`Run ${name} now?`} verb="Run now" line=${command("schedules", "trigger", name)} run=${run}
    effect="One job is made and is due now, as well as those of its slots, which stay as they are." />`);
}

export function destroy(name) {
  const run = async () => {
    await remove(one("schedules", name));
    toast(`${name} is deleted.`);
    go(["schedules"]);
  };
  open(html`<${Confirm} title=${`Delete schedule ${name}?`} verb="Delete schedule" danger typed=${name} line=${command("schedules", "delete", name)} run=${run}
    effect="It runs no more. Its history stays until it expires; jobs that are queued still run. To stop it for a while, disable it." />`);
}

export const backfill = (schedule) => open(html`<${Backfill} name=${schedule.name} />`);

function Backfill({ name }) {
  const [{ start, end, error }, set] = useState({ start: toField(now() - DAY), end: toField(now()), error: null });
  const save = async (event) => {
    event.preventDefault();
    try {
      const { data } = await post(one("schedules", name, "/backfill"), { start: fromField(start), end: fromField(end) });
      toast(data.job_ids.length ? `${plural(data.job_ids.length, "slot")} of ${name} will run.` : "Every slot of that time has its job.");
      live.value.reload?.();
      close();
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      set({ start, end, error: refused });
    }
  };
  return html`<${Dialog} title=${`Backfill ${name}`}><form onSubmit=${save}>
    <p>Slots of the past that have no job, missed ones too, get one that is due now: at most 100.</p>
    <label>From (${zoneName()})<input type="datetime-local" step="1" required value=${start} onInput=${(event) => set({ start: event.target.value, end, error })} /></label>
    <label>Before (${zoneName()})<input type="datetime-local" step="1" required value=${end} onInput=${(event) => set({ start, end: event.target.value, error })} /></label>
    <${Command} line=${command("schedules", "backfill", name, "--start", fromField(start), "--end", fromField(end))} />
    <${Problem} error=${error} what="Nothing was made" />
    <div class="buttons"><button type="button" onClick=${close} autofocus>Cancel</button>
      <button class="primary">Backfill</button></div></form></${Dialog}>`;
}
