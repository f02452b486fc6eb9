/** Templates: jobs prepared under a name; made, changed, enqueued, forgotten. */
import { html, useState } from "../vendor/preact-htm.js";
import { Refused, forgetCounts, get, one, post, put, remove, session, write } from "../api.js";
import { Confirm } from "../dialogs.js";
import { plural, short, summary, typedObject } from "../format.js";
import { Json, pretty } from "../json.js";
import { Action, Dialog, Heading, Problem, Skeleton, close, go, href, live, open, toast, useView } from "../ui.js";

export default function Templates({ parts: [, name] }) {
  return name ? html`<${Template} name=${name} />` : html`<${List} />`;
}

const edit = (template) => open(html`<${Form} template=${template} />`);
const enqueue = (template) => open(html`<${Enqueue} template=${template} />`);

function destroy(name) {
  const run = async () => {
    await remove(one("templates", name));
    toast(`${name} is deleted.`);
    if (location.hash === "#/templates") live.value.reload?.();
    else go(["templates"]);
  };
  open(html`<${Confirm} title=${`Delete template ${name}?`} verb="Delete template" danger run=${run} effect="Jobs that were made from it stay as they are." />`);
}

function List() {
  const view = useView("templates", () => get("templates"));
  const { data, error } = view;
  if (!data) return html`<${Heading} title="Templates" />
    ${error ? html`<${Problem} error=${error} retry=${view.reload} what="The templates could not be loaded" />` : html`<${Skeleton} />`}`;
  const all = data.templates;
  return html`<div class="page"><div class="title">
    <${Heading} title=${plural(all.length, "template")}>Templates</${Heading}><div class="verbs">
    <${Action} class="primary" icon="plus" onClick=${() => edit(null)}>New template</${Action}></div></div>
    ${error && html`<${Problem} error=${error} retry=${view.reload} what="The templates could not be refreshed; this is what they were" />`}
    ${all.length === 0 ? html`<div class="empty"><h2>No templates yet</h2>
      <p>A template is a job type and a payload under a name, for schedules and for jobs made by hand.</p></div>` : html`
    <div class="scroller"><table class="rows"><caption class="hidden">Templates</caption><thead><tr>
      <th scope="col">Template</th><th scope="col">Job type</th><th scope="col">Payload</th><th scope="col">Used by</th>
      <th scope="col"><span class="hidden">Actions</span></th></tr></thead>
      <tbody>${all.map((each) => html`<tr key=${each.name} data-row><td class="job">
        <a data-open href=${href(["templates", each.name])}>${each.name}</a>
        <div class="second plain-text">${each.description}</div></td>
        <td data-label="Type">${each.job_type}${each.priority > 0 && html` <span class="tag">P${each.priority}</span>`}</td>
        <td class="payload"><div class="second">${summary(each.payload, 60)}</div></td>
          <td data-label="Used by">${each.used_by.length ? each.used_by.map((name, index) => html`${index ? ", " : ""}
            <a href=${href(["schedules", name])}>${name}</a>`) : html`<span class="muted">no schedule</span>`}</td>
        <td class="actions">
          <${Action} onClick=${() => enqueue(each)} aria-label=${`Enqueue… ${each.name}`}>Enqueue…</${Action}></td></tr>`)}</tbody></table></div>`}</div>`;
}

function Template({ name }) {
  const view = useView(`template ${name}`, () => get(one("templates", name)));
  const { data: template, error } = view;
  if (error?.status === 404 && !template) return html`<${Heading} title="Template not found" /><div class="empty">
    <p>There is no template <code>${name}</code>.</p><p><a href="#/templates">Templates</a></p></div>`;
  if (!template) return html`<${Heading} title=${name} />
    ${error ? html`<${Problem} error=${error} retry=${view.reload} what="The template could not be loaded" />` : html`<${Skeleton} />`}`;
  const used = template.used_by.length ? `It is used by ${template.used_by.join(", ")}.` : "";
  return html`<div class="page"><p class="crumbs"><a href="#/templates">Templates</a></p>
    <div class="title"><${Heading} title=${name} /><div class="verbs">
      <${Action} class="primary" onClick=${() => enqueue(template)}>Enqueue…</${Action}>
      <${Action} icon="pencil" onClick=${() => edit(template)}>Edit</${Action}>
      <${Action} class="dangerous apart" icon="trash-2" reason=${used} onClick=${() => destroy(name)}>Delete template</${Action}></div></div>
    ${template.description && html`<p>${template.description}</p>`}
    <div class="columns"><section class="card"><h2>Payload</h2>
      <${Json} text=${write(template.payload)} label="payload" /></section>
      <section class="card"><h2>Facts</h2><dl class="facts"><div><dt>Job type</dt><dd>
        <a href=${href(["jobs"], { type: template.job_type })}>${template.job_type}</a></dd></div><div><dt>Priority</dt>
        <dd>${template.priority}</dd></div>${template.max_attempts && html`<div><dt>Attempts</dt>
        <dd>at most ${template.max_attempts}</dd></div>`}
        <div><dt>Used by</dt>
          <dd>${template.used_by.length ? template.used_by.map((each, index) => html`${index ? ", " : ""}
            <a href=${href(["schedules", each])}>${each}</a>`) : "no schedule"}</dd></div></dl></section></div></div>`;
}

/** One field of a form in a dialog, with its fault below it. */
const Field = ({ label, name, problem, children }) => html`<label>${label}${children}</label>
  ${name && problem?.field === name && html`<p class="field-problem" role="alert">${problem.message}</p>`}`;

const fieldOf = (error) => error.details?.[0]?.field?.split(".")[0] ?? (error.kind === "AlreadyExists" ? "name" : "");

function Form({ template }) {
  const [form, set] = useState({ name: "", job_type: "", description: "", priority: "0", ...template, payload: pretty(write(template?.payload ?? {})), max_attempts: String(template?.max_attempts ?? "") });
  const [problem, blame] = useState(null);
  const typed = (name) => ({ name, value: form[name], onInput: (event) => set({ ...form, [name]: event.target.value }) });
  const save = async (event) => {
    event.preventDefault();
    const payload = typedObject(form.payload);
    if (payload.problem) return blame({ field: "payload", message: payload.problem });
    const body = { job_type: form.job_type.trim(), payload: payload.value, description: form.description, priority: Number(form.priority), max_attempts: form.max_attempts ? Number(form.max_attempts) : null };
    try {
      const { data } = template ? await put(one("templates", template.name), body) : await post("templates", { name: form.name.trim(), ...body });
      toast(`${data.name} is ${template ? "saved" : "created"}.`);
      close();
      if (template) live.value.reload?.();
      else go(["templates", data.name]);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      blame({ field: fieldOf(error), message: error.details?.[0]?.message ?? error.message, error });
    }
  };
  const known = ["name", "job_type", "payload", "max_attempts"].includes(problem?.field);
  return html`<${Dialog} title=${template ? `Edit ${template.name}` : "New template"} class="wide">
    <form onSubmit=${save}>
    ${!template && html`<${Field} label="Name" name="name" problem=${problem}>
      <input required autocomplete="off" autofocus ...${typed("name")} /></${Field}>`}
    <${Field} label="Job type" name="job_type" problem=${problem}>
      <input required list="template-types" autocomplete="off" ...${typed("job_type")} /></${Field}>
      <datalist id="template-types">${session.value.about.job_types.map((type) => html`<option value=${type} />`)}</datalist>
    <${Field} label="Payload" name="payload" problem=${problem}>
      <textarea class="mono" rows="7" spellcheck=${false} ...${typed("payload")}></textarea></${Field}>
    <${Field} label="Description"><input autocomplete="off" ...${typed("description")} /></${Field}>
    <${Field} label="Priority">
      <select value=${form.priority} onChange=${(event) => set({ ...form, priority: event.target.value })}>
        ${[0, 1, 2, 3].map((number) => html`<option value=${number}>${number}</option>`)}</select></${Field}>
    <${Field} label="Attempts, at most" name="max_attempts" problem=${problem}>
      <input inputmode="numeric" pattern="[0-9]*" ...${typed("max_attempts")} /></${Field}>
    ${problem && !known && html`<${Problem} error=${problem.error ?? problem} what="It was not saved" />`}
    <div class="buttons"><button type="button" onClick=${close}>Cancel</button>
      <${Action} class="primary" type="submit">${template ? "Save template" : "Create template"}</${Action}></div></form></${Dialog}>`;
}

function Enqueue({ template }) {
  const [{ text, delay, error }, set] = useState({ text: "{}", delay: "0", error: null });
  const make = async (event) => {
    event.preventDefault();
    const overrides = typedObject(text);
    if (overrides.problem) return set({ text, delay, error: { message: overrides.problem } });
    try {
      const { data } = await post(one("templates", template.name, "/enqueue"), { param_overrides: overrides.value, ...(Number(delay) ? { delay: Number(delay) } : {}) });
      forgetCounts();
      toast(`New job ${short(data.id)}.`, { actions: [{ label: "Open", href: href(["jobs", data.id]) }] });
      close();
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      set({ text, delay, error: refused });
    }
  };
  return html`<${Dialog} title=${`Enqueue ${template.name}`}><form onSubmit=${make}>
    <p>A new job of type <strong>${template.job_type}</strong> with the template's payload.</p>
    <label>Instead of the template's payload, at the top level<textarea class="mono" rows="4" spellcheck=${false} value=${text} onInput=${(event) => set({ text: event.target.value, delay, error: null })}></textarea></label>
    <label>Seconds from now<input inputmode="numeric" pattern="[0-9]*" value=${delay} onInput=${(event) => set({ text, delay: event.target.value, error: null })} /></label>
    <${Problem} error=${error} what="No job was made" />
    <div class="buttons"><button type="button" onClick=${close} autofocus>Cancel</button>
      <${Action} class="primary" type="submit">Enqueue job</${Action}></div></form></${Dialog}>`;
}
