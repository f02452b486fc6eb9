/** The form of a schedule, new or old, with what the server says its expression would do. */
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { Refused, get, one, post, put, session, write } from "./api.js";
import { clock, command, count, typedObject } from "./format.js";
import { Slots, Warnings } from "./pages/schedule.js";
import { Action, Command, Heading, Problem, go, guard, href, toast } from "./ui.js";
import { pretty } from "./json.js";

const PRESETS = [["Hourly", "0 * * * *"], ["Daily", "0 7 * * *"], ["Weekdays", "0 7 * * 1-5"], ["Weekly", "0 7 * * 1"], ["Monthly", "0 7 1 * *"]];
const FIELDS = ["minute", "hour", "day", "month", "weekday"];
const TYPED_FOR = 400;
const NEW = { name: "", makes: "job_type", job_type: "", template: "", cron: "0 7 * * *", timezone: "UTC", payload: "{}", description: "", priority: "0", max_attempts: "", catchup: "latest", overlap: "allow", enabled: true };

const formOf = (schedule) => schedule ? {
  ...NEW, ...schedule, makes: schedule.template ? "template" : "job_type", job_type: schedule.job_type ?? "", template: schedule.template ?? "",
  payload: pretty(write(schedule.template ? schedule.param_overrides ?? {} : schedule.payload)), priority: String(schedule.priority), max_attempts: String(schedule.max_attempts ?? ""),
} : NEW;

/** The form as the API takes it; only what changed if there was one. */
function bodyOf(form, before) {
  const payload = typedObject(form.payload);
  if (payload.problem) return { field: "payload", message: payload.problem };
  if (form.max_attempts && !/^\d+$/.test(form.max_attempts)) return { field: "max_attempts", message: "must be a whole number" };
  const template = form.makes === "template";
  const whole = {
    [template ? "template" : "job_type"]: template ? form.template : form.job_type, [template ? "param_overrides" : "payload"]: payload.value,
    cron: form.cron.trim(), timezone: form.timezone.trim(), description: form.description, priority: Number(form.priority),
    max_attempts: form.max_attempts ? Number(form.max_attempts) : null, catchup: form.catchup, overlap: form.overlap, enabled: form.enabled,
  };
  if (!before) return { body: { name: form.name.trim(), ...whole } };
  const old = formOf(before);
  const changed = Object.entries(whole).filter(([name]) => form[name === "param_overrides" ? "payload" : name] !== old[name === "param_overrides" ? "payload" : name]);
  if (form.makes !== old.makes) changed.push([template ? "job_type" : "template", null], ...(template ? [["payload", null]] : [["param_overrides", null]]));
  return { body: Object.fromEntries(changed) };
}

export function Editor({ schedule }) {
  const [form, set] = useState(() => formOf(schedule));
  const [problem, blame] = useState({ field: "", message: "", error: null });
  const [preview, foresee] = useState({ data: null, problem: "" });
  const [templates, know] = useState([]);
  const [busy, work] = useState(false);
  const ref = useRef(null);
  const start = useRef(JSON.stringify(form));
  guard.unsaved = () => ref.current?.isConnected && JSON.stringify(form) !== start.current;
  useEffect(() => void get("templates").then(({ data }) => know(data.templates), () => {}), []);
  useEffect(() => {
    let stale = false;
    const timer = setTimeout(async () => {
      try {
        const { data } = await post("schedules/preview", { cron: form.cron.trim(), timezone: form.timezone.trim(), n: 10 });
        if (!stale) foresee({ data, problem: "", field: "" });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (!stale) foresee({ data: null, problem: error.message, field: error.details?.field ?? "" });
      }
    }, TYPED_FOR);
    return () => (stale = true, clearTimeout(timer));
  }, [form.cron, form.timezone]);

  const edit = (name) => (event) => {
    set({ ...form, [name]: event.target.type === "checkbox" ? event.target.checked : event.target.value });
    if (problem.field === name) blame({ field: "", message: "", error: null });
  };
  const fault = (field, message, error = null) => {
    blame({ field, message, error });
    ref.current?.querySelector(`[name="${field}"]`)?.focus();
  };
  const save = async (event) => {
    event.preventDefault();
    const { body, field, message } = bodyOf(form, schedule);
    if (field) return fault(field, message);
    work(true);
    try {
      const { data } = schedule ? await put(one("schedules", schedule.name), body) : await post("schedules", body);
      guard.unsaved = () => false;
      start.current = JSON.stringify(form);
      const from = schedule?.next_run_at;
      const moved = from && data.next_run_at && from !== data.next_run_at ? ` Next run moves from ${clock(from, data.timezone)} to ${clock(data.next_run_at, data.timezone)}.` : data.next_run_at ? ` Next run: ${clock(data.next_run_at, data.timezone)}.` : "";
      toast(`${data.name} is ${schedule ? "saved" : "created"}.${moved}`);
      go(["schedules", data.name]);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const named = error.details?.field ?? error.details?.[0]?.field?.split(".")[0] ?? (error.kind === "AlreadyExists" ? "name" : error.kind === "TemplateNotFound" ? "template" : "");
      fault(named, error.details?.[0]?.message ?? error.message, named && document.querySelector(`[name="${named}"]`) ? null : error);
    }
    work(false);
  };
  const wrong = (name) => (problem.field === name ? problem.message : preview.field === name || (name === "cron" && preview.problem && preview.field !== "timezone") ? preview.problem : "");
  const title = schedule ? `Edit ${schedule.name}` : "New schedule";
  const field = (name, label, control, note = "") => html`<div class="field">
    <label for=${`f-${name}`}>${label}</label>
      ${control({ id: `f-${name}`, name, value: form[name], onInput: edit(name), "aria-invalid": wrong(name) ? "true" : null, "aria-describedby": `p-${name}` })}
      <p class=${wrong(name) ? "field-problem" : "muted small"} id=${`p-${name}`} role=${wrong(name) ? "alert" : null}>
      ${wrong(name) || note}</p></div>`;
  const select = (options) => (props) => html`<select ...${props} onInput=${null} onChange=${props.onInput}>
    ${options.map(([value, text]) => html`<option value=${value} selected=${props.value === value}>
    ${text}</option>`)}</select>`;
  const input = (more = {}) => (props) => html`<input autocomplete="off" spellcheck=${false} ...${props} ...${more} />`;
  const parts = form.cron.trim().split(/\s+/);
  return html`<div class="page"><p class="crumbs"><a href="#/schedules">Schedules</a></p><${Heading} title=${title} />
    <form class="editor" ref=${ref} onSubmit=${save} noValidate><div class="card">
      ${!schedule && field("name", "Name", input({ required: true }), "Letters, digits, and . _ -")}
      ${field("cron", "Cron expression", input({ class: "mono" }))}
      ${parts.length === 5 && html`<div class="cron-fields" aria-hidden="true">${parts.map((part, index) => html`<span>
        <code>${part}</code><small>${FIELDS[index]}</small></span>`)}</div>`}
      <p class="chips">
        ${PRESETS.map(([name, cron]) => html`<button type="button" aria-pressed=${String(form.cron === cron)} onClick=${() => set({ ...form, cron })}>
        ${name}</button>`)}</p>
      ${field("timezone", "Time zone", input({ list: "zones" }))}<datalist id="zones">
        <option value="UTC" />${(Intl.supportedValuesOf?.("timeZone") ?? []).map((zone) => html`<option value=${zone} />`)}</datalist>
      <fieldset><legend>Makes a job</legend><label class="check">
        <input type="radio" name="makes" value="job_type" checked=${form.makes === "job_type"} onChange=${edit("makes")} />of a type</label>
        <label class="check">
        <input type="radio" name="makes" value="template" checked=${form.makes === "template"} onChange=${edit("makes")} />from a template</label></fieldset>
      ${form.makes === "template" ? field("template", "Template", select([["", "Choose one"], ...templates.map((each) => [each.name, `${each.name} (${each.job_type})`])])) : field("job_type", "Job type", input({ list: "types" }))}
      <datalist id="types">${session.value.about.job_types.map((type) => html`<option value=${type} />`)}</datalist>
      ${field("payload", form.makes === "template" ? "Instead of the template's payload" : "Payload", (props) => html`<textarea class="mono" rows="5" spellcheck=${false} ...${props}></textarea>`, "A JSON object")}
      ${field("description", "Description", input())}
      <details><summary>Outages, overlap, priority, attempts</summary>
        ${field("catchup", "After an outage", select([["latest", "Run the latest missed slot"], ["all", "Run every missed slot"], ["none", "Run no missed slot"]]))}
        ${field("overlap", "While a run is not over", select([["allow", "Start the next beside it"], ["skip", "Skip the next slot"], ["queue_one", "Let one slot wait for it"]]))}
        ${field("priority", "Priority", select([["0", "0, normal"], ["1", "1"], ["2", "2"], ["3", "3, first"]]))}${field("max_attempts", "Attempts, at most", input({ inputmode: "numeric" }), "The handler's own number if left empty")}</details>
      <label class="check">
        <input type="checkbox" name="enabled" checked=${form.enabled} onChange=${edit("enabled")} />Enabled</label>
      <${Problem} error=${problem.error ?? (problem.message && !problem.field ? { message: problem.message } : null)} what="It was not saved" />
      <div class="buttons">
        <a class="button" href=${schedule ? href(["schedules", schedule.name]) : "#/schedules"}>Cancel</a>
        <${Action} class="primary" type="submit" reason=${busy ? "It is being saved." : ""}>
          ${schedule ? "Save schedule" : "Create schedule"}</${Action}></div></div>
    <aside class="card preview" aria-label="Preview" aria-live="polite">
      <h2>Preview</h2>
        ${preview.data ? html`<${Foresight} data=${preview.data} zone=${form.timezone.trim()} />` : html`<p class="muted">
        ${preview.problem ? "Nothing to show before the expression is right." : "…"}</p>`}</aside></form>
    ${!schedule && html`<${Command} line=${command("schedules", "create", "--name", form.name || "NAME", ...(form.makes === "template" ? ["--template", form.template || "TEMPLATE"] : ["--job-type", form.job_type || "TYPE"]), "--cron", form.cron, "--timezone", form.timezone)} />`}</div>`;
}

function Foresight({ data, zone }) {
  if (!data.next.length) return html`<p class="field-problem">This never runs.</p>`;
  const rate = data.per_day >= 1 ? `≈ ${count(Math.round(data.per_day))} ${Math.round(data.per_day) === 1 ? "job" : "jobs"} a day` : data.per_day > 0 ? "less than one job a day" : "none in the next 7 days";
  return html`<p class="sentence">${data.cron_words ?? html`<span class="muted">No words for this one: see its slots.</span>`}</p>
    <p class="muted">${rate}</p>
    ${data.warnings.length > 0 && html`<${Warnings} warnings=${data.warnings} />`}<${Slots} slots=${data.next} zone=${zone} />`;
}
