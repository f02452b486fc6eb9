/** Lucide 1.62.0 icons (ISC licence, https://lucide.dev/license), each as the inside of its 24 × 24 drawing. */
import { h } from "./vendor/preact-htm.js";

const DRAWINGS = {
  clock: "circle cx=12 cy=12 r=10|M12 6v6l4 2",
  "loader-circle": "M21 12a9 9 0 1 1-6.219-8.56",
  "circle-check": "circle cx=12 cy=12 r=10|m16 9-5.5 5.5L8 12",
  "rotate-cw": "M21 12a9 9 0 1 1-9-9c2.52 0 4.93 1 6.74 2.74L21 8|M21 3v5h-5",
  skull: "m12.5 17-.5-1-.5 1h1z|M15 22a1 1 0 0 0 1-1v-1a2 2 0 0 0 1.56-3.25 8 8 0 1 0-11.12 0A2 2 0 0 0 8 20v1a1 1 0 0 0 1 1z|circle cx=15 cy=12 r=1|circle cx=9 cy=12 r=1",
  ban: "circle cx=12 cy=12 r=10|M4.929 4.929 19.07 19.071",
  search: "m21 21-4.34-4.34|circle cx=11 cy=11 r=8",
  sun: "circle cx=12 cy=12 r=4|M12 2v2|M12 20v2|m4.93 4.93 1.41 1.41|m17.66 17.66 1.41 1.41|M2 12h2|M20 12h2|m6.34 17.66-1.41 1.41|m19.07 4.93-1.41 1.41",
  moon: "M20.985 12.486a9 9 0 1 1-9.473-9.472c.405-.022.617.46.402.803a6 6 0 0 0 8.268 8.268c.344-.215.825-.004.803.401",
  monitor: "rect width=20 height=14 x=2 y=3 rx=2|line x1=8 x2=16 y1=21 y2=21|line x1=12 x2=12 y1=17 y2=21",
  bell: "M10.268 21a2 2 0 0 0 3.464 0|M3.262 15.326A1 1 0 0 0 4 17h16a1 1 0 0 0 .74-1.673C19.41 13.956 18 12.499 18 8A6 6 0 0 0 6 8c0 4.499-1.411 5.956-2.738 7.326",
  copy: "rect width=14 height=14 x=8 y=8 rx=2 ry=2|M4 16c-1.1 0-2-.9-2-2V4c0-1.1.9-2 2-2h10c1.1 0 2 .9 2 2",
  check: "M20 6 9 17l-5-5",
  x: "M18 6 6 18|m6 6 12 12",
  "triangle-alert": "m21.73 18-8-14a2 2 0 0 0-3.48 0l-8 14A2 2 0 0 0 4 21h16a2 2 0 0 0 1.73-3|M12 9v4|M12 17h.01",
  "chevron-right": "m9 18 6-6-6-6",
  play: "M5 5a2 2 0 0 1 3.008-1.728l11.997 6.998a2 2 0 0 1 .003 3.458l-12 7A2 2 0 0 1 5 19z",
  plus: "M5 12h14|M12 5v14",
  "trash-2": "M10 11v6|M14 11v6|M19 6v14a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V6|M3 6h18|M8 6V4a2 2 0 0 1 2-2h4a2 2 0 0 1 2 2v2",
  "refresh-cw": "M3 12a9 9 0 0 1 9-9 9.75 9.75 0 0 1 6.74 2.74L21 8|M21 3v5h-5|M21 12a9 9 0 0 1-9 9 9.75 9.75 0 0 1-6.74-2.74L3 16|M8 16H3v5",
  pause: "rect x=14 y=3 width=5 height=18 rx=1|rect x=5 y=3 width=5 height=18 rx=1",
  "circle-help": "circle cx=12 cy=12 r=10|M9.09 9a3 3 0 0 1 5.83 1c0 2-3 3-3 3|M12 17h.01",
  settings: "M9.671 4.136a2.34 2.34 0 0 1 4.659 0 2.34 2.34 0 0 0 3.319 1.915 2.34 2.34 0 0 1 2.33 4.033 2.34 2.34 0 0 0 0 3.831 2.34 2.34 0 0 1-2.33 4.033 2.34 2.34 0 0 0-3.319 1.915 2.34 2.34 0 0 1-4.659 0 2.34 2.34 0 0 0-3.32-1.915 2.34 2.34 0 0 1-2.33-4.033 2.34 2.34 0 0 0 0-3.831A2.34 2.34 0 0 1 6.35 6.051a2.34 2.34 0 0 0 3.319-1.915|circle cx=12 cy=12 r=3",
  ellipsis: "circle cx=12 cy=12 r=1|circle cx=19 cy=12 r=1|circle cx=5 cy=12 r=1",
  "circle-alert": "circle cx=12 cy=12 r=10|line x1=12 x2=12 y1=8 y2=12|line x1=12 x2=12.01 y1=16 y2=16",
  circle: "circle cx=12 cy=12 r=10",
  flag: "M4 22V4a1 1 0 0 1 .4-.8A6 6 0 0 1 8 2c3 0 5 2 7.333 2q2 0 3.067-.8A1 1 0 0 1 20 4v10a1 1 0 0 1-.4.8A6 6 0 0 1 16 16c-3 0-5-2-8-2a6 6 0 0 0-4 1.528",
  "timer-off": "M10 2h4|M4.6 11a8 8 0 0 0 1.7 8.7 8 8 0 0 0 8.7 1.7|M7.4 7.4a8 8 0 0 1 10.3 1 8 8 0 0 1 .9 10.2|m2 2 20 20|M12 12v-2",
  "log-out": "m16 17 5-5-5-5|M21 12H9|M9 21H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h4",
  "calendar-clock": "M16 14v2.2l1.6 1|M16 2v3|M21 7.338V5a2 2 0 00-2-2H5a2 2 0 00-2 2v14a2 2 0 002 2h2.338|M3 9h5.859|M8 2v3|circle cx=16 cy=16 r=6",
  pencil: "M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z|m15 5 4 4",
};

/** @param {string} shape a path's `d`, or a tag and its attributes */
function drawn(shape) {
  const [tag, ...rest] = /^[a-z]{3,} /.test(shape) ? shape.split(" ") : ["path", `d=${shape}`];
  return h(tag, Object.fromEntries(rest.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)])));
}

/** An icon; decoration only: the word beside it says the same. @param {{name: string, size?: number, class?: string}} props */
export function Icon({ name, size = 16, class: extra = "" }) {
  const shapes = DRAWINGS[name].split("|").map(drawn);
  return h("svg", { class: `icon ${extra}`, viewBox: "0 0 24 24", width: size, height: size, "aria-hidden": "true" }, shapes);
}
