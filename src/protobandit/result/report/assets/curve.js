// Cost against the number of prototypes, with the knee.

function drawCurve(svg, width, height) {
  const { costs, wider, knee } = data.curve;
  const everything = wider ? costs.concat(wider) : costs;
  const n = Math.max(costs.length, wider ? wider.length : 0);
  const top = Math.max(...everything);
  const frame = { left: 58, right: width - 14, top: 34, bottom: height - 46 };
  const x = { at: (k) => n === 1 ? (frame.left + frame.right) / 2
    : frame.left + ((k - 1) / (n - 1)) * (frame.right - frame.left), format: whole.format };
  const y = { at: (c) => frame.bottom - (c / (top || 1)) * (frame.bottom - frame.top), format: inline };
  const steps = ticks(1, n, Math.min(n, Math.max(3, Math.floor(width / 110))));
  x.ticks = n === 1 ? [1] : [1, ...steps.filter((t) => Number.isInteger(t) && x.at(t) - x.at(1) > 24)];
  y.ticks = ticks(0, top || 1, 4);
  axes(svg, frame, x, y, { x: "prototypes", y: "cost" });
  const path = (values) => values.map((c, i) => `${i ? "L" : "M"}${x.at(i + 1).toFixed(1)} ${y.at(c).toFixed(1)}`).join("");
  if (wider) svg.append(svgEl("path", { class: "line wider", d: path(wider) }));
  svg.append(
    svgEl("path", { class: "area", d: `${path(costs)}L${x.at(costs.length)} ${frame.bottom}L${x.at(1)} ${frame.bottom}Z` }),
    svgEl("path", { class: "line", d: path(costs) }));
  if (costs.length === 1) svg.append(svgEl("circle", { class: "dot", cx: x.at(1), cy: y.at(costs[0]), r: 5 }));
  if (knee) drawKnee(svg, frame, x.at(knee), y.at(everything === costs || knee <= costs.length ? costs[knee - 1] : wider[knee - 1]), knee);
  const guide = svgEl("line", { class: "guide", y1: frame.top, y2: frame.bottom, visibility: "hidden" });
  const dot = svgEl("circle", { class: "dot", r: 5, visibility: "hidden" });
  svg.append(guide, dot);
  makeSlider(svg, costs.length, "Cost by number of prototypes", {
    nearest: (px) => Math.round(((px - frame.left) / (frame.right - frame.left)) * (n - 1)),
    show: (i) => {
      const at = { x: x.at(i + 1), y: y.at(costs[i]) };
      put(guide, { x1: at.x, x2: at.x, visibility: "visible" }, []);
      put(dot, { cx: at.x, cy: at.y, visibility: "visible" }, []);
      const lines = [`${whole.format(i + 1)} prototype${i ? "s" : ""}`, `cost ${inline(costs[i])}`];
      if (i) lines.push(`gain ${inline(data.prototypes.gains[i])}`);
      return { ...at, lines };
    },
    hide: () => [guide, dot].forEach((mark) => mark.setAttribute("visibility", "hidden")),
  });
}

function drawKnee(svg, frame, x, y, knee) {
  const isLeft = x > (frame.left + frame.right) / 2;
  svg.append(
    svgEl("line", { class: "knee", x1: x, x2: x, y1: y, y2: frame.bottom }),
    svgEl("circle", { class: "knee-dot", cx: x, cy: y, r: 5 }),
    svgEl("text", { class: "knee-name", x: x + (isLeft ? -10 : 10), y: y - 12,
      "text-anchor": isLeft ? "end" : "start" }, `knee at ${whole.format(knee)}`));
}

// A knee is searched in the first half of the curve; a short curve is not expected to have one.
const LEAST_FOR_KNEE = 8;

function curveNote({ costs, wider, knee }) {
  if (knee) return `The cost bends most at ${whole.format(knee)}: each further prototype lowers it much less.`;
  const n = (wider ?? costs).length;
  const none = `The first ${whole.format(Math.floor(n / 2))} prototypes show no clear knee. A knee is only looked for in the first half of the curve.`;
  return `The cost after each prototype.${n < LEAST_FOR_KNEE ? "" : ` ${none}`}`;
}

function startCurve() {
  byId("gains-note").textContent = curveNote(data.curve);
  chart("curve-host", 300, drawCurve);
}
