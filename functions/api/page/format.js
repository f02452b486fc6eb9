/** Times, lengths, counts and payloads as people read them; what the server says in `words.py`, said alike. */
import { Exact, now, preferences, write } from "./api.js";

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
export { DAY, HOUR, MINUTE, SECOND };

const two = (number) => String(number).padStart(2, "0");

const formats = new Map();

/** The parts of a time. British English abbreviates Europe's zones (CET), American English America's (EST). */
function partsOf(date, zone, language) {
  const key = `${language} ${zone}`;
  if (!formats.has(key)) {
    let timeZone = zone === "local" ? undefined : zone;
    try {
      new Intl.DateTimeFormat(language, { timeZone });
    } catch {
      timeZone = "UTC"; // a name that this browser does not know yet
    }
    formats.set(key, new Intl.DateTimeFormat(language, {
      timeZone, hourCycle: "h23", timeZoneName: "short",
      year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
    }));
  }
  return Object.fromEntries(formats.get(key).formatToParts(date).map(({ type, value }) => [type, value]));
}

/** `2026-11-18 08:00:00 CET` in a zone; "local" is the viewer's. @param {string|number} at */
export function clock(at, zone = preferences.value.utc ? "UTC" : "local", exact = false) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const parts = partsOf(date, zone, "en-GB");
  const short = zone === "UTC" ? "UTC" : /^GMT./.test(parts.timeZoneName) ? partsOf(date, zone, "en-US").timeZoneName : parts.timeZoneName;
  const milliseconds = exact ? `.${String(date.getUTCMilliseconds()).padStart(3, "0")}` : "";
  const time = `${parts.hour}:${parts.minute}:${parts.second}${milliseconds}`;
  return `${parts.year}-${parts.month}-${parts.day} ${time} ${short}`;
}

/** The zone that times are shown in, by name. */
export const zoneName = () =>
  preferences.value.utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";

const STEPS = [["s", SECOND, 60], ["m", MINUTE, 60], ["h", HOUR, 24], ["d", DAY, 8]];

function roughly(span) {
  for (const [unit, size, many] of STEPS) {
    const number = Math.round(Math.abs(span) / size);
    if (number < many) return `${number}${unit}`;
  }
  return null;
}

/** `now`, `42s ago`, `in 3m`; beyond a week the date. */
export function relative(at, from = now()) {
  const span = Date.parse(at) - from;
  if (Math.abs(span) < SECOND) return "now";
  const rough = roughly(span);
  if (rough === null) return clock(at).slice(0, 10);
  return span > 0 ? `in ${rough}` : `${rough} ago`;
}

/** Every time as the header's switches ask for it. */
export const when = (at) => (preferences.value.absolute ? clock(at) : relative(at));

/** `840ms`, `3.2s`, `4m 05s`, `2h 10m`, `3d 4h`. @param {number} seconds */
export function length(seconds) {
  const time = Math.max(seconds, 0);
  if (time < 0.9995) return `${Math.round(time * 1000)}ms`;
  if (time < 59.95) return `${time.toFixed(1)}s`;
  const whole = Math.round(time);
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(whole / 86400)}d ${Math.floor((whole % 86400) / 3600)}h`;
}

/** How long from one instant to another. */
export const between = (start, end) => length((Date.parse(end) - Date.parse(start)) / 1000);

/** `12,480`; `1,000+` where counting stopped. */
export const COUNTED = 1000;
export const count = (number, truncated = false) =>
  new Intl.NumberFormat().format(number) + (truncated && number >= COUNTED ? "+" : "");
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
export const bytes = (text) => {
  const size = new TextEncoder().encode(text).length;
  return size < 1000 ? `${size} B` : `${(size / 1000).toFixed(1)} kB`;
};

/** A payload on one line: `user_id=u1 plan="two words"`. */
export function summary(payload, most = 96) {
  const value = (each) => (typeof each === "string" && /^[\w.:/@+#-]+$/.test(each) ? each : write(each));
  const text = Object.entries(payload ?? {}).map(([name, each]) => `${name}=${value(each)}`).join(" ");
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** What an error says in one line: a traceback says it in its last one. */
export function firstLine(error) {
  const lines = (error ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
  return (lines[0]?.startsWith("Traceback") ? lines.at(-1) : lines[0]) ?? "";
}

/** The first and last letters of an id, as people compare them. */
export const short = (id) => `${id.slice(0, 4)}…${id.slice(-4)}`;

/** A value as one word of a shell command. */
export const quoted = (word) => (/^[\w.:/@+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that does the same. @param {...(string|number|null|undefined)} words */
export const command = (...words) =>
  ["dynajobs", ...words.filter((word) => word !== null && word !== undefined).map((word) => quoted(String(word)))].join(" ");

/** By state: its words, its icon, and what the list's column of times means. */
export const STATES = {
  pending: { word: "pending", tab: "Pending", icon: "clock", time: "Due" },
  in_progress: { word: "in progress", tab: "In progress", icon: "loader-circle", time: "Running for" },
  failed: { word: "failed", tab: "Failed (will retry)", icon: "rotate-cw", time: "Retry" },
  dead_letter: { word: "dead letter", tab: "Dead letters", icon: "skull", time: "Died" },
  completed: { word: "completed", tab: "Completed", icon: "circle-check", time: "Finished" },
  cancelled: { word: "cancelled", tab: "Cancelled", icon: "ban", time: "Cancelled" },
};
export const LIVE = ["pending", "in_progress", "failed"];
export const finished = (job) => !LIVE.includes(job.status);

/** When a job matters: for a live one when it is due or began, for another when it ended. */
export function moment(job) {
  if (job.status === "in_progress") return job.runs.at(-1)?.started_at ?? job.updated_at ?? job.scheduled_for;
  return finished(job) ? job.finished_at ?? job.updated_at ?? job.created_at : job.scheduled_for;
}

/** What may be done with a job, and why not otherwise. */
export function actionsOf(job) {
  const waits = job.status === "pending" || job.status === "failed";
  return {
    retry: finished(job) ? job.retried_by && "It was retried already." : job.status === "failed" ? "" : "It has not failed.",
    cancel: finished(job) ? "It is over." : job.cancel_requested ? "It was asked to stop already." : "",
    reschedule: waits ? "" : "Only a job that waits can be moved.",
  };
}

/** JSON that a person typed: its text as it stands, or what is wrong with it. */
export function typedObject(text) {
  const trimmed = text.trim() || "{}";
  let value;
  try {
    value = JSON.parse(trimmed);
  } catch (error) {
    return { problem: `This is not JSON: ${error.message}` };
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return { problem: "This must be a JSON object: {…}" };
  return { value: new Exact(trimmed) };
}
