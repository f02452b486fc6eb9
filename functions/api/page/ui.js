/** What all views are made of: the route, refreshing, times, badges, buttons, dialogs, messages. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.js";
import { READ_ONLY, Refused, Store, mayOperate, now, preferences, session, useStore } from "./api.js";
import { MINUTE, SECOND, STATES, clock, relative, when } from "./format.js";
import { Icon } from "./icons.js";

// The route: everything that can be shown has an address, and Back brings it back as it was.

function here() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const decoded = (part) => { try { return decodeURIComponent(part); } catch { return part; } };
  return { path, parts: path.split("/").filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(search)) };
}

/** @param {string[]} parts @param {object} [query] */
export function href(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  return `#/${parts.map(encodeURIComponent).join("/")}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

export const route = new Store(here());
const scrolled = new Map();
let visits = 0;
let arriving = false;
let arrived = false;
/** A form that is not saved asks before it is left. */
export const guard = { unsaved: () => false };
export const go = (parts, query) => (location.hash = href(parts, query));

export function follow() {
  history.scrollRestoration = "manual";
  const mark = () => history.replaceState({ visit: ++visits }, "");
  let last = location.hash;
  mark();
  addEventListener("scroll", () => scrolled.set(history.state?.visit, scrollY), { passive: true });
  addEventListener("beforeunload", (event) => guard.unsaved() && event.preventDefault());
  addEventListener("hashchange", () => {
    if (guard.unsaved() && !confirm("Leave without saving what you typed?")) {
      history.replaceState(history.state, "", last);
      return;
    }
    guard.unsaved = () => false;
    last = location.hash;
    const back = history.state?.visit;
    const next = here();
    arriving = next.path !== route.value.path;
    arrived ||= arriving;
    if (arriving) dialogs.set({ top: null });
    const returning = arriving && !back ? 0 : scrolled.get(back) ?? scrollY;
    if (!back) mark();
    route.set(next);
    requestAnimationFrame(() => requestAnimationFrame(() => scrollTo(0, returning)));
  });
}

/** A view's `h1`; it takes the focus when one arrives at the view. */
export function Heading({ children, title }) {
  const ref = useRef(null);
  const environment = session.value.about?.environment;
  useEffect(() => {
    document.title = `${title} · dynajobs${environment ? ` ${environment}` : ""}`;
  }, [title, environment]);
  useEffect(() => {
    // The heading of a view that is loading goes away when it has loaded: the next one takes over its focus.
    if (arriving || (arrived && document.activeElement === document.body)) ref.current.focus({ preventScroll: true });
    arriving = false;
  }, []);
  return html`<h1 tabindex="-1" ref=${ref}>${children ?? title}</h1>`;
}

// Time: one timer for everything that ticks, stopped while nobody looks.

const beat = new Store({ at: Date.now() });
const IDLE_AFTER = 10 * MINUTE;
let lastInput = Date.now();
let timer = 0;

function beating() {
  clearInterval(timer);
  if (document.hidden) return;
  const once = () => (beat.set({ at: Date.now() }), refreshIfDue());
  timer = setInterval(once, SECOND);
  once();
}

export function startClock() {
  for (const input of ["pointerdown", "keydown", "wheel", "touchstart"]) {
    addEventListener(input, () => (lastInput = Date.now()), { passive: true, capture: true });
  }
  document.addEventListener("visibilitychange", beating);
  beating();
}

/** A text that changes with time, or with how times are to be shown. @param {() => string} make */
export function useTicking(make) {
  useStore(preferences);
  const [, set] = useState("");
  const text = make();
  useEffect(() => {
    const watch = () => set(make());
    beat.watchers.add(watch);
    return () => beat.watchers.delete(watch);
  });
  return text;
}

/** A time. @param {{at: string|null, zone?: string, say?: (at: string) => string}} props */
export function Time({ at, zone, say = when }) {
  const text = useTicking(() => (at ? say(at) : "–"));
  if (!at) return "–";
  const others = [clock(at, "local"), clock(at, "UTC"), zone && zone !== "UTC" && `${clock(at, zone)} (${zone})`, relative(at)];
  return html`<time datetime=${at} title=${[...new Set(others.filter(Boolean))].join("\n")}>${text}</time>`;
}

// Refreshing: reads cost money, so it stops whenever nobody would see it.

export const live = new Store({ every: 0, at: 0, tried: 0, units: 0, failing: 0, byHand: false, hold: "", reload: null });
const seen = new Map();
const KEPT_FOR = 30 * SECOND;

/** Why nothing is refreshed at this moment, or nothing. */
export function pausedBecause() {
  const { byHand, hold } = live.value;
  if (session.value.refused) return "signed out";
  if (byHand) return "paused";
  if (hold) return hold;
  if (document.querySelector("dialog[open]")) return "a dialog is open";
  if (!navigator.onLine) return "offline";
  if (!preferences.value.restless && Date.now() - lastInput > IDLE_AFTER) return "10 min without input";
  if (String(getSelection()) && !document.activeElement?.matches("input, textarea")) return "text is selected";
  return "";
}

/** Milliseconds between two refreshes; after failures they back off, 0 is never. */
export function interval() {
  const { every, failing } = live.value;
  const chosen = preferences.value.refresh;
  if (failing) return Math.min(15 * SECOND * 2 ** (failing - 1), MINUTE);
  if (!every || chosen === "off") return 0;
  return (chosen === "auto" ? every : Number(chosen)) * SECOND;
}

function refreshIfDue() {
  const wait = interval();
  if (wait && Date.now() - live.value.tried >= wait && !pausedBecause()) live.value.reload?.(false);
}

/**
 * What a view shows, loaded now and again; a failure keeps what was there.
 * @param {string} key @param {(by: {manual: boolean, old: any}) => Promise<{data: any, units: number}>} load
 * @param {{every?: number, hold?: string}} [options] seconds, and why it must not refresh
 */
export function useView(key, load, { every = 0, hold = "" } = {}) {
  const token = useStore(session).token;
  const [state, set] = useState({ key: null });
  const shown = state.key === key ? state : { key, ...(seen.get(key) ?? { at: 0, units: 0 }) };
  const latest = useRef(null);
  latest.current = { key, load, shown };
  const change = (more) => {
    const next = { ...latest.current.shown, ...more };
    latest.current.shown = next;
    if (next.data !== undefined) seen.set(key, { data: next.data, at: next.at, units: next.units });
    set(next);
  };
  const reload = async (manual = true) => {
    live.set({ tried: Date.now() });
    try {
      const { data, units } = await latest.current.load({ manual, old: latest.current.shown.data });
      if (latest.current.key !== key) return;
      live.set({ at: Date.now(), tried: Date.now(), units, failing: 0 });
      change({ data, error: null, at: Date.now(), units });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (latest.current.key !== key) return;
      live.set({ tried: Date.now(), failing: error.passing ? live.value.failing + 1 : 0 });
      change({ error });
    }
  };
  useEffect(() => {
    const known = seen.get(key);
    live.set({ reload, at: known?.at ?? 0, units: known?.units ?? 0, failing: 0 });
    if (!known || Date.now() - known.at > KEPT_FOR) reload(false);
    return () => {
      latest.current.key = null;
      live.set({ reload: null, every: 0, hold: "" });
    };
  }, [key, token]);
  useEffect(() => live.set({ every, hold }), [every, hold]);
  return { ...shown, reload, edit: (data) => change({ data }) };
}

/** Several answers as one, their cost added. @param {Record<string, Promise<{data: any, units: number}>>} asked */
export async function together(asked) {
  const answers = await Promise.all(Object.values(asked));
  const data = Object.fromEntries(Object.keys(asked).map((name, index) => [name, answers[index].data]));
  return { data, units: answers.reduce((sum, { units }) => sum + (units ?? 0), 0) };
}

/** Rows of the final height while a view loads; only if that takes long enough to be noticed. */
export const Skeleton = ({ rows = 8 }) =>
  html`<div class="skeleton" role="status"><span class="hidden">Loading…</span>${Array.from({ length: rows }, () => html`<div></div>`)}</div>`;

/** What went wrong, in the API's words. */
export function Problem({ error, retry, what = "This could not be loaded" }) {
  if (!error) return null;
  return html`<div class="problem" role="alert"><${Icon} name="triangle-alert" /><div>
    <strong>${what}.</strong> ${error.message}${" "}
    <span class="muted">${error.status ? `Status ${error.status}.` : ""}
      ${error.requestId && html` Request <code>${error.requestId}</code> <${Copy} text=${error.requestId} label="Copy request id" />`}
      ${error.passing && retry && " It is tried again by itself, less and less often."}</span>
    ${retry && html`<div><button onClick=${() => retry()}>Try again</button></div>`}</div></div>`;
}

// Messages: what an action did, and the way back if there truly is one.

export const toasts = new Store({ shown: [], past: [], said: "" });
let toastNumber = 0;

/** Say it to screen readers alone. */
export const announce = (said) => toasts.set({ said });

/** @param {string} text @param {{alert?: boolean, actions?: {label: string, href?: string, run?: () => void}[]}} [options] */
export function toast(text, { alert = false, actions = [] } = {}) {
  const made = { id: ++toastNumber, text, alert, actions, at: new Date(now()).toISOString() };
  const { shown, past } = toasts.value;
  toasts.set({ shown: [...shown.slice(-3), made], past: [made, ...past].slice(0, 20) });
}
export const dismiss = (id) => toasts.set({ shown: toasts.value.shown.filter((each) => each.id !== id) });

/** Do something that may be refused, and say so if it was. @template T @param {() => Promise<T>} act */
export async function attempt(act, what) {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    toast(`${what}: ${error.message}`, { alert: true });
    return null;
  }
}

// Parts.

export const Badge = ({ status, children }) =>
  html`<span class="badge ${status}"><${Icon} name=${STATES[status]?.icon ?? "circle"} size=${14} />${children ?? STATES[status]?.word ?? status}</span>`;

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text }); // plain HTTP has no clipboard
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function Copy({ text, label = "Copy", class: extra = "", children }) {
  const [done, set] = useState(false);
  const copy = async () => {
    await toClipboard(typeof text === "function" ? text() : text);
    set(true);
    announce("Copied.");
    setTimeout(() => set(false), 2000);
  };
  return html`<button type="button" class=${children ? extra : "bare"} aria-label=${children ? null : label} title=${label} onClick=${copy}>
    <${Icon} name=${done ? "check" : "copy"} size=${14} />${children}</button>`;
}

/** A command line that does or shows the same. */
export const Command = ({ line, label = "Same in the CLI" }) =>
  html`<p class="command"><span class="muted">${label}</span> <code>${line}</code> <${Copy} text=${line} label="Copy command" /></p>`;

/** A button; with a reason it stays where it is, and says why it does nothing. */
export function Action({ reason = "", changes = true, onClick, class: extra = "", icon, children, ...rest }) {
  useStore(session);
  const why = changes && session.value.about && !mayOperate() ? READ_ONLY : reason;
  return html`<button type="button" ...${rest} class=${extra} aria-disabled=${why ? "true" : null} title=${why || rest.title}
    onClick=${(event) => (why ? (event.preventDefault(), announce(why)) : onClick?.(event))}>${icon && html`<${Icon} name=${icon} />`}${children}</button>`;
}

export const dialogs = new Store({ top: null });
export const open = (content) => dialogs.set({ top: content });
export const close = () => dialogs.set({ top: null });

export function Dialog({ title, children, onClose = close, class: extra = "" }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      if (!opener?.isConnected) document.querySelector("h1")?.focus();
    };
  }, []);
  return html`<dialog ref=${ref} class=${extra} aria-labelledby="dialog-title" onCancel=${(event) => (event.preventDefault(), onClose())}>
    <h2 id="dialog-title">${title}</h2>${children}</dialog>`;
}
