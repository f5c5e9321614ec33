"""The summary in words and tables: what the paper claims, and what the cells say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product

from benchmarks.paper._counting import spotgreedy_comparisons
from benchmarks.paper._figures import figure_name
from benchmarks.paper._grid import METHODS, Setting
from benchmarks.paper._sessions import Session, told
from benchmarks.paper._statistics import Results

_CLOSE = 0.02
_FAR_FEWER = 0.5
_MOST_LOSS = 0.02

_HOW = """\
- **Problems.** MNIST: S = 5,000 random test images; T = all 5,421 fives of the train set and
  random images of the other digits, 542,100 / θ rows in all (θ = 10: every digit as often; θ = 100:
  fives only). CIFAR-10: S = all 10,000 test images, T = all 50,000 train images, grey (ITU-R 601
  luma), as the principal components of T that hold 95 % of its variance: 160 here, where the paper
  has 161; it does not say how it turned colours into grey. Euclidean distances, r = 1, every target
  row alike. A run draws S and T anew (CIFAR-10: only the methods' own chance); all methods of a run
  meet the same rows.
- **Objective.** f = 1 − cost / C, with cost the mean distance of all of T to its nearest prototype
  and C the largest distance between S and T, the same for all methods of a run; computed by one
  referee over all of T, whatever a method says of itself. Loss is (f_greedy − f) / f_greedy;
  normalised loss is (f_greedy − f) / (f_greedy − f_random): 0 is exact greedy, 1 is random rows.
- **Accuracy.** Share of target rows that get their own label (a) from the nearest prototype,
  (b) from the nearest barycentric image, the mean of the target rows that a prototype stands for,
  which carries the prototype's label.
- **SPOTgreedy, SPOT_M.** Exact greedy; the same picks, counted as (|S| − |M|)|T| at each iteration,
  or |S||T| in all where every distance is kept.
- **ProtoBandit.** `protobandit` with KL-LUCB and its early stop (the default; the paper uses an
  early stop too but does not specify it, so this one is ours), δ = 0.05, and C given, as the
  paper's distances are in units of the largest.
- **lazybandit** `fast` and `balanced` (the default). *No swaps* is its build, greedy on the rows of
  its first rung: the library has no option for that, so its plan is cut to one rung and no swaps,
  from the same seed.
- **Uniform sample.** One uniform sample of T, the same for all source rows, and greedy on it; as
  many rows as make it compute what `lazybandit` `fast` did. Greedy is exact there but lazy
  (`lazygreedy`): it looks again only at source rows that may still be the best.
- **Random rows.** What any method must beat; free of charge, so not in the panels of comparisons.

**Two rules of counting.** *The paper's*: no distance is kept; a pull, one source row at one target
row, costs |M| + 1 comparisons, one of them with the source row and |M| to find the nearest
prototype. SPOTgreedy holds those nearest distances, as the paper's Algorithm 1 does, and pays one.
*Ours*: dissimilarities computed; a target row's distance to its prototypes is found once for all
source rows that meet it, and kept. SPOTgreedy keeps nothing by definition and costs the same by
both; whoever keeps distances should be measured against SPOT_M. `lazybandit` is made of kept
distances; by the paper's rule each one it reads again is charged anew (|M| + 1 while building,
k + 1 while swapping), which nobody would run and which is shown for the sake of the rule only. The
uniform sample and the build of `lazybandit` (charged as lazy greedy on the same rows, which picks
the same) pay |M| + 1 at each row of their sample for each of the few looks of lazy greedy, where
SPOTgreedy pays one for each source row at each target row at each iteration: by the paper's rule
the two are not charged alike and their ratio means little; by ours, set them against SPOT_M."""


def summary(found: Sequence[Results], sessions: dict[str, list[Session]]) -> str:
    """Return the summary of some grids as markdown."""
    parts = [
        "# The paper's figures, computed anew",
        "Written by `python -m benchmarks.paper summary --out DIR` from the tables beside it; "
        "every number is a mean over the runs, unless it is called the worst of them.",
        *(_sessions(each, sessions.get(each.grid.name, [])) for each in found),
        "## How",
        _HOW,
        "## What the paper claims, and what we find",
        *_claims(found),
        "## Beside the paper",
        *(_beside(each) for each in found),
        *(part for each in found for part in _tables(each)),
        "## Figures",
        *(_pictures(each) for each in found),
    ]
    return "\n\n".join(parts) + "\n"


def _sessions(found: Results, sessions: Sequence[Session]) -> str:
    whole = f"{len(found.runs)} whole run{'s' if len(found.runs) > 1 else ''}"
    head = f"**{found.grid.title}**: {whole}"
    if len(sessions) < 2:
        return ", ".join([head, *map(told, sessions)]) + "."
    lines = [f"{head}, in {len(sessions)} sessions:\n", *(f"- {told(each)}" for each in sessions)]
    return "\n".join(lines)


# -- claims ----------------------------------------------------------------------------------------


def _claims(found: Sequence[Results]) -> list[str]:
    rows = [row for each in found for row in _claims_on(each)]
    table = _table(["claim", "by the paper's rule", "by ours (shared rows)", "verdict"], rows)
    words = (
        f"A verdict counts settings, each by its mean over the runs. Two words of the paper have "
        f'no number there: "far fewer" than SPOT_M is taken to be less than {_FAR_FEWER:g} times '
        f'as many, an accuracy "very close" if it falls by no more than {100 * _CLOSE:g} points.'
    )
    return [table, words, *(_note(each) for each in found)]


def _claims_on(found: Results) -> Iterable[list[str]]:
    """Yield the paper's claims about ProtoBandit on a data set, each with what we find."""
    grid = found.grid
    first = grid.skews[0]
    on = grid.title + (f", θ = {first}, ε = {grid.epsilons[0]:g}" if len(grid.skews) > 1 else "")
    central = _bandits(found, [first], grid.epsilons[:1])
    yield _counted(found, f"{on}: as little as 1/100 of SPOTgreedy's comparisons", central, 100)
    yield _against_memory(found, f"{on}: far fewer comparisons than SPOT_M", central, _FAR_FEWER)
    yield _lost(found, f"{on}: f drops by at most 2 %", central)
    yield _accurate(found, f"{on}: accuracy very close to SPOTgreedy's", central)
    if len(grid.skews) > 1:
        rest = _bandits(found, grid.skews, grid.epsilons)
        every = f"{grid.title}, every θ, k, ε, ν₀"
        yield _counted(found, f"{every}: 100 to 1000 times fewer than SPOTgreedy", rest, 100)
        yield _against_memory(found, f"{every}: fewer comparisons than SPOT_M", rest, 1)
        yield _lost(found, f"{every}: f drops by at most 2 %", rest)
        yield _accurate(found, f"{every}: accuracy very close to SPOTgreedy's", rest)


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
    shown = [f"{_plain(min(v))} to {_plain(max(v))} times SPOT_M's" for v in by_rule]
    verdicts = [_verdict(v, lambda x: x < below) for v in by_rule]
    return [claim, *shown, f"paper's rule: {verdicts[0]}; ours: {verdicts[1]}"]


def _lost(found: Results, claim: str, settings: list[Setting]) -> list[str]:
    losses = [found.mean("loss", *s) for s in settings]
    worst = [found.spreads[s]["loss"].high for s in settings]
    shares = [found.mean("normalised_loss", *s) for s in settings]
    random = [found.mean("loss", s.skew, s.k, "random") for s in settings]
    shown = (
        f"loss {min(losses):.2%} to {max(losses):.2%} (worst run {max(worst):.2%}), where random "
        f"rows lose {min(random):.1%} to {max(random):.1%}: normalised loss {min(shares):.2f} to "
        f"{max(shares):.2f}"
    )
    always = f"in every single run: {sum(x <= _MOST_LOSS for x in worst)} of {len(worst)}"
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


def _note(found: Results) -> str:
    """Say what the paper's ratio would be if both sides were charged alike."""
    grid = found.grid
    skew, k = grid.skews[0], grid.ks[0]
    setting = Setting(skew, k, "protobandit", grid.epsilons[0], grid.nu_steps[0])
    n_source, n_target = found.n_source, found.n_target[skew]
    alike = sum((n_source - size) * (size + 1) for size in range(k)) * n_target
    ours = found.mean("comparisons", *setting)
    held = spotgreedy_comparisons(n_source, n_target, k)
    return (
        f"{grid.title}, k = {k}, ε = {setting.epsilon:g}, ν₀ = {setting.nu_step:g}: the paper's "
        f"rule charges ProtoBandit for the nearest prototype at every pull and SPOTgreedy never, "
        f"{_sci(ours)} against {_sci(held)}; were SPOTgreedy charged |M| + 1 a pull too, it would "
        f"take {_sci(alike)}, {alike / ours:,.0f} times as many."
    )


def _beside(found: Results) -> str:
    """Compare ProtoBandit, at the first epsilon and nu, with what stands beside it."""
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
            kept = found.mean("evaluations", skew, k, "spot_m")
            rows.append(
                [
                    *(str(k), name, _sci(counted), f"1/{kept / counted:,.0f}"),
                    f"{counted / found.mean('evaluations', skew, k, *bandit):.2f} ×",
                    f"{found.mean('loss', skew, k, *method):.2%}",
                    f"{found.mean('normalised_loss', skew, k, *method):.2f}",
                ]
            )
    header = ["k", "method", "ours", "of SPOT_M", "of ProtoBandit", "loss", "normalised"]
    return f"{grid.title}{_where(found, skew)}:\n\n{_table(header, rows)}\n\n{_found_beside(found)}"


def _found_beside(found: Results) -> str:
    """Say, over all problems, whether the bandit is worth its while, and what swaps bring."""
    grid = found.grid
    bandits = _bandits(found, grid.skews, grid.epsilons)

    def both(setting: Setting) -> tuple[float, float]:
        return found.mean("evaluations", *setting), found.mean("loss", *setting)

    def beaten(rival: str) -> str:
        """Return how often a rival takes no more and loses no more, and the other way round."""
        pairs = [(both(Setting(s.skew, s.k, rival)), both(s)) for s in bandits]
        wins = sum(a <= c and b <= d for (a, b), (c, d) in pairs)
        losses = sum(a >= c and b >= d for (a, b), (c, d) in pairs)
        return f"in {wins} (in {losses} it is the other way round)"

    swaps = [
        (
            found.mean("normalised_loss", skew, k, f"lazybandit-{effort}-build"),
            found.mean("normalised_loss", skew, k, f"lazybandit-{effort}"),
        )
        for skew, k, effort in product(grid.skews, grid.ks, ("fast", "balanced"))
    ]
    before, after = zip(*swaps, strict=True)
    return (
        f"Of all {len(bandits)} settings of ProtoBandit, the uniform sample takes no more "
        f"evaluations and loses no more {beaten('uniform')}, `lazybandit` `fast` "
        f"{beaten('lazybandit-fast')}. Swaps bring the normalised loss of `lazybandit` from "
        f"{min(before):.2f} to {max(before):.2f} down to {min(after):.2f} to {max(after):.2f}; "
        f"below 0 is better than exact greedy."
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
        *("ours", "of SPOTgreedy", "loss", "random's", "normalised", "nearest", "barycentric"),
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
                _sci(found.mean("comparisons", *s)),
                f"1/{found.fewer('comparisons', *s):,.0f}",
                f"{found.mean('comparisons', *s) / kept:.2f} ×",
                _sci(found.mean("evaluations", *s)),
                f"1/{found.fewer('evaluations', *s):,.0f}",
                f"{found.mean('loss', *s):.2%}",
                f"{found.mean('loss', s.skew, s.k, 'random'):.2%}",
                f"{found.mean('normalised_loss', *s):.2f}",
                *(f"{gap:+.1f}" for gap in gaps),
            ]
        )
    note = "Accuracy (nearest prototype, barycentric mapping) in points above SPOTgreedy's."
    return f"{_table(header, rows)}\n\n{note}"


def _method_table(found: Results, skew: int) -> str:
    header = [
        *("k", "method", "paper's rule", "ours", "of SPOTgreedy", "f", "loss"),
        *("normalised", "nearest", "barycentric"),
    ]
    rows = []
    for k in found.grid.ks:
        for s in (s for s in found.spreads if (s.skew, s.k) == (skew, k)):
            free = s.method == "random"
            rows.append(
                [
                    str(k),
                    _name(s),
                    "0" if free else _sci(found.mean("comparisons", *s)),
                    "0" if free else _sci(found.mean("evaluations", *s)),
                    "0" if free else f"1/{found.fewer('evaluations', *s):,.0f}",
                    _spread(found, s, "f", 1, 4),
                    f"{_spread(found, s, 'loss', 100, 2)} %",
                    _spread(found, s, "normalised_loss", 1, 2),
                    f"{_spread(found, s, 'accuracy_nearest', 100, 1)} %",
                    f"{_spread(found, s, 'accuracy_barycentric', 100, 1)} %",
                ]
            )
    return _table(header, rows)


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


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def _sci(number: float) -> str:
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _plain(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:.0f}"
