// The map: points on a canvas, and above it a second canvas for names and what is selected.
"use strict";

const data = JSON.parse(document.getElementById("points").textContent);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const pairs = (text) => new Uint16Array(bytes(text).buffer);
const points = { x: pairs(data.x), y: pairs(data.y), of: pairs(data.of) };
const nearest = { count: data.nearest, node: pairs(data.near), score: bytes(data.score) };
const count = points.x.length;
const nameOf = (node) => (data.names ? data.names[node] : String(node));

// Classes by size, the largest first; nodes without a class are of class 0.
const COLORED = 12;
const sizes = new Uint32Array(data.classes.length + 1);
points.of.forEach((of) => sizes[of]++);
const ranked = data.classes.map((_, at) => at + 1).filter((of) => sizes[of]).sort((a, b) => sizes[b] - sizes[a] || a - b);
const rank = new Uint32Array(sizes.length).fill(0xffffffff);
ranked.forEach((of, at) => (rank[of] = at));
const classOf = (node) => (points.of[node] ? data.classes[points.of[node] - 1] : "");

// Nodes in the order in which they are drawn: those in grey first, and small classes above large ones.
const depth = (node) => (!points.of[node] ? -2e6 : rank[points.of[node]] - (rank[points.of[node]] < COLORED ? 0 : 1e6));
const order = Uint32Array.from(points.x.keys()).sort((a, b) => depth(a) - depth(b) || a - b);

const canvas = document.getElementById("map");
const above = document.getElementById("names");
const SIDE = 65535;
const MOST_ZOOM = 200;
const view = { x: SIDE / 2, y: SIDE / 2, zoom: 1 };
const state = { hovered: -1, selected: -1, chosen: new Set() };
let width = 1, height = 1, colors = {};

const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [SIDE, 0]);
const [left, right] = extent(points.x), [top_, bottom] = extent(points.y);
const home = () => Object.assign(view, { x: (left + right) / 2, y: (top_ + bottom) / 2, zoom: 1 });
// Pixels per unit.
const scale = () => view.zoom * 0.94 * Math.min(width / Math.max(right - left, 1), height / Math.max(bottom - top_, 1));
const across = (node) => (points.x[node] - view.x) * scale() + width / 2;
const down = (node) => (points.y[node] - view.y) * scale() + height / 2;

function readColors() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  colors = { ink: read("--ink"), page: read("--panel"), other: read("--other"), faint: read("--dim"), accent: read("--accent") };
  colors.of = Array.from({ length: COLORED }, (_, at) => read(`--k${at}`));
}

// The color of a class: those that are chosen have one of their own.
function colorOf(of) {
  const chosen = [...state.chosen];
  if (chosen.length && !state.chosen.has(of)) return colors.faint;
  if (of && rank[of] < COLORED) return colors.of[rank[of]];
  return chosen.length && of ? colors.of[chosen.indexOf(of) % COLORED] : data.classes.length ? colors.other : colors.of[0];
}

function radius() {
  const plain = Math.max(0.7, Math.min(3.2, 0.42 * Math.sqrt((width * height) / count)));
  return Math.min(plain * Math.pow(view.zoom, 0.4), 7);
}

// Pixels may be finer than units of the page.
function prepare(canvas) {
  const density = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const draw = canvas.getContext("2d");
  draw.setTransform(density, 0, 0, density, 0, 0);
  draw.clearRect(0, 0, width, height);
  return draw;
}

function drawPoints() {
  const draw = prepare(canvas), r = radius(), round = r > 1.6, per = scale();
  const [dx, dy] = [width / 2 - view.x * per, height / 2 - view.y * per];
  const some = state.chosen.size > 0;
  // Chosen classes are drawn above all others.
  for (const pass of some ? [false, true] : [false]) {
    let of = -1;
    const finish = () => round && of >= 0 && draw.fill();
    for (const node of order) {
      if (some && state.chosen.has(points.of[node]) !== pass) continue;
      const x = points.x[node] * per + dx, y = points.y[node] * per + dy;
      if (x < -r || y < -r || x > width + r || y > height + r) continue;
      if (points.of[node] !== of) {
        finish();
        of = points.of[node];
        draw.fillStyle = colorOf(of);
        draw.globalAlpha = some && !pass ? 0.35 : count > 20000 ? 0.75 : 0.85;
        if (round) draw.beginPath();
      }
      if (round) {
        draw.moveTo(x + r, y);
        draw.arc(x, y, r, 0, 2 * Math.PI);
      } else draw.fillRect(x - r, y - r, 2 * r, 2 * r);
    }
    finish();
  }
  draw.globalAlpha = 1;
}

// Where the name of each class goes: in the middle of where most of it is.
const CELLS = 32;
const anchors = ranked.slice(0, 200).map((of) => ({ of, counts: new Uint32Array(CELLS * CELLS), x: 0, y: 0, near: 0 }));
const anchorOf = new Map(anchors.map((anchor) => [anchor.of, anchor]));
const cellOf = (node) => [points.x[node], points.y[node]].map((at) => Math.floor((at * CELLS) / (SIDE + 1)));
function placeNames() {
  for (let node = 0; node < count; node++) {
    const anchor = anchorOf.get(points.of[node]), [x, y] = cellOf(node);
    if (anchor) anchor.counts[y * CELLS + x]++;
  }
  anchors.forEach((anchor) => (anchor.best = anchor.counts.indexOf(Math.max(...anchor.counts))));
  for (let node = 0; node < count; node++) {
    const anchor = anchorOf.get(points.of[node]), [x, y] = cellOf(node);
    if (anchor && Math.abs(x - (anchor.best % CELLS)) < 2 && Math.abs(y - Math.floor(anchor.best / CELLS)) < 2) {
      anchor.x += points.x[node];
      anchor.y += points.y[node];
      anchor.near++;
    }
  }
  anchors.forEach((anchor) => { anchor.x /= anchor.near; anchor.y /= anchor.near; delete anchor.counts; });
}

const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

// Writes a text unless it would cover one of those before.
function write(draw, taken, text, x, y, { bold = false, always = false, size = 13 } = {}) {
  draw.font = `${bold ? 600 : 400} ${size}px system-ui, sans-serif`;
  const half = draw.measureText(text).width / 2 + 3;
  x = Math.max(half, Math.min(width - half, x));
  const box = [x - half, y - size * 0.75, x + half, y + size * 0.75];
  const meets = (other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3];
  if (!always && (taken.some(meets) || box[1] < 0 || box[3] > height)) return;
  taken.push(box);
  draw.lineWidth = 4;
  draw.strokeText(text, x, y);
  draw.fillText(text, x, y);
}

function drawAbove() {
  const draw = prepare(above), taken = [];
  Object.assign(draw, { textAlign: "center", textBaseline: "middle", lineJoin: "round", strokeStyle: colors.page, fillStyle: colors.ink });
  const ring = (node, r, color) => {
    draw.beginPath();
    draw.arc(across(node), down(node), r, 0, 2 * Math.PI);
    Object.assign(draw, { strokeStyle: colors.page, lineWidth: 5 });
    draw.stroke();
    Object.assign(draw, { strokeStyle: color, lineWidth: 2 });
    draw.stroke();
    draw.strokeStyle = colors.page;
  };
  if (state.selected >= 0) {
    const near = neighborsOf(state.selected).map(({ node }) => node);
    Object.assign(draw, { strokeStyle: colors.ink, lineWidth: 1, globalAlpha: 0.45 });
    for (const node of near) {
      draw.beginPath();
      draw.moveTo(across(state.selected), down(state.selected));
      draw.lineTo(across(node), down(node));
      draw.stroke();
    }
    draw.globalAlpha = 1;
    near.forEach((node) => ring(node, radius() + 3, colors.ink));
    ring(state.selected, radius() + 6, colors.accent);
    const inside = (node) => across(node) >= 0 && across(node) <= width && down(node) >= 0 && down(node) <= height;
    const label = (node, how) => inside(node) && write(draw, taken, short(nameOf(node), 28), across(node), down(node) - radius() - 15, how);
    label(state.selected, { bold: true, always: true });
    near.forEach((node) => label(node));
  } else {
    for (const anchor of anchors) {
      if (state.chosen.size && !state.chosen.has(anchor.of)) continue;
      const x = (anchor.x - view.x) * scale() + width / 2, y = (anchor.y - view.y) * scale() + height / 2;
      if (x > 0 && x < width) write(draw, taken, short(data.classes[anchor.of - 1], 26), x, y, { bold: true, size: 12 });
    }
  }
  if (state.hovered >= 0 && state.hovered !== state.selected) ring(state.hovered, radius() + 4, colors.accent);
}

let waiting = { points: false, above: false };
function redraw(what = { points: true, above: true }) {
  if (!waiting.points && !waiting.above) requestAnimationFrame(() => {
    const now = waiting;
    waiting = { points: false, above: false };
    if (now.points) drawPoints();
    drawAbove();
  });
  waiting = { points: waiting.points || what.points, above: true };
}

// The point nearest to a place on the screen, by cells that hold the points.
const FINE = 128;
const starts = new Uint32Array(FINE * FINE + 1), held = new Uint32Array(count);
const fineOf = (node) => Math.floor((points.y[node] * FINE) / (SIDE + 1)) * FINE + Math.floor((points.x[node] * FINE) / (SIDE + 1));
for (let node = 0; node < count; node++) starts[fineOf(node) + 1]++;
for (let cell = 0; cell < FINE * FINE; cell++) starts[cell + 1] += starts[cell];
{
  const next = starts.slice();
  for (let node = 0; node < count; node++) held[next[fineOf(node)]++] = node;
}
function pointAt(px, py, within = 14) {
  const per = scale(), reach = within / per;
  const [x, y] = [(px - width / 2) / per + view.x, (py - height / 2) / per + view.y];
  const cell = (at) => Math.max(0, Math.min(FINE - 1, Math.floor((at * FINE) / (SIDE + 1))));
  let best = -1, closest = reach * reach;
  for (let row = cell(y - reach); row <= cell(y + reach); row++) {
    for (let at = starts[row * FINE + cell(x - reach)]; at < starts[row * FINE + cell(x + reach) + 1]; at++) {
      const node = held[at], apart = (points.x[node] - x) ** 2 + (points.y[node] - y) ** 2;
      const shown = !state.chosen.size || state.chosen.has(points.of[node]);
      if (shown && apart <= closest) [best, closest] = [node, apart];
    }
  }
  return best;
}

// The nearest of the embedding, which may be far away on the map.
function neighborsOf(node) {
  return Array.from({ length: nearest.count }, (_, at) => {
    const place = node * nearest.count + at;
    return { node: nearest.node[place], score: nearest.score[place] / 127.5 - 1 };
  });
}
