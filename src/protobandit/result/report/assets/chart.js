// Axes of a chart, and reading its values by pointer or by arrow keys.

function ticks(low, high, n) {
  const raw = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const unit = [1, 2, 5, 10].map((m) => m * power).find((u) => u >= raw);
  const found = [];
  for (let t = Math.ceil(low / unit) * unit; t <= high + unit * 1e-9; t += unit) {
    found.push(Number(t.toPrecision(12)));
  }
  return found;
}

// Draw now and whenever the width changes; `draw(svg, width, height)` receives an empty svg.
function chart(hostId, height, draw) {
  const host = byId(hostId);
  const svg = host.querySelector("svg");
  let width = 0;
  const paint = () => {
    if (host.clientWidth === width || host.clientWidth === 0) return;
    width = host.clientWidth;
    put(svg, { width, height, viewBox: `0 0 ${width} ${height}` }, []);
    svg.replaceChildren();
    draw(svg, width, height);
  };
  new ResizeObserver(paint).observe(host);
  paint();
}

function axes(svg, frame, x, y, names) {
  const { left, right, bottom } = frame;
  for (const t of y.ticks) {
    svg.append(svgEl("line", { class: "grid", x1: left, x2: right, y1: y.at(t), y2: y.at(t) }),
      svgEl("text", { class: "tick", x: left - 8, y: y.at(t) + 4, "text-anchor": "end" }, y.format(t)));
  }
  for (const t of x.ticks) {
    svg.append(svgEl("text", { class: "tick", x: x.at(t), y: bottom + 18, "text-anchor": "middle" }, x.format(t)));
  }
  svg.append(svgEl("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    svgEl("text", { class: "name", x: right, y: bottom + 36, "text-anchor": "end" }, names.x),
    svgEl("text", { class: "name", x: left, y: 20 }, names.y));
}

// Make the svg a slider over n places: `nearest(px)` finds the place at a pixel; `show(i)` marks a
// place and returns its position and the lines of its tooltip.
function makeSlider(svg, n, name, { nearest, show, hide }) {
  let at = 0;
  put(svg, { tabindex: "0", role: "slider", "aria-label": name, "aria-valuemin": 1,
    "aria-valuemax": n, "aria-valuenow": 1 }, []);
  const go = (i, x, y) => {
    at = Math.max(0, Math.min(n - 1, i));
    const shown = show(at);
    svg.setAttribute("aria-valuenow", at + 1);
    svg.setAttribute("aria-valuetext", shown.lines.join(", "));
    const box = svg.getBoundingClientRect();
    showTip(x ?? box.left + shown.x, y ?? box.top + shown.y,
      ...shown.lines.map((line, l) => el(l ? "div" : "b", {}, line)));
  };
  const leave = () => {
    hide();
    hideTip();
  };
  svg.onpointermove = (event) =>
    go(nearest(event.clientX - svg.getBoundingClientRect().left), event.clientX, event.clientY);
  svg.onpointerdown = svg.onpointermove;
  svg.onpointerleave = leave;
  svg.onblur = leave;
  svg.onfocus = () => svg.matches(":focus-visible") && go(at);
  svg.onkeydown = (event) => {
    if (!isPlain(event)) return;
    const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0,
      End: n - 1, PageUp: at + 10, PageDown: at - 10 }[event.key];
    if (event.key === "Escape") leave();
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  };
}
