// Target rows as points, prototypes as rings. Points and marks have separate canvases, because the
// points are drawn rarely.

const N_COLOURS = 10;
const map = { width: 0, height: 0, at: null, scheme: null, only: null, hovered: null, current: 0 };

// A colour scheme gives every point of the map a class (a colour, or -1 for grey) and names the
// classes. A class without a name has no points.
const SCHEMES = {
  label: () => {
    const { codes, values } = data.compositions.find((c) => c.name === "label");
    const place = new Map(codes.slice(0, N_COLOURS).map((code, i) => [code, i]));
    const own = (side) => (i) => place.get(side.labels[i]) ?? -1;
    return { name: "c", of: own(data.rows), ofPrototype: own(data.prototypes),
      names: values.slice(0, N_COLOURS), hasRest: true };
  },
  distance: () => {
    const { quantiles } = data.spread;
    const texts = quantiles.map(inline);
    const limits = texts.map((text) => quantiles[texts.lastIndexOf(text)]); // merge limits with equal text
    const own = (r) => limits.filter((limit) => data.rows.distances[r] > limit).length;
    const hasBeyond = data.map.rows.some((r) => own(r) === limits.length);
    const names = [...texts.map((text, i) => (text === texts[i - 1] ? null : `≤ ${text}`)),
      hasBeyond ? `> ${texts.at(-1)}` : null];
    return { name: "s", of: own, ofPrototype: () => -1, names, hasRest: false };
  },
};

function fitMap() {
  const host = byId("map-host");
  const ratio = window.devicePixelRatio || 1;
  map.width = host.clientWidth;
  map.height = Math.round(Math.max(300, Math.min(560, map.width * 0.62)));
  for (const id of ["map-rows", "map-marks"]) {
    const canvas = byId(id);
    canvas.width = Math.round(map.width * ratio);
    canvas.height = Math.round(map.height * ratio);
    canvas.style.height = map.height + "px";
    canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  const xs = data.map.at.concat(data.prototypes.at);
  const range = (offset) => {
    let [low, high] = [Infinity, -Infinity];
    for (let i = offset; i < xs.length; i += 2) {
      low = Math.min(low, xs[i]);
      high = Math.max(high, xs[i]);
    }
    return [low, high];
  };
  const [[x0, x1], [y0, y1]] = [range(0), range(1)];
  const scale = Math.min((map.width - 48) / (x1 - x0 || 1), (map.height - 48) / (y1 - y0 || 1));
  const [dx, dy] = [(map.width - scale * (x1 - x0)) / 2, (map.height - scale * (y1 - y0)) / 2];
  map.at = (points, i) => [dx + (points[2 * i] - x0) * scale, map.height - dy - (points[2 * i + 1] - y0) * scale];
}

const nShown = () => data.prototypes.ids.length;

const radius = (i) => {
  const most = Math.max(map.most ?? (map.most = Math.max(...data.prototypes.mass)), 1e-12);
  const [least, more] = data.k > 300 ? [2.5, 4] : [4, 7];
  return Math.min(1, 0.4 + map.width / 1200) * (least + more * Math.sqrt(data.prototypes.mass[i] / most));
};

function paintMap() {
  const c = byId("map-rows").getContext("2d");
  c.clearRect(0, 0, map.width, map.height);
  const [rest, opacity] = [colour("--rest"), Number(colour("--point"))];
  const inks = map.scheme.names.map((_, i) => colour(`--${map.scheme.name}${i}`));
  data.map.rows.forEach((r, i) => {
    const kind = map.scheme.of(r);
    const isFaint = map.only !== null && kind !== map.only;
    const [x, y] = map.at(data.map.at, i);
    c.globalAlpha = isFaint ? 0.12 : opacity;
    c.fillStyle = kind < 0 ? rest : inks[kind];
    c.beginPath();
    c.arc(x, y, 2.1, 0, 2 * Math.PI);
    c.fill();
  });
  c.globalAlpha = 1;
  const { hasRest } = map.scheme; // else prototypes have no class, and the colour of none
  for (let i = nShown() - 1; i >= 0; i--) {
    const kind = map.scheme.ofPrototype(i);
    const [x, y] = map.at(data.prototypes.at, i);
    const ink = kind >= 0 ? inks[kind] : hasRest ? rest : colour("--ink");
    ring(c, x, y, radius(i), ink, map.only !== null && hasRest && kind !== map.only);
  }
  markMap();
}

function ring(c, x, y, r, ink, isFaint) {
  c.globalAlpha = isFaint ? 0.25 : 1;
  c.beginPath();
  c.arc(x, y, r, 0, 2 * Math.PI);
  c.fillStyle = colour("--surface");
  c.globalAlpha *= 0.6;
  c.fill();
  c.globalAlpha = isFaint ? 0.25 : 1;
  c.lineWidth = 2.25;
  c.strokeStyle = ink;
  c.stroke();
  c.globalAlpha = 1;
}

function markMap() {
  const c = byId("map-marks").getContext("2d");
  c.clearRect(0, 0, map.width, map.height);
  const h = map.hovered;
  if (!h) return;
  const prototype = h.prototype ?? data.rows.of[data.map.rows[h.row]];
  const hasRing = isShown(prototype);
  const [px, py] = hasRing ? map.at(data.prototypes.at, prototype) : map.at(data.map.at, h.row);
  c.strokeStyle = c.fillStyle = colour("--ink");
  if (h.row !== undefined) {
    const [x, y] = map.at(data.map.at, h.row);
    c.lineWidth = 1.25;
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(px, py);
    c.stroke();
    c.beginPath();
    c.arc(x, y, 4.5, 0, 2 * Math.PI);
    c.fill();
  }
  if (!hasRing) return;
  c.lineWidth = 3;
  c.beginPath();
  c.arc(px, py, radius(prototype) + 2, 0, 2 * Math.PI);
  c.stroke();
}

function nearestMark(x, y) {
  let [best, least] = [null, 14 ** 2];
  for (let i = 0; i < nShown(); i++) {
    const [px, py] = map.at(data.prototypes.at, i);
    const far = (px - x) ** 2 + (py - y) ** 2;
    if (far < Math.min(least, (radius(i) + 2) ** 2)) [best, least] = [{ prototype: i }, far];
  }
  if (best) return best;
  data.map.rows.forEach((_, i) => {
    const [px, py] = map.at(data.map.at, i);
    const far = (px - x) ** 2 + (py - y) ** 2;
    if (far < least) [best, least] = [{ row: i }, far];
  });
  return best;
}

function mapNote(h) {
  const p = data.prototypes;
  if (h.prototype !== undefined) {
    const i = h.prototype;
    return [el("b", {}, `Prototype ${i + 1}`), preview(p, i), el("div", {}, textSpan(nameOf(p, i))),
      p.labels ? el("div", {}, "label ", textSpan(labelOf(p, i))) : null, el("div", {}, `represents ${percent(p.mass[i])}`)];
  }
  const r = data.map.rows[h.row];
  const of = data.rows.of[r];
  const own = [el("div", { class: "who" }, preview(data.rows, r), el("b", {}, textSpan(nameOf(data.rows, r))),
    data.rows.labels ? el("div", {}, "label ", textSpan(labelOf(data.rows, r))) : null,
    el("div", {}, `distance ${inline(data.rows.distances[r])}`))];
  return [...own, el("div", { class: "who" }, preview(p, of), el("b", {}, `of prototype ${of + 1}`),
    p.labels && isShown(of) ? el("div", {}, "label ", textSpan(labelOf(p, of))) : null)];
}

function hoverMap(h, x, y) {
  map.hovered = h;
  byId("map-marks").classList.toggle("pointing", h !== null);
  markMap();
  if (!h) return hideTip();
  showTip(x, y, el("div", { class: "pair" }, mapNote(h)));
}

function handlePointer(canvas) {
  const find = (event) => {
    const box = canvas.getBoundingClientRect();
    return nearestMark(event.clientX - box.left, event.clientY - box.top);
  };
  const same = (a, b) => a && b && a.row === b.row && a.prototype === b.prototype;
  let touched = null;
  canvas.addEventListener("pointermove", (event) => hoverMap(find(event), event.clientX, event.clientY));
  canvas.addEventListener("pointerleave", () => hoverMap(null));
  canvas.addEventListener("blur", () => hoverMap(null));
  canvas.addEventListener("click", (event) => {
    const h = find(event);
    const isFirstTouch = event.pointerType === "touch" && !same(h, touched);
    touched = h;
    hoverMap(h, event.clientX, event.clientY);
    if (!h || isFirstTouch) return;
    const chosen = h.prototype ?? data.rows.of[data.map.rows[h.row]];
    if (!isShown(chosen)) return;
    setCurrent(canvas, chosen);
    openPanel(map.current, canvas);
  });
}

// Arrow keys continue from the current prototype, set by the last key or click.
function handleKeys(canvas) {
  const mark = () => {
    const [x, y] = map.at(data.prototypes.at, map.current);
    const box = canvas.getBoundingClientRect();
    hoverMap({ prototype: map.current }, box.left + x, box.top + y);
  };
  put(canvas, { "aria-valuemin": 1, "aria-valuemax": nShown() }, []);
  setCurrent(canvas, 0);
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && mark());
  canvas.addEventListener("keydown", (event) => {
    if (!isPlain(event)) return;
    if (event.key === "Enter") openPanel(map.current, canvas);
    if (event.key === "Escape") hoverMap(null);
    const at = map.current;
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: nShown() - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setCurrent(canvas, to);
    mark();
  });
}

function setCurrent(canvas, i) {
  map.current = Math.max(0, Math.min(nShown() - 1, i));
  const text = `Prototype ${map.current + 1}, ${nameOf(data.prototypes, map.current)}`;
  put(canvas, { "aria-valuenow": map.current + 1, "aria-valuetext": text }, []);
}

function setScheme(name) {
  map.scheme = SCHEMES[name]();
  map.only = null;
  const chip = (i, text) => {
    const button = el("button", { type: "button", class: "chip-button", "aria-pressed": "false",
      onclick: () => {
        map.only = map.only === i ? null : i;
        for (const other of byId("map-legend").querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
        button.setAttribute("aria-pressed", String(map.only === i));
        paintMap();
      } }, el("i", { class: `swatch ${i < 0 ? "rest" : map.scheme.name + i}` }), textSpan(text));
    return el("li", {}, button);
  };
  const chips = map.scheme.names.flatMap((text, i) => (text === null ? [] : [chip(i, text)]));
  const hasRest = map.scheme.hasRest && (data.map.rows.some((r) => map.scheme.of(r) < 0)
    || data.prototypes.ids.some((_, i) => map.scheme.ofPrototype(i) < 0));
  byId("map-legend").replaceChildren(...(byId("colour-tool").hidden ? [el("li", { class: "muted" }, name)] : []), ...chips, ...(hasRest ? [chip(-1, "other")] : []));
  paintMap();
}

function startMap() {
  const names = data.rows.labels && data.prototypes.labels ? ["label", "distance"] : ["distance"];
  byId("colour").append(...names.map((name) => el("option", { value: name }, name)));
  byId("colour-tool").hidden = names.length < 2;
  byId("colour").addEventListener("change", () => setScheme(byId("colour").value));
  fitMap();
  setScheme(names[0]);
  handlePointer(byId("map-marks"));
  handleKeys(byId("map-marks"));
  onRepaint.push(paintMap);
  new ResizeObserver(() => {
    if (byId("map-host").clientWidth === map.width) return;
    fitMap();
    paintMap();
  }).observe(byId("map-host"));
}
