/** One action on many jobs: previewed by the server, confirmed, done a hundred at a time, stopped at will. */
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { Refused, forgetCounts, post, session, write } from "./api.js";
import { STATES, clock, count, plural, short, summary } from "./format.js";
import { Action, Copy, Dialog, Problem, Skeleton, announce, close, href, live, open, toast } from "./ui.js";

const DONE = { retry: "retried", cancel: "cancelled" };
const VERBS = { retry: "Retry", cancel: "Cancel" };
/** Above this many, or in production, the number is typed. */
const MANY = 100;

/** @param {{action: "retry"|"cancel", ids?: string[], filter?: object, what: string, after?: () => void}} asked */
export const bulk = (asked) => open(html`<${Bulk} ...${asked} />`);

function Bulk({ action, ids, filter, what, after }) {
  const [{ stage, preview, error, lost, typed, done, already, skipped, results, cursor }, set] = useState({
    stage: "looking", preview: null, error: null, lost: false, typed: "", done: 0, already: 0, skipped: {}, results: [], cursor: null });
  const state = useRef(null);
  const stopped = useRef(false);
  const change = (more) => set((old) => (state.current = { ...old, ...more }));
  const request = { action, ...(ids ? { ids } : { filter }) };
  const key = useRef(crypto.randomUUID?.() ?? String(Math.random()));

  const look = async () => {
    change({ stage: "looking", error: null });
    try {
      const { data } = await post("jobs/bulk", { ...request, dry_run: true });
      change({ stage: "asking", preview: data });
    } catch (refused) {
      fail(refused, "looking");
    }
  };
  const fail = (refused, at) => {
    if (!(refused instanceof Refused)) throw refused;
    change({ stage: at, error: refused });
  };
  useEffect(() => void look(), []);

  /** Each call can be sent again as it was: what is done is not done twice. */
  const carryOut = async () => {
    stopped.current = false;
    change({ stage: "working", error: null });
    while (true) {
      const { cursor: from, done: had, already: before, skipped: left, results: told } = state.current;
      try {
        const { data } = await post("jobs/bulk", { ...request, before: state.current.preview.before, idempotency_key: key.current, ...(from ? { cursor: from } : {}) });
        const sum = { ...left };
        for (const [reason, number] of Object.entries(data.skipped)) sum[reason] = (sum[reason] ?? 0) + number;
        change({ done: had + data.done, already: before + data.already, skipped: sum, results: [...told, ...data.results], cursor: data.cursor });
        announce(`${had + data.done} ${DONE[action]}.`);
        if (!data.cursor) break;
        if (stopped.current) return change({ stage: "stopped" });
      } catch (refused) {
        change({ lost: true });
        return fail(refused, "stopped");
      }
    }
    change({ stage: "over" });
    forgetCounts();
    after?.();
    live.value.reload?.();
  };
  const leave = () => {
    stopped.current = true;
    if (state.current.results.length) {
      toast(`${count(state.current.done)} jobs ${DONE[action]}.`);
      live.value.reload?.();
    }
    close();
  };

  const verb = preview ? `${VERBS[action]} ${plural(preview.eligible, "job")}${preview.truncated ? " or more" : ""}` : "";
  const production = /^prod/i.test(session.value.about?.environment ?? "");
  const must = preview && (preview.eligible > MANY || preview.truncated || production) ? String(preview.eligible) : "";
  const ready = preview?.eligible > 0 && (!must || typed.replace(/\D/g, "") === must);
  const line = (counts) => Object.entries(counts).map(([name, number]) => `${count(number)} ${STATES[name]?.word ?? name}`).join(" · ");
  return html`<${Dialog} title=${`${VERBS[action]} ${what}`} class="wide" onClose=${leave}>
    ${stage === "looking" && (error ? html`<${Problem} error=${error} what="The preview failed" retry=${look} />` : html`<p>Counting…</p>
      <${Skeleton} rows=${3} />`)}
    ${stage === "asking" && html`<${Preview} ...${{ preview, line, action }} />
      ${must && preview.eligible > 0 && html`<label>Type <strong>
        ${must}</strong> to confirm<input inputmode="numeric" autocomplete="off" value=${typed} onInput=${(event) => change({ typed: event.target.value })} /></label>`}
      <div class="buttons"><button onClick=${leave} autofocus>Close</button>
        <${Action} class=${action === "cancel" ? "danger" : "primary"} reason=${ready ? "" : preview.eligible ? "Type the number first." : "There is nothing to do."} onClick=${carryOut}>
          ${verb}</${Action}></div>`}
    ${["working", "stopped", "over"].includes(stage) && html`
      <p role="status">
        <strong>${lost ? "At least " : ""}${count(done)} ${DONE[action]}</strong>
          ${already ? `, ${count(already)} were before` : ""}${Object.keys(skipped).length ? `, skipped: ${line(skipped)}` : ""}.
        ${stage === "stopped" && !error && " Stopped; the rest was left alone."}</p>
      <progress max=${preview.truncated && stage !== "over" ? null : preview.eligible || 1} value=${preview.truncated && stage !== "over" ? null : stage === "over" ? preview.eligible || 1 : done + already} aria-label="Done so far"></progress>
      <${Problem} error=${error} what="The last call was not answered" />
      ${error && html`<p class="muted">Sending it again is safe: what it did is not done twice.</p>`}
      <${Results} results=${results} />
      <div class="buttons">${stage === "working" ? html`<button onClick=${() => (stopped.current = true)} autofocus>Stop</button>` : html`
        <${Copy} text=${() => write(results)} label="Copy the result as JSON">Copy as JSON</${Copy}>
        ${stage === "stopped" && html`<button onClick=${carryOut}>${error ? "Send again" : "Go on"}</button>`}
        <button class="primary" onClick=${leave} autofocus>Close</button>`}</div>`}
  </${Dialog}>`;
}

function Preview({ preview, line, action }) {
  const skipped = Object.entries(preview.skipped);
  return html`
    <p>
      <strong>${count(preview.eligible)}${preview.truncated ? " or more" : ""}</strong> would be ${DONE[action]}${action === "retry" ? ", each as a new job that is due now" : ""}.
      ${preview.truncated && html` <span class="muted">Looked at the latest ${count(preview.eligible + skipped.reduce((sum, [, number]) => sum + number, 0))}; it goes on through all that match.</span>`}</p>
    <dl class="facts">
      ${preview.eligible > 0 && html`<div><dt>By state</dt><dd>${line(preview.by_status)}</dd></div><div>
        <dt>By type</dt><dd>${line(preview.by_type)}</dd></div>
        <div><dt>Created</dt><dd>${clock(preview.oldest)} – ${clock(preview.newest)}</dd></div>`}
      ${skipped.length > 0 && html`<div><dt>Left alone</dt>
        <dd>${skipped.map(([reason, number]) => `${count(number)} because ${reason}`).join(" · ")}</dd></div>`}
      <div><dt>As of</dt><dd>${clock(preview.before)}: what changes later is left alone</dd></div></dl>
    ${preview.samples.length > 0 && html`<h3>For example</h3>
      <ul class="samples">${preview.samples.map((job) => html`<li>
      <strong>${job.job_type}</strong> <code>${short(job.id)}</code> <span class="mono muted">${summary(job.payload, 60)}</span></li>`)}</ul>`}`;
}

const Results = ({ results }) => results.length > 0 && html`<details>
  <summary>${plural(results.length, "result")}</summary><ul class="samples scroll">${results.map((each) => html`
  <li><a href=${href(["jobs", each.job_id ?? each.id])} onClick=${close}>
    <code>${short(each.id)}</code></a> ${each.outcome}${each.job_id && each.job_id !== each.id ? html` → <code>
      ${short(each.job_id)}</code>` : ""}</li>`)}</ul></details>`;
