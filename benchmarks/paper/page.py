"""README.md of the paper's figures: the claims of the paper, and the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path

from benchmarks.common import sessions
from benchmarks.common.counting import spotgreedy_comparisons
from benchmarks.common.files import write_text
from benchmarks.common.pages import scientific, table
from benchmarks.common.sessions import Session
from benchmarks.paper.cells import read_cells
from benchmarks.paper.figures import draw_figures, figure_name
from benchmarks.paper.grid import GRIDS, METHODS, Setting
from benchmarks.paper.statistics import Results, results, tidy

_CLOSE = 0.02
_FAR_FEWER = 0.5
_MOST_LOSS = 0.02

_SETUP = """\
- **Problems.** MNIST: S = 5,000 random test images; T = all 5,421 fives of the training set and
  random images of the other digits, 542,100 / θ rows in total (θ = 10: all digits equally often;
  θ = 100: only fives). CIFAR-10: S = all 10,000 test images, T = all 50,000 training images, grey
  (ITU-R 601 luma), as the principal components of T that explain 95 % of its variance: 160 here,
  161 in the paper, which does not say how it converted colours to grey. Euclidean distances, r = 1,
  equal weights. Each run draws a new S and T (CIFAR-10: only the random numbers of the methods
  change); all methods of a run use the same rows.
- **Objective.** f = 1 − cost / C, where cost is the mean distance of all of T to its nearest
  prototype and C the largest distance between S and T, the same for all methods of a run. The cost
  is computed over all of T, independently of what a method reports. Loss is
  (f_greedy − f) / f_greedy; normalised loss is (f_greedy − f) / (f_greedy − f_random): 0 for exact
  greedy, 1 for random rows.
- **Accuracy.** Share of target rows that get the correct label (a) from the nearest prototype,
  (b) from the nearest barycentric image: the mean of the target rows of a prototype, with the label
  of the prototype.
- **SPOTgreedy, SPOT_M.** Exact greedy. Both have the same picks; SPOTgreedy is counted as
  (|S| − |M|)|T| per iteration, SPOT_M, which stores every distance, as |S||T| in total.
- **ProtoBandit.** `protobandit` with KL-LUCB, δ = 0.05, and given C, since the distances of the
  paper are in units of the largest. The paper uses an early stop that it does not specify. The runs
  on this page used one of ours, which has no guarantee. The present default has one and needs 0.87
  to 1.001 times the evaluations. Most of its pulls are the first batch of KL-LUCB, see
  [first-batch.md](first-batch.md).
- **lazybandit** `fast` and `balanced` (the default). *No swaps* is its build: greedy on the rows of
  its first rung. The library has no option for that, so the benchmark reduces its schedule to one
  rung without swaps, with the same seed. The constants of `lazybandit` and the size of KL-LUCB's
  first batch were chosen on MNIST; [how it works](../../how-it-works.md) tests the former on other
  data.
- **Uniform sample.** Greedy on one uniform sample of T, the same for all source rows, with as many
  rows as `lazybandit` `fast` could evaluate. Greedy is exact on the sample but lazy (`lazygreedy`):
  it evaluates again only source rows that may still be the best.
- **Random rows.** The baseline. They need no comparisons, so the panels of comparisons omit them.

**Two rules of counting.** *The paper's rule*: no distance is stored. A pull, one source row at one
target row, costs |M| + 1 comparisons: one with the source row, and |M| to find the nearest
prototype. SPOTgreedy stores these nearest distances, as the paper's Algorithm 1 does, and pays one.
*Our rule*: dissimilarities computed. The distance of a target row to its nearest prototype is
computed once for all source rows that read it, and stored. SPOTgreedy stores nothing by definition
and costs the same by both rules; compare methods that store distances with SPOT_M. `lazybandit`
relies on stored distances. By the paper's rule each distance that it reads again is counted again
(|M| + 1 during the build, k + 1 during the swaps); this count is given only for completeness, since
in practice the distances are stored. The uniform sample and the build of `lazybandit` (counted as
lazy greedy on the same rows, which has the same picks) pay |M| + 1 at each row of their sample for
each of the few evaluations of lazy greedy, whereas SPOTgreedy pays one for each source row at each
target row in each iteration. By the paper's rule these two are not counted alike, and their ratio
means little; by our rule, compare them with SPOT_M. Neither rule counts the
evaluations that measure the cost of a result."""


class NoCompleteRun(Exception):
    """A folder contains no complete run; the message says what to do."""


def write_report(out: Path) -> list[Path]:
    """Write the summaries, figures and README.md of all grids in a folder; return the files."""
    grids = (results(grid, read_cells(out / f"{name}.csv")) for name, grid in GRIDS.items())
    found = [each for each in grids if each is not None]
    if not found:
        raise NoCompleteRun(
            f"{out} contains no table with a complete run. Run `python -m benchmarks.paper mnist "
            f"--data DIR --out {out}` until its first run is done."
        )
    written: list[Path] = []
    for each in found:
        summary = out / f"{each.grid.name}-summary.csv"
        write_text(summary, tidy(each))
        written += [summary, *draw_figures(each, out)]
    text = out / "README.md"
    write_text(text, page(found, sessions.read(out / sessions.FILE)))
    return [*written, text]


def page(found: Sequence[Results], held: dict[str, list[Session]]) -> str:
    """Return the page of some grids as Markdown."""
    parts = [
        "# The figures of the paper, recomputed",
        "Written by `python -m benchmarks.paper summary --out DIR` from the tables in this folder. "
        "Every number is a mean over the runs, unless it is called the worst of them.",
        *(_sessions(each, held.get(each.grid.name, [])) for each in found),
        "## Setup",
        _SETUP,
        "## Claims of the paper and results",
        *_claims(found),
        "## Alternatives to ProtoBandit",
        *(_alternatives(each) for each in found),
        *(part for each in found for part in _tables(each)),
        "## Figures",
        *(_pictures(each) for each in found),
    ]
    return "\n\n".join(parts) + "\n"


def _sessions(found: Results, held: Sequence[Session]) -> str:
    runs = f"{len(found.runs)} complete run{'s' if len(found.runs) > 1 else ''}"
    lines = [f"**{found.grid.title}**: {runs}."]
    lines += [f"- Run on {session}. Machine: {session.machine}." for session in held]
    return "\n".join(lines)


# -- claims ----------------------------------------------------------------------------------------


def _claims(found: Sequence[Results]) -> list[str]:
    rows = [row for each in found for row in _claims_on(each)]
    header = ["claim", "by the paper's rule", "by our rule (shared rows)", "verdict"]
    note = (
        f"A verdict counts settings, each by its mean over the runs. The paper gives no number for "
        f'two terms: here "far fewer" than SPOT_M means less than {_FAR_FEWER:g} times as many, '
        f'and "very close" means that the accuracy is lower by at most {100 * _CLOSE:g} points.'
    )
    return [table(header, rows), note, *(_same_rule(each) for each in found)]


def _claims_on(found: Results) -> Iterable[list[str]]:
    """Yield the claims of the paper about ProtoBandit on a data set, each with its results."""
    grid = found.grid
    first = grid.skews[0]
    on = grid.title + (f", θ = {first}, ε = {grid.epsilons[0]:g}" if len(grid.skews) > 1 else "")
    central = _bandits(found, [first], grid.epsilons[:1])
    yield _counted(
        found, f"{on}: as little as 1/100 of the comparisons of SPOTgreedy", central, 100
    )
    yield _against_memory(found, f"{on}: far fewer comparisons than SPOT_M", central, _FAR_FEWER)
    yield _lost(found, f"{on}: f drops by at most 2 %", central)
    yield _accurate(found, f"{on}: accuracy very close to that of SPOTgreedy", central)
    if len(grid.skews) > 1:
        rest = _bandits(found, grid.skews, grid.epsilons)
        every = f"{grid.title}, every θ, k, ε, ν₀"
        yield _counted(found, f"{every}: 100 to 1000 times fewer than SPOTgreedy", rest, 100)
        yield _against_memory(found, f"{every}: fewer comparisons than SPOT_M", rest, 1)
        yield _lost(found, f"{every}: f drops by at most 2 %", rest)
        yield _accurate(found, f"{every}: accuracy very close to that of SPOTgreedy", rest)


def _bandits(found: Results, skews: Iterable[int], epsilons: Iterable[float]) -> list[Setting]:
    grid = found.grid
    settings = product(skews, grid.ks, ["protobandit"], epsilons, grid.nu_steps)
    return [Setting(*setting) for setting in settings]


def _counted(found: Results, claim: str, settings: list[Setting], least: float) -> list[str]:
    by_rule = {
        rule: [found.fewer(rule, *setting) for setting in settings]
        for rule in ("comparisons", "evaluations")
    }
    shown = [f"1/{min(v):,.0f} to 1/{max(v):,.0f}" for v in by_rule.values()]
    verdicts = [_verdict(v, lambda x: x >= least) for v in by_rule.values()]
    return [claim, *shown, f"paper's rule: {verdicts[0]}; ours: {verdicts[1]}"]


def _against_memory(found: Results, claim: str, settings: list[Setting], below: float) -> list[str]:
    def shares(rule: str) -> list[float]:
        return [found.mean(rule, *s) / found.mean(rule, s.skew, s.k, "spot_m") for s in settings]

    by_rule = [shares("comparisons"), shares("evaluations")]
    shown = [f"{_decimals(min(v))} to {_decimals(max(v))} times SPOT_M" for v in by_rule]
    verdicts = [_verdict(v, lambda x: x < below) for v in by_rule]
    return [claim, *shown, f"paper's rule: {verdicts[0]}; ours: {verdicts[1]}"]


def _lost(found: Results, claim: str, settings: list[Setting]) -> list[str]:
    losses = [found.mean("loss", *s) for s in settings]
    worst = [found.spreads[s]["loss"].high for s in settings]
    shares = [found.mean("normalised_loss", *s) for s in settings]
    random = [found.mean("loss", s.skew, s.k, "random") for s in settings]
    shown = (
        f"loss {min(losses):.2%} to {max(losses):.2%} (worst run {max(worst):.2%}); random rows "
        f"lose {min(random):.1%} to {max(random):.1%}, so the normalised loss is "
        f"{min(shares):.2f} to {max(shares):.2f}"
    )
    always = f"in every run: {sum(x <= _MOST_LOSS for x in worst)} of {len(worst)}"
    return [claim, shown, "the same", f"{_verdict(losses, lambda x: x <= _MOST_LOSS)}; {always}"]


def _accurate(found: Results, claim: str, settings: list[Setting]) -> list[str]:
    shown, verdicts = [], []
    for name in ("nearest", "barycentric"):
        values = [
            found.mean(f"accuracy_{name}", *s)
            - found.mean(f"accuracy_{name}", s.skew, s.k, "spotgreedy")
            for s in settings
        ]
        shown.append(f"{name}: {100 * min(values):+.1f} to {100 * max(values):+.1f} points")
        verdicts.append(f"{name}: {_verdict(values, lambda x: x >= -_CLOSE)}")
    return [claim, "; ".join(shown), "the same", "; ".join(verdicts)]


def _verdict(values: Sequence[float], holds: Callable[[float], bool]) -> str:
    n = sum(map(holds, values))
    word = "agrees" if n == len(values) else "does not agree" if n == 0 else "agrees in part"
    return f"**{word}** ({n} of {len(values)} settings)"


def _same_rule(found: Results) -> str:
    """Return the ratio that follows if SPOTgreedy is counted like ProtoBandit."""
    grid = found.grid
    skew, k = grid.skews[0], grid.ks[0]
    setting = Setting(skew, k, "protobandit", grid.epsilons[0], grid.nu_steps[0])
    n_source, n_target = found.n_source, found.n_target[skew]
    alike = sum((n_source - size) * (size + 1) for size in range(k)) * n_target
    ours = found.mean("comparisons", *setting)
    stored = spotgreedy_comparisons(n_source, n_target, k)
    return (
        f"{grid.title}, k = {k}, ε = {setting.epsilon:g}, ν₀ = {setting.nu_step:g}: the paper's "
        f"rule counts the search for the nearest prototype at every pull of ProtoBandit and never "
        f"for SPOTgreedy: {scientific(ours)} against {scientific(stored)} comparisons. If each "
        f"pull of SPOTgreedy also cost |M| + 1, it would need {scientific(alike)}, "
        f"{alike / ours:,.0f} times as many as ProtoBandit."
    )


def _alternatives(found: Results) -> str:
    """Compare ProtoBandit, at the first epsilon and nu, with other methods."""
    grid = found.grid
    skew = grid.skews[0]
    bandit = ("protobandit", grid.epsilons[0], grid.nu_steps[0])
    named = {
        f"ProtoBandit, ε = {bandit[1]:g}, ν₀ = {bandit[2]:g}": bandit,
        "uniform sample, greedy": ("uniform",),
        "lazybandit fast": ("lazybandit-fast",),
        "lazybandit balanced": ("lazybandit-balanced",),
    }
    rows = []
    for k in grid.ks:
        for name, method in named.items():
            counted = found.mean("evaluations", skew, k, *method)
            stored = found.mean("evaluations", skew, k, "spot_m")
            rows.append(
                [
                    *(str(k), name, scientific(counted), f"1/{stored / counted:,.0f}"),
                    f"{counted / found.mean('evaluations', skew, k, *bandit):.2f} ×",
                    f"{found.mean('loss', skew, k, *method):.2%}",
                    f"{found.mean('normalised_loss', skew, k, *method):.2f}",
                ]
            )
    header = ["k", "method", "ours", "of SPOT_M", "of ProtoBandit", "loss", "normalised"]
    place = f"{grid.title}{_where(found, skew)}"
    return f"{place}:\n\n{table(header, rows)}\n\n{_all_settings(found)}"


def _all_settings(found: Results) -> str:
    """Compare ProtoBandit with others in all settings, and lazybandit with and without swaps."""
    grid = found.grid
    bandits = _bandits(found, grid.skews, grid.epsilons)

    def both(setting: Setting) -> tuple[float, float]:
        return found.mean("evaluations", *setting), found.mean("loss", *setting)

    def wins(other: str) -> str:
        """Return how often a method needs no more and loses no more, and the reverse."""
        pairs = [(both(Setting(s.skew, s.k, other)), both(s)) for s in bandits]
        n_wins = sum(a <= c and b <= d for (a, b), (c, d) in pairs)
        n_losses = sum(a >= c and b >= d for (a, b), (c, d) in pairs)
        return f"in {n_wins} (the reverse in {n_losses})"

    swaps = [
        (
            found.mean("normalised_loss", skew, k, f"lazybandit-{effort}-build"),
            found.mean("normalised_loss", skew, k, f"lazybandit-{effort}"),
        )
        for skew, k, effort in product(grid.skews, grid.ks, ("fast", "balanced"))
    ]
    before, after = zip(*swaps, strict=True)
    return (
        f"Of all {len(bandits)} settings of ProtoBandit, the uniform sample needs no more "
        f"evaluations and loses no more {wins('uniform')}, `lazybandit` `fast` "
        f"{wins('lazybandit-fast')}. Swaps reduce the normalised loss of `lazybandit` from "
        f"{min(before):.2f} to {max(before):.2f} without them to {min(after):.2f} to "
        f"{max(after):.2f}; a negative loss is better than exact greedy."
    )


# -- tables ----------------------------------------------------------------------------------------


def _tables(found: Results) -> list[str]:
    return [
        f"## {found.grid.title}: ProtoBandit against SPOTgreedy",
        _bandit_table(found),
        f"## {found.grid.title}: all methods{_where(found, found.grid.skews[0])}",
        _method_table(found, found.grid.skews[0]),
        "± is the standard deviation over the runs.",
    ]


def _where(found: Results, skew: int) -> str:
    return f", θ = {skew}" if len(found.grid.skews) > 1 else ""


def _bandit_table(found: Results) -> str:
    header = [
        *(["θ"] if len(found.grid.skews) > 1 else []),
        *("k", "ε", "ν₀", "paper's rule", "of SPOTgreedy", "of SPOT_M"),
        *("ours", "of SPOTgreedy", "loss", "random rows", "normalised", "nearest", "barycentric"),
    ]
    rows = []
    for s in _bandits(found, found.grid.skews, found.grid.epsilons):
        exact = Setting(s.skew, s.k, "spotgreedy")
        kept = found.mean("comparisons", s.skew, s.k, "spot_m")
        gaps = [
            100 * (found.mean(name, *s) - found.mean(name, *exact))
            for name in ("accuracy_nearest", "accuracy_barycentric")
        ]
        rows.append(
            [
                *([str(s.skew)] if len(found.grid.skews) > 1 else []),
                *(str(s.k), f"{s.epsilon:g}", f"{s.nu_step:g}"),
                scientific(found.mean("comparisons", *s)),
                f"1/{found.fewer('comparisons', *s):,.0f}",
                f"{found.mean('comparisons', *s) / kept:.2f} ×",
                scientific(found.mean("evaluations", *s)),
                f"1/{found.fewer('evaluations', *s):,.0f}",
                f"{found.mean('loss', *s):.2%}",
                f"{found.mean('loss', s.skew, s.k, 'random'):.2%}",
                f"{found.mean('normalised_loss', *s):.2f}",
                *(f"{gap:+.1f}" for gap in gaps),
            ]
        )
    note = (
        "Accuracy (nearest prototype, barycentric mapping) is in percentage points above that of "
        "SPOTgreedy."
    )
    return f"{table(header, rows)}\n\n{note}"


def _method_table(found: Results, skew: int) -> str:
    header = [
        *("k", "method", "paper's rule", "ours", "of SPOTgreedy", "f", "loss"),
        *("normalised", "nearest", "barycentric"),
    ]
    rows = []
    for k in found.grid.ks:
        for s in (s for s in found.spreads if (s.skew, s.k) == (skew, k)):
            rows.append(
                [
                    str(k),
                    _name(s),
                    scientific(found.mean("comparisons", *s)),
                    scientific(found.mean("evaluations", *s)),
                    "0" if s.method == "random" else f"1/{found.fewer('evaluations', *s):,.0f}",
                    _spread(found, s, "f", 1, 4),
                    f"{_spread(found, s, 'loss', 100, 2)} %",
                    _spread(found, s, "normalised_loss", 1, 2),
                    f"{_spread(found, s, 'accuracy_nearest', 100, 1)} %",
                    f"{_spread(found, s, 'accuracy_barycentric', 100, 1)} %",
                ]
            )
    return table(header, rows)


def _name(setting: Setting) -> str:
    text = METHODS[setting.method].text
    if setting.method != "protobandit":
        return text
    return f"{text}, ε = {setting.epsilon:g}, ν₀ = {setting.nu_step:g}"


def _spread(found: Results, setting: Setting, measure: str, unit: float, digits: int) -> str:
    spread = found.spreads[setting][measure]
    text = f"{unit * spread.mean + 0.0:.{digits}f}"
    is_spread = not math.isnan(spread.sd) and round(unit * spread.sd, digits) > 0
    return f"{text} ± {unit * spread.sd:.{digits}f}" if is_spread else text


def _pictures(found: Results) -> str:
    names = [
        figure_name(found, skew, epsilon)
        for skew, epsilon in product(found.grid.skews, found.grid.epsilons)
    ]
    names += [f"{found.grid.name}-ratios"] if len(found.grid.skews) > 1 else []
    return "\n\n".join(f"![{name}]({name}.svg)" for name in names)


def _decimals(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:.0f}"
