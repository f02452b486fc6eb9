/** The list of jobs: tabs, a search in words, pages of what is older, a selection for bulk actions. */
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { get, now, stats } from "../api.js";
import { bulk } from "../bulk.js";
import { JobActions } from "../dialogs.js";
import { COUNTED, LIVE, STATES, actionsOf, between, command, count, finished, firstLine, length, moment, plural, relative, short, summary, when } from "../format.js";
import { Icon } from "../icons.js";
import { Action, Badge, Command, Heading, Problem, Skeleton, Time, announce, go, href, useTicking, useView } from "../ui.js";

const TABS = ["live", "pending", "in_progress", "failed", "dead_letter", "completed", "cancelled", "all"];
const QUALIFIERS = { type: "type", org: "org", org_id: "org", state: "state", schedule: "schedule", fingerprint: "fingerprint" };
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
/** What one finished job costs to list: half a unit for its index key and one for itself, on an average. */
const UNITS_A_JOB = 0.5;

/** `type:email org:"two words"` as the route's query; what is no qualifier is an id, or is refused. */
function understood(text) {
  const query = {};
  for (const [word, name, plain, inQuotes] of text.matchAll(/(?:(\w+):)?(?:"([^"]*)"|(\S+))/g)) {
    const value = plain ?? inQuotes;
    if (!name && UUID.test(value)) return { id: value };
    if (!name || !(name in QUALIFIERS)) return { problem: `“${word}” is not understood. Search by id, type:, org:, state:, schedule: or fingerprint:` };
    query[QUALIFIERS[name]] = value;
  }
  if (query.state) {
    const state = query.state.toLowerCase().replace(/[ -]/g, "_");
    query.state = state === "dead" ? "dead_letter" : state;
    if (!TABS.includes(query.state)) return { problem: `There is no state “${state}”: ${TABS.join(", ")}.` };
  }
  return { query };
}

const words = ({ type, org, schedule, fingerprint }) =>
  Object.entries({ type, org, schedule, fingerprint }).filter(([, value]) => value).map(([name, value]) => `${name}:${/\s/.test(value) ? `"${value}"` : value}`).join(" ");

export default function Jobs({ query }) {
  const tab = TABS.includes(query.state) ? query.state : "live";
  const filter = { type: query.type, org_id: query.org, schedule_name: query.schedule, fingerprint: query.fingerprint };
  const state = tab === "all" ? undefined : tab;
  const [chosen, choose] = useState(new Set());
  const lastChosen = useRef(null);
  const isLive = tab === "live" || LIVE.includes(tab);
  const key = `jobs ${JSON.stringify([tab, filter])}`;
  useEffect(() => choose(new Set()), [key]);

  const view = useView(key, async ({ manual, old }) => {
    const [page, counts] = await Promise.all([get("jobs", { state, ...filter, limit: 50 }), stats(manual)]);
    const fresh = page.data.jobs;
    const units = page.units + counts.units;
    if (!old || manual) return { data: { jobs: fresh, cursor: page.data.cursor, counts, newer: 0, gone: [] }, units };
    // Rows stay where they are: what is new waits behind a button, what left the list says so.
    const present = new Map(fresh.map((job) => [job.id, job]));
    const known = new Set(old.jobs.map((job) => job.id));
    const gone = old.cursor || page.data.cursor ? [] : old.jobs.filter((job) => !present.has(job.id)).map((job) => job.id);
    return { data: { ...old, jobs: old.jobs.map((job) => present.get(job.id) ?? job), counts, gone, newer: fresh.filter((job) => !known.has(job.id)).length }, units };
  }, { every: isLive ? 15 : 0, hold: chosen.size ? `${chosen.size} selected` : "" });
  const { data, error } = view;

  const [older, setOlder] = useState({ busy: false, error: null });
  const more = async () => {
    setOlder({ busy: true, error: null });
    try {
      const { data: page } = await get("jobs", { state, ...filter, limit: 50, cursor: data.cursor });
      view.edit({ ...data, jobs: [...data.jobs, ...page.jobs], cursor: page.cursor });
      announce(`${page.jobs.length} more.`);
      setOlder({ busy: false, error: null });
    } catch (refused) {
      setOlder({ busy: false, error: refused });
    }
  };
  const toggle = (id, range) => {
    const next = new Set(chosen);
    const ids = data.jobs.map((job) => job.id);
    const from = range && lastChosen.current !== null ? ids.indexOf(lastChosen.current) : ids.indexOf(id);
    const to = ids.indexOf(id);
    const on = !chosen.has(id);
    for (const each of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) on ? next.add(each) : next.delete(each);
    lastChosen.current = id;
    choose(next);
  };

  const by = data?.counts.data.by_status;
  const truncated = data?.counts.data.truncated;
  const total = (name) => !by ? "" : count(name === "live" ? LIVE.reduce((sum, each) => sum + by[each], 0) : name === "all" ? Object.values(by).reduce((sum, number) => sum + number, 0) : by[name], truncated);
  const filtered = Object.values(filter).some(Boolean);
  const title = tab === "live" ? "Live jobs" : tab === "all" ? "All jobs" : STATES[tab].tab;
  const line = command("jobs", "list", ...(state && state !== "live" ? ["--state", state] : []), ...(query.type ? ["--type", query.type] : []), ...(query.org ? ["--org-id", query.org] : []), ...(query.schedule ? ["--schedule-name", query.schedule] : []));
  const everything = { state, ...filter };
  const action = tab === "dead_letter" || tab === "cancelled" || tab === "completed" ? "retry" : "cancel";
  return html`<div class="page jobs">
    <div class="title">
      <${Heading} title=${data ? `${filtered ? `${data.jobs.length}${data.cursor ? "+" : ""} ` : ""}${title}` : "Jobs"}>Jobs</${Heading}></div>
    <${Search} ...${{ query, tab }} />
    <nav class="tabs" aria-label="States">
      ${TABS.map((name) => html`<a href=${href(["jobs"], { ...query, state: name === "live" ? "" : name })} aria-current=${tab === name ? "page" : null}>
      ${name === "live" ? "All live" : name === "all" ? "All" : STATES[name].tab}${by && html` <span class="number" title=${truncated ? `Counted ${relative(new Date(data.counts.at).toISOString(), Date.now())}; counting stops at ${COUNTED} of a kind to save reads` : `Counted ${relative(new Date(data.counts.at).toISOString(), Date.now())}`}>
        ${total(name)}</span>`}</a>`)}</nav>
    ${error && html`<${Problem} error=${error} retry=${view.reload} what=${data ? "The list could not be refreshed; this is what it was" : "The list could not be loaded"} />`}
    ${data?.newer > 0 && html`<button class="newer" onClick=${() => view.reload()}>${plural(data.newer, "newer row")} · Show</button>`}
    ${!data && !error && html`<${Skeleton} />`}
    ${data && (data.jobs.length ? html`<${Table} ...${{ data, tab, chosen, toggle, choose }} />` : html`<${Empty} ...${{ tab, filtered, query, data, more, by }} />`)}
    ${data && html`<p class="after">${data.cursor ? html`<button onClick=${more} aria-disabled=${older.busy ? "true" : null}>
      ${older.busy ? "Loading…" : data.jobs.length ? "Load older" : `Search 1,000 older (≈ ${COUNTED * UNITS_A_JOB} units)`}</button>` : data.jobs.length > 0 && html`<span class="muted">That is all.</span>`}</p>
      <${Problem} error=${older.error} what="Older jobs could not be loaded" />`}
    ${chosen.size > 0 && html`<div class="selection" role="region" aria-label="Selection">
      <strong>${plural(chosen.size, "job")} selected</strong>
      <${Action} icon="rotate-cw" onClick=${() => bulk({ action: "retry", ids: [...chosen], what: "the selected jobs", after: () => choose(new Set()) })}>Retry selected…</${Action}>
      <${Action} class="dangerous" icon="ban" onClick=${() => bulk({ action: "cancel", ids: [...chosen], what: "the selected jobs", after: () => choose(new Set()) })}>Cancel selected…</${Action}>
      ${tab !== "all" && html`<${Action} onClick=${() => bulk({ action, filter: everything, what: `all that match: ${title.toLowerCase()} ${words(query)}`, after: () => choose(new Set()) })}>
        ${action === "retry" ? "Retry" : "Cancel"} all ${filtered ? "" : total(tab)} matching…</${Action}>`}
      <button onClick=${() => choose(new Set())}>Clear</button></div>`}
    <${Command} line=${line} /></div>`;
}

function Search({ query, tab }) {
  const [{ text, problem }, set] = useState({ text: words(query), problem: "" });
  useEffect(() => set({ text: words(query), problem: "" }), [JSON.stringify(query)]);
  const submit = (event) => {
    event.preventDefault();
    const found = understood(text);
    if (found.problem) return set({ text, problem: found.problem });
    if (found.id) return go(["jobs", found.id]);
    go(["jobs"], { state: tab === "live" ? "" : tab, ...found.query });
  };
  return html`<form class="search" role="search" onSubmit=${submit}><${Icon} name="search" />
    <input id="search" type="search" value=${text} aria-label="Search jobs" aria-describedby="search-problem" aria-invalid=${problem ? "true" : null}
    placeholder="Job id, or type:email.send org:acme schedule:nightly" spellcheck=${false} autocomplete="off" onInput=${(event) => set({ text: event.target.value, problem: "" })} onKeyDown=${(event) => event.key === "Escape" && event.target.blur()} />
    <button>Search</button><p class="field-problem" id="search-problem" role="alert">${problem}</p></form>`;
}

function Empty({ tab, filtered, query, data, by }) {
  if (filtered) {
    return html`<div class="empty">
      <h2>No ${tab === "live" ? "live jobs" : tab === "all" ? "jobs" : `${STATES[tab].word} jobs`} match ${words(query)}${data.cursor ? ` among the latest ${count(COUNTED)}` : ""}.</h2>
      <p><a href=${href(["jobs"], { state: tab === "live" ? "" : tab })}>Clear filters</a></p></div>`;
  }
  const none = by && Object.values(by).every((number) => number === 0);
  if (none) {
    return html`<div class="empty"><h2>No jobs yet</h2><p>Enqueue the first one:</p><pre>queue = JobQueue.from_env()
queue.enqueue("email.send", {"to": "ada@example.com"})</pre>
  <${Command} line=${command("jobs", "enqueue", "email.send", "--payload", '{"to": "ada@example.com"}')} label="Or" /></div>`;
  }
  const good = { dead_letter: "No dead letters.", failed: "Nothing failed.", live: "Nothing waits and nothing runs." };
  return html`<div class="empty good"><${Icon} name="circle-check" size=${32} />
    <h2>${good[tab] ?? `No ${STATES[tab]?.word ?? ""} jobs.`}</h2>
    <p>${tab !== "all" && html`<a href=${href(["jobs"], { state: "all" })}>All jobs</a>`}</p></div>`;
}

function Table({ data, tab, chosen, toggle, choose }) {
  const all = data.jobs.every((job) => chosen.has(job.id));
  const shiftHeld = useRef(false);
  return html`<div class="scroller"><table class="rows"><caption class="hidden">Jobs</caption><thead><tr>
    <th scope="col" class="tick">
      <input type="checkbox" aria-label="Select all rows" checked=${all} onChange=${() => choose(all ? new Set() : new Set(data.jobs.map((job) => job.id)))} /></th>
    <th scope="col">State</th><th scope="col">Job</th><th scope="col">${STATES[tab]?.time ?? "When"}</th>
      <th scope="col">Attempt</th><th scope="col">Took</th><th scope="col">Org</th><th scope="col">Source</th>
      <th scope="col"><span class="hidden">Actions</span></th></tr></thead>
    <tbody>${data.jobs.map((job) => html`<tr key=${job.id} data-row class=${`${chosen.has(job.id) ? "chosen" : ""} ${data.gone.includes(job.id) ? "gone" : ""}`}>
      <td class="tick">
        <input type="checkbox" data-key="x" aria-label=${`Select ${job.job_type} ${short(job.id)}`} checked=${chosen.has(job.id)} onClick=${(event) => (shiftHeld.current = event.shiftKey, toggle(job.id, event.shiftKey))} /></td>
      <td class="state">
        <${Badge} status=${job.status} />${data.gone.includes(job.id) && html`<small class="muted">left this list</small>`}</td>
      <td class="job">
        <a data-open href=${href(["jobs", job.id])}>${job.job_type}</a>
          ${job.priority > 0 && html` <span class="tag" title=${`Priority ${job.priority}`}>P${job.priority}</span>`}
        ${["failed", "dead_letter"].includes(job.status) && job.last_error ? html`<div class="second wrong">
          ${firstLine(job.last_error)}</div>` : html`<div class="second">${summary(job.payload) || " "}</div>`}</td>
      <td class="when"><${When} job=${job} /></td>
      <td class="attempt"><${Attempts} job=${job} /></td><td class="took">${took(job)}</td>
      <td class="org">${job.org_id}</td><td class="source">${source(job)}</td>
      <td class="actions"><${JobActions} each=${job} may=${actionsOf(job)} /></td></tr>`)}</tbody></table></div>`;
}

/** Overdue is said: it was due, and did not start. */
export function When({ job }) {
  const at = moment(job);
  const waits = !finished(job) && job.status !== "in_progress";
  const said = useTicking(() => (waits && Date.parse(at) < now() - 1000 ? "late" : ""));
  if (job.status === "in_progress" && job.runs.at(-1)?.status === "running") return html`<${Time} at=${at} say=${() => `for ${length((now() - Date.parse(at)) / 1000)}`} />`;
  const before = job.status === "in_progress" ? "claimed " : said ? "due " : job.status === "failed" ? "retry " : "";
  return html`<${Time} at=${at} say=${(each) => before + when(each)} />${said && html` <small class="late">not started</small>`}`;
}

export function Attempts({ job }) {
  const begun = job.attempts + (job.status === "completed" || (job.status === "in_progress" && job.runs.length) ? 1 : 0);
  if (job.max_attempts === null) return html`<span class="muted" title="Its handler says how many attempts it has, when it begins">
    ${begun || "–"}</span>`;
  return html`<span class="number" title=${`${begun} of ${job.max_attempts} attempts`}>${begun}/${job.max_attempts}</span>`;
}

const took = (job) => {
  const run = job.runs.at(-1);
  return run?.finished_at && run.started_at ? between(run.started_at, run.finished_at) : "";
};

function source(job) {
  if (job.schedule_name) return html`<a href=${href(["schedules", job.schedule_name])}>${job.schedule_name}</a>`;
  if (job.retry_of) return html`retry of <code>${short(job.retry_of)}</code>`;
  return job.template ?? html`<span class="muted">enqueued</span>`;
}
