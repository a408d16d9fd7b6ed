// What people do with the map: move, zoom, point, search, click, choose classes.
const byId = (id) => document.getElementById(id);
const tip = byId("tip"), zoomed = byId("zoom"), search = byId("search"), results = byId("results");

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  // Names are text, whatever is in them.
  if (text !== undefined) made.textContent = text;
  return made;
}

function changed() {
  zoomed.textContent = `${view.zoom < 10 ? view.zoom.toFixed(1) : Math.round(view.zoom)}×`;
  // One finger scrolls the page while all of the map is in view.
  canvas.style.touchAction = view.zoom > 1.01 ? "none" : "pan-y";
  redraw();
}

function zoom(by, px = width / 2, py = height / 2) {
  const before = scale(), most = Math.max(1, Math.min(MOST_ZOOM, view.zoom * by));
  const [x, y] = [(px - width / 2) / before + view.x, (py - height / 2) / before + view.y];
  view.zoom = most;
  view.x = x - (px - width / 2) / scale();
  view.y = y - (py - height / 2) / scale();
  keepInside();
  changed();
}

function move(dx, dy) {
  view.x -= dx / scale();
  view.y -= dy / scale();
  keepInside();
  changed();
}

function keepInside() {
  const room = Math.min(width, height) / 3 / scale();
  view.x = Math.max(left - room, Math.min(right + room, view.x));
  view.y = Math.max(top_ - room, Math.min(bottom + room, view.y));
  if (view.zoom <= 1) home();
}

function hover(node, px = 0, py = 0) {
  if (node !== state.hovered) {
    state.hovered = node;
    redraw({ points: false, above: true });
  }
  tip.hidden = node < 0;
  if (node < 0) return;
  tip.replaceChildren(element("b", "", nameOf(node)));
  if (classOf(node)) tip.append(element("span", "", classOf(node)));
  tip.style.left = `${Math.max(4, Math.min(width - tip.offsetWidth - 4, px + 14))}px`;
  tip.style.top = `${py + 18 + tip.offsetHeight < height ? py + 18 : py - tip.offsetHeight - 12}px`;
}

function entry(node, score) {
  const button = element("button", "entry");
  button.type = "button";
  button.append(swatch(points.of[node]), element("span", "name", nameOf(node)), element("span", "class", classOf(node)));
  if (score !== undefined) button.append(element("span", "score", score.toFixed(2)));
  button.addEventListener("click", () => select(node, true));
  return button;
}

function swatch(of) {
  return element("i", of && rank[of] < COLORED ? `swatch k${rank[of]}` : of || data.classes.length ? "swatch other" : "swatch k0");
}

function select(node, show) {
  state.selected = node;
  const card = byId("selected");
  card.hidden = node < 0;
  byId("hint").hidden = node >= 0;
  if (node >= 0) {
    byId("name").textContent = nameOf(node);
    byId("class").textContent = classOf(node) || (data.classes.length ? "no class" : "");
    byId("nearest").replaceChildren(...neighborsOf(node).map(({ node, score }) => {
      const item = element("li");
      item.append(entry(node, score));
      return item;
    }));
    if (show) {
      view.zoom = Math.max(view.zoom, Math.min(8, Math.sqrt(count) / 12));
      [view.x, view.y] = [points.x[node], points.y[node]];
    }
  }
  hover(-1);
  changed();
}

// Search: names that begin with the text come first, then those that contain it.
let lowered = null, active = -1;
function found(text) {
  const most = 12, begins = [], contains = [];
  const wanted = text.toLowerCase();
  lowered ??= Array.from({ length: count }, (_, node) => nameOf(node).toLowerCase());
  for (let node = 0; node < count; node++) {
    const at = lowered[node].indexOf(wanted);
    if (at === 0) begins.push(node);
    else if (at > 0 && contains.length < most) contains.push(node);
  }
  const shortest = (a, b) => lowered[a].length - lowered[b].length || a - b;
  return begins.sort(shortest).concat(contains.sort(shortest)).slice(0, most);
}

function suggest() {
  const text = search.value.trim();
  const nodes = text ? found(text) : [];
  results.replaceChildren(...nodes.map((node, at) => {
    const item = element("li", "entry");
    item.id = `result-${at}`;
    item.setAttribute("role", "option");
    item.append(swatch(points.of[node]), element("span", "name", nameOf(node)), element("span", "class", classOf(node)));
    item.addEventListener("mousedown", (event) => event.preventDefault());
    item.addEventListener("click", () => pick(node));
    return item;
  }));
  if (text && !nodes.length) results.append(element("li", "none", "no such name"));
  activate(nodes.length ? 0 : -1);
  open(text !== "");
}

function open(is) {
  results.hidden = !is;
  search.setAttribute("aria-expanded", is);
}

function activate(at) {
  active = at;
  [...results.children].forEach((item, place) => item.setAttribute("aria-selected", place === at));
  if (at >= 0) search.setAttribute("aria-activedescendant", `result-${at}`);
  else search.removeAttribute("aria-activedescendant");
}

function pick(node) {
  search.value = nameOf(node);
  open(false);
  select(node, true);
}

search.addEventListener("input", suggest);
search.addEventListener("blur", () => open(false));
search.addEventListener("keydown", (event) => {
  const options = results.querySelectorAll("[role=option]").length;
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by && options) activate((active + by + options) % options);
  else if (event.key === "Enter" && !results.hidden && active >= 0) results.children[active].click();
  else if (event.key === "Escape") open(false);
  else return;
  event.preventDefault();
});

// Mouse, pen and fingers.
const down_ = new Map();
let moved = 0;
const inside = (event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
canvas.addEventListener("pointerdown", (event) => {
  if (event.button > 0) return;
  canvas.setPointerCapture(event.pointerId);
  if (!down_.size) moved = 0;
  down_.set(event.pointerId, inside(event));
});
canvas.addEventListener("pointermove", (event) => {
  const [x, y] = inside(event), before = down_.get(event.pointerId);
  if (!before) {
    if (event.pointerType === "mouse") hover(pointAt(x, y), x, y);
    return;
  }
  const others = [...down_].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
  down_.set(event.pointerId, [x, y]);
  moved += Math.hypot(x - before[0], y - before[1]);
  if (moved < 5) return;
  hover(-1);
  if (others.length) {
    const [ox, oy] = others[0], apart = ([a, b]) => Math.max(Math.hypot(a - ox, b - oy), 10);
    zoom(apart([x, y]) / apart(before), (x + ox) / 2, (y + oy) / 2);
    move((x - before[0]) / 2, (y - before[1]) / 2);
  } else move(x - before[0], y - before[1]);
});
const lifted = (event) => {
  const was = down_.delete(event.pointerId);
  if (!was || event.type === "pointercancel" || moved >= 5 || down_.size) return;
  select(pointAt(...inside(event), event.pointerType === "mouse" ? 14 : 24), false);
};
canvas.addEventListener("pointerup", lifted);
canvas.addEventListener("pointercancel", lifted);
canvas.addEventListener("pointerleave", () => hover(-1));
canvas.addEventListener("dblclick", (event) => zoom(2, ...inside(event)));
canvas.addEventListener("wheel", (event) => {
  // The page scrolls past the map until someone works with it.
  if (!event.ctrlKey && document.activeElement !== canvas) return;
  event.preventDefault();
  zoom(Math.exp(-Math.max(-100, Math.min(100, event.deltaY * (event.deltaMode ? 30 : 1))) * (event.ctrlKey ? 0.01 : 0.002)), ...inside(event));
}, { passive: false });
canvas.addEventListener("keydown", (event) => {
  const step = 60, act = {
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: reset, Escape: () => select(-1),
    ArrowLeft: () => move(step, 0), ArrowRight: () => move(-step, 0), ArrowUp: () => move(0, step), ArrowDown: () => move(0, -step),
  }[event.key];
  if (!act || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  act();
});
function reset() {
  home();
  changed();
}
byId("closer").addEventListener("click", () => zoom(1.6));
byId("farther").addEventListener("click", () => zoom(1 / 1.6));
byId("whole").addEventListener("click", reset);
byId("nothing").addEventListener("click", () => select(-1));

// Classes: one click shows a class alone, further clicks add others.
function legend() {
  const list = byId("classes"), all = byId("all");
  const update = () => {
    all.hidden = !state.chosen.size;
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", state.chosen.has(+button.value));
    redraw();
  };
  for (const of of sizes[0] && ranked.length ? [...ranked, 0] : ranked) {
    const button = element("button", "entry");
    Object.assign(button, { type: "button", value: of });
    button.append(swatch(of), element("span", "name", of ? data.classes[of - 1] : "no class"), element("span", "score", sizes[of].toLocaleString("en")));
    button.addEventListener("click", () => {
      if (!state.chosen.delete(of)) state.chosen.add(of);
      update();
    });
    const item = element("li");
    item.append(button);
    list.append(item);
  }
  all.addEventListener("click", () => {
    state.chosen.clear();
    update();
  });
  update();
}

function resize() {
  [width, height] = [canvas.clientWidth, canvas.clientHeight];
  changed();
}
function repaint() {
  readColors();
  drawPoints();
  drawAbove();
}
home();
readColors();
placeNames();
legend();
new ResizeObserver(resize).observe(canvas);
resize();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
matchMedia("print").addEventListener("change", repaint);
