/** JSON as it is stored: coloured and folded by its tokens, never parsed and written anew. */
import { html, useState } from "./vendor/preact-htm.js";
import { bytes } from "./format.js";
import { Copy } from "./ui.js";

const TOKEN = /\s+|"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]|./gs;
const OPEN_TO = 2;
const FIRST = 64 * 1024;

/** @param {string} text */
function tokens(text) {
  return (text.match(TOKEN) ?? []).filter((token) => !/^\s+$/.test(token));
}

/** The text on many lines; every token as it is written. @param {string} text */
export function pretty(text) {
  let depth = 0;
  let out = "";
  let last = "";
  for (const token of tokens(text)) {
    if ("}]".includes(token)) depth -= 1;
    const line = `\n${"  ".repeat(Math.max(depth, 0))}`;
    if (token === ":") out += ": ";
    else if (token === ",") out += ",";
    else if ("}]".includes(token)) out += "{[".includes(last) ? token : line + token;
    else out += (last && "{[,".includes(last) ? line : "") + token;
    if ("{[".includes(token)) depth += 1;
    last = token;
  }
  return out;
}

const kind = (token) => (token[0] === '"' ? "text" : /^[-\d]/.test(token) ? "digits" : "word");

/** A value from the tokens at a place: what to draw, and where it ends. */
function value(all, start, depth, path) {
  const token = all[start];
  if (token !== "{" && token !== "[") return [html`<span class=${kind(token ?? "")} data-path=${path}>${token}</span>`, start + 1];
  const closing = token === "{" ? "}" : "]";
  const rows = [];
  let at = start + 1;
  while (at < all.length && all[at] !== closing) {
    let name = null;
    let inner = `${path}[${rows.length}]`;
    if (token === "{") {
      name = all[at];
      inner = `${path}${path ? "." : ""}${name.slice(1, -1)}`;
      at += 2;
    }
    const [drawn, next] = value(all, at, depth + 1, inner);
    at = next;
    const comma = all[at] === ",";
    if (comma) at += 1;
    rows.push(html`<div class="pair">${name && html`<span class="name">${name}</span>: `}${drawn}${comma && ","}</div>`);
  }
  if (!rows.length) return [html`<span>${token}${closing}</span>`, at + 1];
  const body = html`<div class="inside">${rows}</div>${closing}`;
  if (depth < OPEN_TO) return [html`<span>${token}${body}</span>`, at + 1];
  return [html`<details class="fold">
    <summary>${token}<span class="muted"> ${rows.length} </span></summary>${body}</details>`, at + 1];
}

/** @param {{text: string, label: string}} props the stored text and what it is */
export function Json({ text, label }) {
  const [{ wrap, whole }, set] = useState({ wrap: true, whole: false });
  const shown = whole ? text : text.slice(0, FIRST);
  let drawn;
  try {
    JSON.parse(text); // only to know that it is JSON: what is drawn comes from the text
    drawn = shown.length === text.length ? value(tokens(shown), 0, 0, "")[0] : shown;
  } catch {
    drawn = shown;
  }
  return html`<div class="json"><div class="bar"><span class="muted">${bytes(text)}</span>
    <button class="bare" aria-pressed=${String(wrap)} onClick=${() => set({ wrap: !wrap, whole })}>Wrap</button>
    <${Copy} text=${text} label=${`Copy ${label}`}>Copy</${Copy}>
      <${Copy} text=${() => pretty(text)} label=${`Copy ${label}, indented`}>Indented</${Copy}></div>
    <div class=${`code ${wrap ? "wraps" : ""}`} tabindex="0" role="region" aria-label=${label}>${drawn}</div>
    ${shown.length < text.length && html`<button onClick=${() => set({ wrap, whole: true })}>Show all ${bytes(text)}</button>`}</div>`;
}
