/** The shell: header, sign-in, routes, keys, messages. Views come by themselves when they are first shown. */
import { html, render, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { Refused, preferences, resume, server, session, signIn, signOut, useStore } from "./api.js";
import { MINUTE, clock, count, zoneName } from "./format.js";
import { Icon } from "./icons.js";
import {
  Action, Dialog, Heading, Problem, Skeleton, Time, announce, close, dialogs, dismiss, follow, go, href, interval, live, open, pausedBecause,
  route, startClock, toasts, useTicking,
} from "./ui.js";

const VIEWS = {
  "": ["Overview", () => import("./pages/overview.js")],
  jobs: ["Jobs", () => import("./pages/jobs.js")],
  errors: ["Errors", () => import("./pages/errors.js")],
  schedules: ["Schedules", () => import("./pages/schedules.js")],
  templates: ["Templates", () => import("./pages/templates.js")],
  settings: ["Settings", () => import("./pages/settings.js")],
  job: ["Job", () => import("./pages/job.js")],
  schedule: ["Schedule", () => import("./pages/schedule.js")],
};
const NAV = ["", "jobs", "errors", "schedules", "templates"];
const loaded = new Map();

function viewOf(parts) {
  const [noun = "", name] = parts;
  if (noun === "jobs" && name) return "job";
  if (noun === "schedules" && name) return "schedule";
  return noun in VIEWS ? noun : null;
}

function View() {
  const { parts, path, query } = useStore(route);
  const name = viewOf(parts);
  const [, again] = useState(0);
  const [failed, fail] = useState(null);
  useEffect(() => {
    if (!name && name !== "" || loaded.has(name)) return;
    fail(null);
    VIEWS[name][1]().then((module) => (loaded.set(name, module.default), again((number) => number + 1)), () => fail(new Refused(0, null, "")));
  }, [name]);
  if (name === null) return html`<div class="page"><${Heading} title="There is no such page" /><p>
    <a href="#/">Overview</a></p></div>`;
  const Shown = loaded.get(name);
  if (failed) return html`<h1>${VIEWS[name][0]}</h1>
    <${Problem} error=${failed} what="A part of this page could not be loaded" retry=${() => location.reload()} />`;
  if (!Shown) return html`<h1>${VIEWS[name][0]}</h1><${Skeleton} />`;
  return html`<${Shown} key=${path} parts=${parts} query=${query} />`;
}

function Ribbon() {
  const { about } = useStore(session);
  if (!about) return null;
  const { environment, region, table } = about;
  const whole = [environment, region, table].filter(Boolean).join(" · ");
  return html`<span class="ribbon" title=${whole}><strong>${environment || region}</strong>
    ${environment && html`<span>${region}</span>`}<span>${table}</span></span>`;
}

function LiveIndicator() {
  const { byHand, reload, failing } = useStore(live);
  const text = useTicking(() => {
    const every = interval();
    const why = pausedBecause();
    if (why) return `Paused: ${why}`;
    return failing ? `Failing, again in ${every / 1000} s` : every ? `Live, ${every / 1000} s` : "By hand";
  });
  const state = failing ? "failing" : text.startsWith("Live") ? "on" : "off";
  return html`<span class="live ${state}">
    <button class="bare" onClick=${() => live.set({ byHand: !byHand })} aria-pressed=${String(byHand)} title="Pause or resume (p)">
      <i></i>${text}</button>
    <button class="bare" onClick=${() => reload?.()} aria-label="Refresh" title="Refresh (.)">
      <${Icon} name="refresh-cw" /></button></span>`;
}

const THEMES = { auto: ["monitor", "light"], light: ["sun", "dark"], dark: ["moon", "auto"] };

function Header() {
  const { parts } = useStore(route);
  const { utc, theme } = useStore(preferences);
  const { about } = useStore(session);
  const production = /^prod/i.test(about?.environment ?? "");
  const here = parts[0] ?? "";
  return html`<header class=${production ? "production" : ""}>
    <a class="brand" href="#/"><svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <path d="M9 8h5a8 8 0 0 1 0 16H9z" fill="none" stroke="currentColor" stroke-width="3.4" stroke-linejoin="round" />
      <path class="dash" d="M20.5 16H27" stroke-width="3.4" stroke-linecap="round" /></svg>dynajobs</a>
    <${Ribbon} />
    <nav aria-label="Pages">
      ${NAV.map((noun) => html`<a href=${href(noun ? [noun] : [])} aria-current=${here === noun ? "page" : null}>
      ${VIEWS[noun][0]}</a>`)}</nav>
    <div class="tools">
      <button class="search-button" onClick=${toSearch}><${Icon} name="search" />Search<kbd>/</kbd></button>
      <${LiveIndicator} />
      <button class="bare zone" onClick=${() => preferences.set({ utc: !utc })} title=${`Times in ${zoneName()}: switch (u)`}>
        ${utc ? "UTC" : "Local"}</button>
      <button class="bare optional" onClick=${() => setTheme(THEMES[theme][1])} aria-label=${`Theme: ${theme}`} title=${`Theme: ${theme}`}>
        <${Icon} name=${THEMES[theme][0]} /></button>
      <button class="bare" onClick=${() => open(html`<${Past} />`)} aria-label="Messages" title="Messages">
        <${Icon} name="bell" /></button>
      <a class="button bare" href="#/settings" aria-label="Settings" title="Settings" aria-current=${here === "settings" ? "page" : null}>
        <${Icon} name="settings" /></a>
      <button class="bare optional" onClick=${() => open(html`<${Help} />`)} aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)">
        <${Icon} name="circle-help" /></button>
    </div></header>`;
}

export const setTheme = (theme) => preferences.set({ theme });
const dress = ({ theme, compact }) => Object.assign(document.documentElement.dataset, { theme, compact: String(compact) });

function toSearch() {
  if (route.value.path !== "jobs") go(["jobs"]);
  const focus = (tries) => {
    const field = document.querySelector("#search");
    if (field) field.focus(), field.select();
    else if (tries) setTimeout(focus, 50, tries - 1);
  };
  focus(40);
}

function Footer() {
  const { about } = useStore(session);
  const { units, at } = useStore(live);
  const { ahead } = useStore(server);
  const time = useTicking(() => clock(Date.now() + ahead));
  const every = interval() / 1000;
  return html`<footer><span>dynajobs ${about?.version}</span><span>${about?.actor} (${about?.role})</span>
    <span>Server time <time>${time}</time></span>
    ${at > 0 && html`<span>Refreshed <${Time} at=${new Date(at + ahead).toISOString()} /></span>
      <span title="DynamoDB read units that the latest refresh of this view consumed">
        ${count(units)} read units${every ? ` a refresh, every ${every} s` : ""}</span>`}</footer>`;
}

function SignIn() {
  const { token: had, refused } = useStore(session);
  const [problem, set] = useState("");
  const [busy, work] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    work(true);
    set("");
    try {
      await signIn(form.token.value.trim(), form.keep.checked);
      announce("Signed in.");
    } catch (error) {
      set(error.status === 401 ? "This token is not valid." : error.message);
      form.token.select();
    }
    work(false);
  };
  return html`<form class="sign-in" onSubmit=${submit}>
    ${refused && had ? html`<p>The token is no longer valid. What you typed is kept: sign in, and go on.</p>` : html`<p class="muted">Paste a token of this deployment. It stays in this tab.</p>`}
    <label>Token<input name="token" type="password" autocomplete="current-password" required autofocus aria-describedby="sign-in-problem" aria-invalid=${problem ? "true" : null} /></label>
    <p class="field-problem" id="sign-in-problem" role="alert">${problem}</p>
    <label class="check"><input name="keep" type="checkbox" />Keep on this device</label>
    <button class="primary" aria-disabled=${busy ? "true" : null}>Sign in</button>
    ${refused && had && html` <button type="button" onClick=${signOut}>Leave</button>`}</form>`;
}

function Past() {
  const { past } = useStore(toasts);
  return html`<${Dialog} title="Messages">
    ${past.length ? html`<ul class="past">${past.map((each) => html`<li key=${each.id}>
      <${Time} at=${each.at} /> ${each.text} ${each.actions.filter((one) => one.href).map((one) => html` <a href=${one.href} onClick=${close}>
        ${one.label}</a>`)}</li>`)}</ul>` : html`<p class="muted">What you do here is listed here, until you close this tab.</p>`}
    <div class="buttons"><button onClick=${close} autofocus>Close</button></div></${Dialog}>`;
}

const KEYS = [
  ["g o", "Overview"], ["g j", "Jobs"], ["g e", "Errors"], ["g s", "Schedules"], ["g t", "Templates"], ["/", "Search jobs"],
  ["j k", "Next, previous row"], ["Enter", "Open the row"], ["x", "Select the row"], ["⇧ x", "Select up to this row"], ["r", "Retry"], ["c", "Cancel"], ["e", "Reschedule"],
  [".", "Refresh"], ["p", "Pause, resume"], ["u", "UTC or local"], ["a", "Relative or absolute times"], ["?", "This list"], ["Esc", "Close"],
];

const Help = () => html`<${Dialog} title="Keyboard shortcuts"><dl class="keys">${KEYS.map(([key, what]) => html`<div>
  <dt>${key.split(" ").map((each) => html`<kbd>${each}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl>
  <p class="muted">They can be switched off in the <a href="#/settings" onClick=${close}>settings</a>.</p>
  <div class="buttons"><button onClick=${close} autofocus>Close</button></div></${Dialog}>`;

function Toast({ made }) {
  const ref = useRef(0);
  const start = () => (made.alert ? 0 : (ref.current = setTimeout(() => dismiss(made.id), 8000)));
  const stop = () => clearTimeout(ref.current);
  useEffect(() => (start(), stop), []);
  return html`<div class="toast ${made.alert ? "alert" : ""}" role=${made.alert ? "alert" : "status"} onMouseEnter=${stop} onMouseLeave=${start} onFocusIn=${stop} onFocusOut=${start}>
    <span>${made.text}</span>${made.actions.map(({ label, href: to, run }) =>
      to ? html`<a class="button" href=${to}>${label}</a>` : html`<button onClick=${() => (dismiss(made.id), run())}>${label}</button>`)}
    <button class="bare" aria-label="Dismiss" onClick=${() => dismiss(made.id)}><${Icon} name="x" /></button></div>`;
}

function Toasts() {
  const { shown, said } = useStore(toasts);
  return html`<div class="hidden" role="status" aria-live="polite">${said}</div>
    <div class="toasts">${shown.map((made) => html`<${Toast} key=${made.id} made=${made} />`)}</div>`;
}

const LETTERS = { o: [], j: ["jobs"], e: ["errors"], s: ["schedules"], t: ["templates"] };
let going = 0;

/** The rows of the view; `j` and `k` walk them. */
function step(by) {
  const links = [...document.querySelectorAll("[data-row] [data-open]")];
  const at = links.findIndex((link) => link.closest("[data-row]").contains(document.activeElement));
  const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)];
  next?.focus();
}

/** A key that stands for a button of the focused row, or else of the view. */
function press(name, event) {
  const row = document.activeElement?.closest("[data-row]");
  (row?.querySelector(`[data-key="${name}"]`) ?? document.querySelector(`main [data-key="${name}"]:not([data-row] *)`))?.dispatchEvent(
    new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: event.shiftKey }));
}

const ON_KEY = {
  "/": toSearch, j: () => step(1), k: () => step(-1), ".": () => live.value.reload?.(),
  p: () => live.set({ byHand: !live.value.byHand }),
  u: () => preferences.set({ utc: !preferences.value.utc }),
  a: () => preferences.set({ absolute: !preferences.value.absolute }),
  "?": () => open(html`<${Help} />`),
};

function onKey(event) {
  const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
  if (!preferences.value.keys || typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]") || !session.value.about) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (Date.now() - going < 1500 && key in LETTERS) go(LETTERS[key]);
  else if (key in ON_KEY) ON_KEY[key](event);
  else if (["x", "r", "c", "e"].includes(key)) press(key, event);
  else if (key !== "g") return;
  going = key === "g" ? Date.now() : 0;
  event.preventDefault();
}

function App() {
  const { token, about, refused } = useStore(session);
  const { top } = useStore(dialogs);
  const [problem, set] = useState(null);
  const greet = () => void (token && !about && resume().catch((error) => (error.status === 401 ? session.set({ token: null, refused: false }) : set(error))));
  useEffect(greet, [token, about]);
  if (!token) {
    return html`<main class="gate"><p class="brand">
      <img src=${new URL("icon.svg", import.meta.url).href} width="40" height="40" alt="" />dynajobs</p>
      <h1 tabindex="-1">Sign in</h1><${SignIn} /><${Toasts} /></main>`;
  }
  if (!about && problem) return html`<main class="gate"><h1>dynajobs</h1>
    <${Problem} error=${problem} retry=${() => (set(null), greet())} /></main>`;
  return html`<button class="skip" onClick=${() => document.querySelector("main h1")?.focus()}>Skip to content</button>
    <${Header} /><main id="main">${about ? html`<${View} />` : html`<${Skeleton} />`}</main><${Footer} />
    ${top}${refused && html`<${Dialog} title="Sign in again" onClose=${() => {}}>
      <${SignIn} /></${Dialog}>`}<${Toasts} />`;
}

preferences.watchers.add(dress);
dress(preferences.value);
addEventListener("keydown", onKey);
follow();
startClock();
const root = document.querySelector("#app");
root.replaceChildren();
render(html`<${App} />`, root);
