// Distances to the nearest prototype: a histogram, quantiles and the worst-covered rows; and the
// criticisms that the method found.

function drawHistogram(svg, width, height) {
  const { edges, heights, counts, shares, quantiles } = data.spread;
  const n = heights.length;
  const [low, high] = [edges[0], edges[n]];
  const top = Math.max(...heights);
  const frame = { left: 58, right: width - 14, top: 62, bottom: height - 46 };
  const x = { at: (d) => frame.left + ((d - low) / (high - low)) * (frame.right - frame.left), format: inline,
    ticks: ticks(low, high, Math.max(4, Math.floor(width / 110))) };
  const y = { at: (h) => frame.bottom - (h / top) * (frame.bottom - frame.top), format: percent,
    ticks: ticks(0, top, 4) };
  axes(svg, frame, x, y, { x: "distance", y: "share of the target" });
  const bars = heights.map((h, i) => svgEl("rect", { class: "bin", x: x.at(edges[i]) + 0.5, y: y.at(h),
    width: Math.max(0.5, x.at(edges[i + 1]) - x.at(edges[i]) - 1), height: frame.bottom - y.at(h) }));
  svg.append(...bars);
  [0.5, 0.9, 0.99].forEach((share, m) => {
    const at = x.at(quantiles[shares.indexOf(share)]);
    svg.append(svgEl("line", { class: "quantile", x1: at, x2: at, y1: frame.top - 4 - (m % 2) * 12, y2: frame.bottom }),
      svgEl("text", { class: "tick", x: at, y: frame.top - 8 - (m % 2) * 12, "text-anchor": at > frame.right - 40 ? "end" : "middle" },
        share === 0.5 ? "median" : percent(share).replace(".0", "")));
  });
  let marked = null;
  const hide = () => marked !== null && bars[marked].classList.remove("marked");
  makeSlider(svg, n, "Distances to the nearest prototype", {
    nearest: (px) => Math.floor(((px - frame.left) / (frame.right - frame.left)) * n),
    show: (i) => {
      hide();
      marked = i;
      bars[i].classList.add("marked");
      return { x: x.at(edges[i]), y: y.at(heights[i]), lines: [`${inline(edges[i])} to ${inline(edges[i + 1])}`,
        `${percent(heights[i])} of the target`, `${whole.format(counts[i])} rows`] };
    },
    hide,
  });
}

function startDistances() {
  const s = data.spread;
  const lines = [["smallest", s.least], ...s.shares.map((share, i) => [share === 0.5 ? "median" : `${100 * share}\u00a0%`, s.quantiles[i]]),
    ["largest", s.most], ["mean", s.mean]];
  byId("quantiles").append(el("tbody", {}, lines.map(([name, value]) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, inline(value))))));
  chart("spread-host", 290, drawHistogram);
  byId("worst").append(coveredRows(s.worst));
}

// Rows with their distances and a link that opens their prototype, such as "of 3".
function coveredRows(rows) {
  const opening = (of) => (event) => openPanel(of, event.currentTarget);
  const name = (of) => "of " + whole.format(of + 1);
  const link = (of) => !isShown(of) ? name(of)
    : el("button", { type: "button", class: "link", onclick: opening(of) }, name(of));
  const list = rowList(rows, (r) => el("span", {}, el("b", { class: "distance" }, inline(data.rows.distances[r])), " ",
    link(data.rows.of[r])));
  return el("div", {}, differingNote(rows), list);
}

function startCriticisms() {
  if (!data.criticisms.length) return;
  byId("criticisms-rows").append(coveredRows(data.criticisms));
  for (const id of ["criticisms", "criticisms-link"]) byId(id).hidden = false;
}
