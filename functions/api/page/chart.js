/** Small drawings, each with its words: strips of runs, bars, dots of durations. Written by hand, in SVG. */
import { html } from "./vendor/preact-htm.js";
import { MINUTE, clock, length, plural } from "./format.js";
import { href } from "./ui.js";

/** By outcome of a slot: its colour's class, and how it is told apart without colour. */
export const OUTCOMES = {
  completed: "completed", failed: "failed", dead_letter: "dead_letter", cancelled: "cancelled", queued: "pending", running: "in_progress",
  missed: "missed", skipped: "skipped",
};

const saidOf = (run, zone) => `${clock(run.scheduled_for, zone)}, ${run.outcome.replace("_", " ")}${run.count > 1 ? ` (${run.count} slots)` : ""}${run.duration === null ? "" : `, ${length(run.duration)}`}`;

/** The latest slots of a schedule, oldest first. @param {{runs: object[], zone: string, slots?: number}} props */
export function Strip({ runs, zone, name, slots = 30 }) {
  const shown = runs.slice(0, slots).toReversed();
  if (!shown.length) return html`<span class="muted">no runs yet</span>`;
  const counted = Object.entries(shown.reduce((sum, run) => ({ ...sum, [run.outcome]: (sum[run.outcome] ?? 0) + 1 }), {}));
  const said = `Last ${plural(shown.length, "run")}: ${counted.map(([outcome, number]) => `${number} ${outcome.replace("_", " ")}`).join(", ")}`;
  return html`<span class="strip" role="group" aria-label=${said}>${shown.map((run) => {
    const text = saidOf(run, zone);
    const to = run.job_id ? href(["jobs", run.job_id]) : href(["schedules", name]);
    return html`<a class=${`slot ${OUTCOMES[run.outcome] ?? "pending"}`} href=${to} title=${text} aria-label=${text} tabindex="-1"></a>`;
  })}</span>`;
}

/** Bars of counts, the latest at the right. */
export function Bars({ bars, label }) {
  const most = Math.max(...bars, 1);
  return html`<svg class="bars" viewBox=${`0 0 ${bars.length * 5} 24`} width=${bars.length * 5} height="24" role="img" aria-label=${label}>
    ${bars.map((number, index) => html`<rect x=${index * 5} y=${number ? 24 - Math.max((22 * number) / most, 3) : 23} width="4" height=${number ? Math.max((22 * number) / most, 3) : 1} class=${number ? "mark dead_letter" : "none"}>
      <title>${number}</title></rect>`)}</svg>`;
}

/** What is due in the next hour, a bar for each minute. @param {{jobs: string[], slots: string[], from: number, more: boolean}} props */
export function Coming({ jobs, slots, from, more }) {
  const minutes = Array.from({ length: 60 }, () => ({ jobs: 0, slots: 0 }));
  const put = (name) => (at) => {
    const minute = Math.floor((Date.parse(at) - from) / MINUTE);
    if (minute >= 0 && minute < 60) minutes[minute][name] += 1;
  };
  jobs.forEach(put("jobs"));
  slots.forEach(put("slots"));
  const sum = (name) => minutes.reduce((total, each) => total + each[name], 0);
  const most = Math.max(...minutes.map((each) => each.jobs + each.slots), 1);
  const height = (number) => (176 * number) / most;
  const busy = minutes.map((each, minute) => ({ minute, ...each })).filter((each) => each.jobs + each.slots);
  const said = `${plural(sum("jobs"), "job")} and ${plural(sum("slots"), "schedule slot")} are due in the next 60 minutes${more ? ", counted among the first 200 live jobs" : ""}.`;
  return html`<figure class="chart"><figcaption>
    <strong>Due in the next 60 min</strong> <span class="muted">${said}</span></figcaption>
    <svg viewBox="0 0 640 208" role="img" aria-label=${said}>
      <line x1="22" x2="640" y1="8" y2="8" class="grid" /><line x1="22" x2="640" y1="184.5" y2="184.5" class="grid" />
      <text x="16" y="12" text-anchor="end">${most}</text><text x="16" y="188" text-anchor="end">0</text>
      ${minutes.map((each, minute) => html`<g>
        <title>${each.jobs + each.slots ? `in ${minute} min: ${each.jobs} jobs, ${each.slots} slots` : ""}</title>
        <rect x=${24 + minute * 10.25} width="8" y=${184 - height(each.jobs)} height=${height(each.jobs)} class="mark pending" />
        <rect x=${24 + minute * 10.25} width="8" y=${184 - height(each.jobs + each.slots)} height=${height(each.slots)} class="mark in_progress" /></g>`)}
      ${[0, 15, 30, 45, 60].map((minute) => html`<text x=${24 + minute * 10.25} y="203" text-anchor=${minute === 60 ? "end" : minute ? "middle" : "start"}>
        ${minute ? clock(from + minute * MINUTE).slice(11, 16) : "now"}</text>`)}
    </svg>
    <p class="legend"><span><i class="mark pending"></i>jobs</span> <span>
      <i class="mark in_progress"></i>schedule slots</span></p>
    <details><summary>Show as table</summary><table class="plain"><thead><tr><th scope="col">Minute</th>
      <th scope="col">Jobs</th><th scope="col">Slots</th></tr></thead>
      <tbody>${busy.map((each) => html`<tr><td>${clock(from + each.minute * MINUTE).slice(11, 16)}</td>
        <td>${each.jobs}</td><td>${each.slots}</td></tr>`)}</tbody></table></details></figure>`;
}

const LOW = Math.log10(0.1);
const HIGH = Math.log10(3600);

/** How long the latest runs took, on a logarithmic scale, the median as a line. */
export function Durations({ runs, zone }) {
  const timed = runs.filter((run) => run.duration !== null).slice(0, 100).toReversed();
  if (timed.length < 2) return null;
  const sorted = timed.map((run) => run.duration).sort((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)];
  const y = (seconds) => 100 - (92 * (Math.log10(Math.min(Math.max(seconds, 0.1), 3600)) - LOW)) / (HIGH - LOW);
  const x = (index) => 44 + (index * 586) / Math.max(timed.length - 1, 1);
  const said = `The latest ${plural(timed.length, "run")} took ${length(sorted[0])} to ${length(sorted.at(-1))}, half of them at most ${length(median)}.`;
  return html`<figure class="chart"><figcaption>
    <strong>Duration</strong> <span class="muted">${said}</span></figcaption>
    <svg viewBox="0 0 640 112" role="img" aria-label=${said} class="durations">
      ${[[1, "1s"], [60, "1m"], [3600, "1h"]].map(([seconds, text]) => html`<g>
        <line x1="36" x2="640" y1=${y(seconds)} y2=${y(seconds)} class="grid" />
        <text x="30" y=${y(seconds) + 4} text-anchor="end">${text}</text></g>`)}
      <line x1="36" x2="640" y1=${y(median)} y2=${y(median)} class="median" />
      ${timed.map((run, index) => {
        const [left, top] = [x(index), y(run.duration)];
        const kind = `mark ${OUTCOMES[run.outcome] ?? "pending"}`;
        const bad = ["failed", "dead_letter"].includes(run.outcome);
        return bad
          ? html`<path d=${`M${left - 4} ${top + 4}l4 -8l4 8z`} class=${kind}>
            <title>${saidOf(run, zone)}</title></path>`
          : html`<circle cx=${left} cy=${top} r="3.5" class=${kind}><title>${saidOf(run, zone)}</title></circle>`;
      })}</svg>
    <details><summary>Show as table</summary><table class="plain"><thead><tr><th scope="col">Slot</th>
      <th scope="col">Outcome</th><th scope="col">Took</th></tr></thead>
      <tbody>${timed.toReversed().map((run) => html`<tr><td>${clock(run.scheduled_for, zone)}</td>
        <td>${run.outcome}</td><td>${length(run.duration)}</td></tr>`)}</tbody></table></details></figure>`;
}
