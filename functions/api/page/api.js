/**
 * The API as the page sees it: one function that asks, the session's token, the server's time, what was read.
 * Also the small shared state of the page, because all of it changes with an answer or with a setting.
 */
import { useEffect, useState } from "./vendor/preact-htm.js";

const BASE = new URL(".", document.baseURI);
const TOKEN = "dynajobs-token";
const PREFERENCES = "dynajobs-preferences";

/** A value that components can watch. @template T */
export class Store {
  /** @param {T} value */
  constructor(value) {
    this.value = value;
    this.watchers = new Set();
  }

  /** @param {Partial<T>} change */
  set(change) {
    this.value = { ...this.value, ...change };
    for (const watcher of [...this.watchers]) watcher(this.value);
  }
}

/** The value of a store, and a new rendering when it changes. */
export function useStore(store) {
  const [value, set] = useState(store.value);
  useEffect(() => {
    set(store.value);
    store.watchers.add(set);
    return () => store.watchers.delete(set);
  }, [store]);
  return value;
}

const stored = (storage, key) => {
  try {
    return storage.getItem(key);
  } catch {
    return null; // storage can be forbidden; the page then forgets at the next load
  }
};
const keep = (storage, key, value) => {
  try {
    if (value === null) storage.removeItem(key);
    else storage.setItem(key, value);
  } catch {
    /* as above */
  }
};

/** How this person wants it: kept on this device. */
export const preferences = new Store({
  theme: "auto", utc: false, absolute: false, refresh: "auto", compact: false, keys: true, restless: false, actor: "",
  ...JSON.parse(stored(localStorage, PREFERENCES) ?? "{}"),
});
preferences.watchers.add((value) => keep(localStorage, PREFERENCES, JSON.stringify(value)));

/** Who we are, where, and whether the token still works. */
export const session = new Store({
  token: stored(sessionStorage, TOKEN) ?? stored(localStorage, TOKEN),
  refused: false,
  about: null,
});
export const mayOperate = () => session.value.about?.role === "operate";
export const READ_ONLY = "This token may read, but not change anything.";

/** @param {string} token @param {boolean} onDevice */
export async function signIn(token, onDevice) {
  const { data } = await call("GET", "api/admin/about", { token });
  keep(sessionStorage, TOKEN, token);
  keep(localStorage, TOKEN, onDevice ? token : null);
  session.set({ token, refused: false, about: data });
}

/** With the token that this tab or device kept. */
export async function resume() {
  const { data } = await get("about");
  session.set({ refused: false, about: data });
}

export function signOut() {
  keep(sessionStorage, TOKEN, null);
  keep(localStorage, TOKEN, null);
  session.set({ token: null, refused: false, about: null });
}

/** What is known of the other side: its clock, and what the latest view cost. */
export const server = new Store({ ahead: 0, units: 0, at: 0 });
export const now = () => Date.now() + server.value.ahead;

/** A number that JavaScript would write in another way, or text that is JSON already: kept as it is written. */
export class Exact {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** JSON to values; numbers keep their digits, where the browser tells them (all that are newer than 2025 do). */
export function parse(text) {
  return JSON.parse(text, (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source
      ? new Exact(context.source)
      : value);
}

/** Values to JSON, the exact ones as they were written. */
export function write(value) {
  if (value instanceof Exact) return value.text;
  if (Array.isArray(value)) return `[${value.map(write).join(", ")}]`;
  if (value && typeof value === "object") {
    const pairs = Object.entries(value).filter(([, inner]) => inner !== undefined);
    return `{${pairs.map(([name, inner]) => `${JSON.stringify(name)}: ${write(inner)}`).join(", ")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** What the API refused, or that it did not answer (`status` 0). */
export class Refused extends Error {
  constructor(status, body, requestId, after = 0) {
    super(body?.message ?? (status ? `The API answered ${status}.` : "The API cannot be reached."));
    this.status = status;
    this.kind = body?.error ?? "";
    this.details = body?.details;
    this.requestId = requestId;
    this.after = after;
  }

  /** Trying again later may help. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/**
 * Ask the API. @param {string} method @param {string} path relative, as in `api/admin/jobs`
 * @param {{query?: object, body?: object, token?: string, signal?: AbortSignal}} [options]
 * @returns {Promise<{data: any, status: number, units: number}>}
 */
export async function call(method, path, { query = {}, body, token, signal } = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, String(value));
  }
  const headers = { Authorization: `Bearer ${token ?? session.value.token}`, Accept: "application/json" };
  const { actor } = preferences.value;
  if (actor) headers["X-Dynajobs-Actor"] = actor.replace(/[^\x20-\x7e\xa0-\xff]/g, "?"); // all that a header can hold
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  let text;
  try {
    answer = await fetch(url, { method, headers, body: body && write(body), signal, cache: "no-store" });
    text = await answer.text();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, null, "");
  }
  const units = Number(answer.headers.get("X-Dynajobs-Read-Units") ?? 0);
  const told = Date.parse(answer.headers.get("X-Dynajobs-Time") ?? "");
  if (told) server.set({ ahead: told - Date.now(), at: Date.now() });
  let data = null;
  try {
    data = text ? parse(text) : null;
  } catch {
    /* an answer that is not ours, as from a proxy: its status says enough */
  }
  const requestId = answer.headers.get("X-Request-Id") ?? "";
  if (answer.status === 401 && !token) session.set({ refused: true });
  if (!answer.ok && !(path === "health" && data)) {
    throw new Refused(answer.status, data, requestId, Number(answer.headers.get("Retry-After") ?? 0));
  }
  return { data, status: answer.status, units };
}

export const get = (path, query, signal) => call("GET", `api/admin/${path}`, { query, signal });
export const post = (path, body = {}) => call("POST", `api/admin/${path}`, { body });
export const put = (path, body) => call("PUT", `api/admin/${path}`, { body });
export const remove = (path, query) => call("DELETE", `api/admin/${path}`, { query });
export const tick = () => call("POST", "api/jobs/tick", { body: {} });
export const one = (kind, name, more = "") => `${kind}/${encodeURIComponent(name)}${more}`;

const COUNTED_FOR = 60_000;
let counts = { at: 0, data: null };

/** Counts by state and type: they cost many reads, so all views share one result for a minute. */
export async function stats(anew = false) {
  if (counts.data && !anew && Date.now() - counts.at < COUNTED_FOR) return { ...counts, units: 0 };
  const { data, units } = await get("jobs/stats");
  counts = { at: Date.now(), data };
  return { ...counts, units };
}

/** Jobs changed: the next look counts again, if the last count is not brand-new. */
export const forgetCounts = () => {
  counts.at = Math.min(counts.at, Date.now() - COUNTED_FOR + 3000);
};
