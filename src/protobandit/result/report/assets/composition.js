// Shares of source, target and prototypes by label or by group: bars, and a table on request.

const SIDES = [["source", "source rows"], ["target", "target"], ["mass", "mass of prototypes"]];
const EQUAL_SIDES = [["target", "target, and mass of prototypes"]];

// Two bars that look the same are one.
function sidesOf(c) {
  const sides = SIDES.filter(([side]) => c[side]);
  const isTwin = sides.length === 2 && c.target && c.target.every((share, i) => percent(share) === percent(c.mass[i]));
  return isTwin ? EQUAL_SIDES : sides;
}

function shareBars(c, sides) {
  const most = Math.max(...sides.flatMap(([side]) => c[side]));
  const list = el("ul", { class: "shares" }, c.values.map((value, i) => el("li", {},
    el("span", { class: "value" }, textSpan(value)),
    el("span", { class: "bars" }, sides.map(([side, name]) => el("span", { class: "share " + side,
      title: `${name}: ${percent(c[side][i])}` }, bar(c[side][i], most), el("span", { class: "amount" }, percent(c[side][i]))))))));
  const longest = Math.max(...c.values.map((value) => value.length));
  list.style.setProperty("--value-width", Math.min(8, 0.8 + 0.65 * longest) + "em");
  return list;
}

function shareTable(c, sides) {
  return el("details", {}, el("summary", {}, "As a table"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Composition" },
    el("table", { class: "numbers wide" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, c.name), sides.map(([, name]) => el("th", { scope: "col" }, name)),
        el("th", { scope: "col" }, "prototypes"))),
      el("tbody", {}, c.values.map((value, i) => el("tr", {}, el("th", { scope: "row" }, textSpan(value)),
        sides.map(([side]) => el("td", {}, percent(c[side][i]))), el("td", {}, whole.format(c.counts[i]))))))));
}

function startComposition() {
  for (const c of data.compositions) {
    const sides = sidesOf(c);
    byId("shares-host").append(el("div", { class: "composition" },
      el("div", { class: "tools" }, el("h3", {}, "By " + c.name),
        el("ul", { class: "legend" }, sides.map(([side, name]) => el("li", {}, el("i", { class: "swatch " + side }), name)))),
      shareBars(c, sides), shareTable(c, sides)));
  }
}
