// The panel of one prototype: what it stands for, and what it covers badly.

const panel = byId("panel");
let opened = null;

function facts(i) {
  const p = data.prototypes;
  const entries = [
    ["Stands for", percent(p.mass[i]) + " of the target"],
    ["Gain", i === 0 ? "– (the first has none to compare with)" : inline(p.gains[i])],
    ["Mean distance of its rows", inline(p.means[i])],
    [data.isWhole ? "Rows" : "Rows in the sample", whole.format(p.counts[i])],
  ];
  if (p.labels) entries.unshift(["Label", labelOf(p, i)]);
  if (p.groups) entries.unshift(["Group", groupOf(p, i)]);
  return el("dl", { class: "pairs" }, entries.map(([name, value]) =>
    [el("dt", {}, name), el("dd", {}, textSpan(value))]));
}

function memberSection(title, note, rows) {
  return el("section", { class: "members" }, el("h3", {}, title), el("p", { class: "muted" }, note),
    rows.length ? rowList(rows, (r) => el("b", { class: "distance" }, inline(data.rows.distances[r])))
      : el("p", { class: "muted" }, "none"));
}

function openPanel(i) {
  opened = i;
  const p = data.prototypes;
  byId("panel-title").replaceChildren("Prototype " + whole.format(i + 1),
    el("span", { class: "muted" }, textSpan(called(p, i))));
  byId("panel-body").replaceChildren(
    el("div", { class: "about-one" }, el("div", { class: "portrait " + p.look.kind }, full(p, i)), facts(i)),
    memberSection("Nearest members", "The rows it stands for best, with their distances.", p.near[i]),
    memberSection("Farthest members", "The rows it covers badly: no other prototype is nearer.", p.far[i]));
  const at = order.indexOf(i);
  byId("previous").disabled = at <= 0;
  byId("next").disabled = at < 0 || at === order.length - 1;
  hideTip();
  if (!panel.open) panel.showModal();
  byId("panel-body").scrollTop = 0;
}

function walk(step) {
  const at = order.indexOf(opened) + step;
  if (at >= 0 && at < order.length) openPanel(order[at]);
}

function startPanel() {
  byId("close").addEventListener("click", () => panel.close());
  byId("previous").addEventListener("click", () => walk(-1));
  byId("next").addEventListener("click", () => walk(1));
  panel.addEventListener("click", (event) => event.target === panel && panel.close());
  panel.addEventListener("keydown", (event) => {
    if (event.target.closest(".scroll")) return;
    if (event.key === "ArrowLeft") walk(-1);
    if (event.key === "ArrowRight") walk(1);
  });
  panel.addEventListener("close", () => returnTo(opened));
}
