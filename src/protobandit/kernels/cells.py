"""Local search over cells: lists of near prototypes, and moves judged and made on these lists.

Notation
--------
A *slot* is the number of a prototype, 0 to k - 1. Every judged row j has a list of a few slots,
``slots[j]``, with its distances to their prototypes, ``gaps[j]``, ascending; an empty place is slot
-1 at an infinite distance. The first entry is the prototype that serves the row: its rows are the
*cell* of the slot. Between passes the distances in a list are those of the current prototypes, so a
sum of ``gaps[:, 0]`` is never less than the cost. ``served`` and ``second`` are the first two slots
of lists, at the distances ``D`` and ``E``; these two are up to date within a pass too.

``starts`` and ``rows`` group rows by slot: ``rows[starts[c] : starts[c + 1]]`` are the rows that
have slot c in their list, those of its cell first; ``n_own[c]`` is the number of these. Both parts
are ascending.

*Patches* are many small blocks of distances. Patch p has the rows ``rows[first[p] : last[p]]`` and
some candidates; its distances are ``values[at[p] :]``, one line per row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.kernels.jit import kernel

Slots = NDArray[np.int32]

_AT_ONCE = 8  # slots of one run, whose least distance is found first
_COUNTED = 256  # rows of a cell whose slots are counted, at most
_INSERTED = 128  # rows into whose lists candidates are inserted at the same time
_SUMMED = 64  # rows whose sums are computed in the precision of the distances


def insert_block_reference(block: Floats, slots: Slots, gaps: Floats) -> None:
    """Make lists of the nearest slots; ``block[h, j]`` is the distance of row j to slot h."""
    n = slots.shape[1]
    order = np.argsort(block, axis=0, kind="stable")[:n]
    slots[:] = order.T
    gaps[:] = np.take_along_axis(block, order, axis=0).T


def _insert_block_scratch(block: Floats, slots: Slots, gaps: Floats) -> tuple[Floats, ...]:
    """Return the least distances of each run, the smallest of them so far, and one line."""
    n_runs, n_rows = -(-len(block) // _AT_ONCE), block.shape[1]
    shapes = (n_runs, n_rows), (slots.shape[1], n_rows)
    least, smallest = (np.full(shape, np.inf, block.dtype) for shape in shapes)
    return least, smallest, np.empty(n_rows, block.dtype)


@kernel(insert_block_reference, _insert_block_scratch)
def insert_block(block, slots, gaps, least, smallest, line):  # type: ignore[no-untyped-def]
    n, n_rows, k = slots.shape[1], block.shape[1], block.shape[0]
    for h in range(k):
        g = h // _AT_ONCE
        for j in range(n_rows):
            value = block[h, j]
            least[g, j] = value if value < least[g, j] else least[g, j]
    # The n-th smallest of the least distances of runs: no row of a list is farther. All rows are
    # compared at the same time and without branches, as SIMD requires.
    for g in range(len(least)):
        for j in range(n_rows):
            line[j] = least[g, j]
        for q in range(n):
            for j in range(n_rows):
                a, b = line[j], smallest[q, j]
                smallest[q, j] = a if a < b else b
                line[j] = b if a < b else a
    for j in range(n_rows):
        for q in range(n):
            slots[j, q] = -1
            gaps[j, q] = np.inf
    for g in range(len(least)):
        first = g * _AT_ONCE
        last = first + _AT_ONCE if first + _AT_ONCE < k else k
        for j in range(n_rows):
            limit = smallest[n - 1, j]
            if least[g, j] > limit:
                continue
            for h in range(first, last):
                value = block[h, j]
                if value <= limit and value < gaps[j, n - 1]:
                    q = n - 1
                    while q > 0 and gaps[j, q - 1] > value:
                        gaps[j, q] = gaps[j, q - 1]
                        slots[j, q] = slots[j, q - 1]
                        q -= 1
                    gaps[j, q] = value
                    slots[j, q] = h


def group_by_slot_reference(
    slots: Slots, first: int, ends: Ids, rows: Slots, is_placing: bool
) -> None:
    """Count the rows that have each slot, or write them to ``rows`` from ``ends`` on.

    ``ends[0]`` are for rows that have the slot first in their list, ``ends[1]`` for other rows.
    Both advance by one per row. The lists are those of the rows from ``first`` on.
    """
    for kind, some in enumerate((slots[:, :1], slots[:, 1:])):
        j, q = np.nonzero(some >= 0)
        for row, c in zip(j, some[j, q], strict=True):
            if is_placing:
                rows[ends[kind, c]] = first + row
            ends[kind, c] += 1


@kernel(group_by_slot_reference)
def group_by_slot(slots, first, ends, rows, is_placing):  # type: ignore[no-untyped-def]
    n, m = slots.shape
    for j in range(n):
        for q in range(m):
            c = slots[j, q]
            if c >= 0:
                kind = 0 if q == 0 else 1
                if is_placing:
                    rows[ends[kind, c]] = first + j
                ends[kind, c] += 1


def common_slots_reference(
    starts: Ids,
    rows: Slots,
    n_own: Ids,
    slots: Slots,
    first: int,
    counts: Slots,
    found: Slots,
    out: Slots,
) -> None:
    """Fill ``out[c]`` with its slot and those most frequent in the lists of its cell; then -1.

    The cells are those of the slots from ``first`` on. Of large cells, some rows are counted, at
    equal steps.

    ``counts`` and ``found`` are scratch space, with one number per slot; ``counts`` are zeros.
    """
    for c in range(len(n_own)):
        own = rows[starts[c] : starts[c] + n_own[c] : 1 + n_own[c] // _COUNTED]
        seen = slots[own].ravel()
        some, n = np.unique(seen[seen >= 0], return_counts=True)
        is_other = some != first + c
        order = np.lexsort((some[is_other], -n[is_other]))[: out.shape[1] - 1]
        out[c] = -1
        out[c, 0] = first + c
        out[c, 1 : 1 + len(order)] = some[is_other][order]


@kernel(common_slots_reference)
def common_slots(starts, rows, n_own, slots, first, counts, found, out):  # type: ignore[no-untyped-def]
    m, width = slots.shape[1], out.shape[1]
    for c in range(len(n_own)):
        n_found = 0
        for i in range(starts[c], starts[c] + n_own[c], 1 + n_own[c] // _COUNTED):
            for q in range(m):
                s = slots[rows[i], q]
                if s >= 0 and s != first + c:
                    if counts[s] == 0:
                        found[n_found] = s
                        n_found += 1
                    counts[s] += 1
        out[c, 0] = first + c
        n_out = 1
        for f in range(n_found):
            s = found[f]
            # The best so far are kept in order: more frequent first, then by number.
            q = n_out
            while q > 1 and (
                counts[out[c, q - 1]] < counts[s]
                or (counts[out[c, q - 1]] == counts[s] and out[c, q - 1] > s)
            ):
                if q < width:
                    out[c, q] = out[c, q - 1]
                q -= 1
            if q < width:
                out[c, q] = s
                n_out += n_out < width
        for f in range(n_found):
            counts[found[f]] = 0
        for q in range(n_out, width):
            out[c, q] = -1


def candidates_reference(
    starts: Ids,
    rows: Slots,
    n_own: Ids,
    gaps: Doubles,
    worth: Doubles,
    is_open: Any,
    shares: Doubles,
    is_drawn: Any,
    out: Slots,
) -> None:
    """Fill ``out[c]`` with rows of cell c that may become prototypes, then -1.

    If there is room for all open rows, these are all. Otherwise they are the nearest to the
    prototype, by ``gaps``, and one drawn row per number of ``shares[c]``, ascending in [0, 1): the
    row at this share of the summed ``worth`` of the cell. A row that is already there is left out.
    ``is_drawn`` is scratch space, one False per row.
    """
    width, n_drawn = out.shape[1], shares.shape[1]
    for c in range(len(n_own)):
        own = rows[starts[c] : starts[c] + n_own[c]]
        own = own[is_open[own]]
        out[c] = -1
        if len(own) <= width:
            out[c, : len(own)] = own
            continue
        total = np.cumsum(worth[own])
        at = np.searchsorted(total, shares[c] * total[-1], side="right")
        some, place = np.unique(own[np.minimum(at, len(own) - 1)], return_index=True)
        drawn = some[np.argsort(place)]
        near = own[np.argsort(gaps[own], kind="stable")]
        near = near[~np.isin(near, drawn)][: width - n_drawn]
        out[c, : len(near)] = near
        out[c, len(near) : len(near) + len(drawn)] = drawn


def _candidates_scratch(*arrays: Any) -> tuple[Ids]:
    """Return room for the drawn rows of a cell; the last three arrays are shares, is_drawn, out."""
    return (np.empty(arrays[-3].shape[1], np.int64),)


@kernel(candidates_reference, _candidates_scratch)
def candidates(  # type: ignore[no-untyped-def]
    starts, rows, n_own, gaps, worth, is_open, shares, is_drawn, out, drawn
):
    width, n_drawn = out.shape[1], shares.shape[1]
    n_near = width - n_drawn
    for c in range(len(n_own)):
        begin, end = starts[c], starts[c] + n_own[c]
        n_open, total = 0, 0.0
        for i in range(begin, end):
            if is_open[rows[i]]:
                n_open += 1
                total += worth[rows[i]]
        for q in range(width):
            out[c, q] = -1
        if n_open <= width:
            n = 0
            for i in range(begin, end):
                if is_open[rows[i]]:
                    out[c, n] = rows[i]
                    n += 1
            continue
        n_found, at, so_far, last = 0, 0, 0.0, -1
        for i in range(begin, end):
            j = rows[i]
            if is_open[j]:
                so_far += worth[j]
                last = j
                while at < n_drawn and shares[c, at] * total < so_far:
                    if not is_drawn[j]:
                        is_drawn[j] = True
                        drawn[n_found] = j
                        n_found += 1
                    at += 1
        if at < n_drawn and not is_drawn[last]:
            is_drawn[last] = True
            drawn[n_found] = last
            n_found += 1
        n = 0
        for i in range(begin, end):
            j = rows[i]
            if is_open[j] and not is_drawn[j] and (n < n_near or gaps[j] < gaps[out[c, n - 1]]):
                q = n if n < n_near else n_near - 1
                while q > 0 and gaps[out[c, q - 1]] > gaps[j]:
                    out[c, q] = out[c, q - 1]
                    q -= 1
                out[c, q] = j
                n += n < n_near
        for f in range(n_found):
            out[c, n + f] = drawn[f]
            is_drawn[drawn[f]] = False


def screen_reference(
    cells: Ids,
    starts: Ids,
    rows: Slots,
    D: Floats,
    weights: Doubles,
    most: int,
    shares: Doubles,
    at: Ids,
    ends: Ids,
    out: Slots,
    factors: Floats,
) -> None:
    """Draw at most ``most`` of the rows of each cell, and the weights that estimate sums over all.

    A row of weight w and distance D is drawn in proportion to 1/n + w D / sum(w D): half of the
    draws are uniform, and rows that cost much are not missed. The draws of cell ``cells[c]`` are
    equally spaced in the cumulated probabilities, from the share ``shares[c]`` of a step on. Rows
    and weights are written to ``out`` and ``factors`` from ``at[c]`` on; ``ends[c]`` becomes their
    end. All rows of a cell that has no more than ``most`` are kept.
    """
    for c, cell in enumerate(cells):
        own = rows[starts[cell] : starts[cell + 1]]
        n = len(own)
        if n <= most:
            times, chance = np.ones(n), np.ones(n)
        else:
            worth = weights[own] * D[own].astype(np.float64)
            total = worth.sum()
            chance = most * (0.5 / n + 0.5 * worth / total if total > 0 else np.full(n, 1 / n))
            ends_of = np.cumsum(chance)
            # The number of draws before each row, the first of which is at shares[c].
            passed = np.clip(np.ceil(ends_of - shares[c]), 0, most)
            times = np.diff(passed, prepend=0)
        kept = np.flatnonzero(times)
        ends[c] = at[c] + len(kept)
        out[at[c] : ends[c]] = own[kept]
        factors[at[c] : ends[c]] = (weights[own] * times / chance)[kept]


@kernel(screen_reference)
def screen(cells, starts, rows, D, weights, most, shares, at, ends, out, factors):  # type: ignore[no-untyped-def]
    for c in range(len(cells)):
        first, last = starts[cells[c]], starts[cells[c] + 1]
        n, end = last - first, at[c]
        if n <= most:
            for i in range(first, last):
                out[end] = rows[i]
                factors[end] = weights[rows[i]]
                end += 1
            ends[c] = end
            continue
        total = 0.0
        for i in range(first, last):
            total += weights[rows[i]] * np.float64(D[rows[i]])
        even = 0.5 * most / n if total > 0 else most / n
        scale = 0.5 * most / total if total > 0 else 0.0
        passed, so_far = 0.0, 0.0
        for i in range(first, last):
            j = rows[i]
            chance = even + scale * (weights[j] * np.float64(D[j]))
            so_far += chance
            now = np.ceil(so_far - shares[c])
            now = now if now < most else np.float64(most)
            if now > passed:
                out[end] = j
                factors[end] = weights[j] * (now - passed) / chance
                end += 1
                passed = now
        ends[c] = end


def judge_reference(
    values: Floats,
    at: Ids,
    first: Ids,
    last: Ids,
    cells: Ids,
    rows: Slots,
    weights: Floats,
    served: Slots,
    D: Floats,
    E: Floats,
    n_candidates: Ids,
    changes: Doubles,
    gains: Doubles,
) -> None:
    """Judge every candidate of every patch on the rows of the patch, which have ``weights``.

    ``served`` are the slots that serve rows, ``D`` and ``E`` their distances to the nearest and to
    the second nearest prototype.

    ``changes`` are those of the summed cost if the candidate replaced the prototype of the cell
    ``cells[p]``, ``gains`` what it would save as an additional prototype. Patch p writes to the
    first ``n_candidates[p]`` places of row p.
    """
    for p, c in enumerate(cells):
        some, w = rows[first[p] : last[p]], weights[first[p] : last[p]].astype(np.float64)
        n = n_candidates[p]
        d = values[at[p] : at[p] + n * len(some)].reshape(len(some), n).astype(np.float64)
        near = D[some].astype(np.float64)
        limit = np.where(served[some] == c, E[some].astype(np.float64), near)
        changes[p, :n] = w @ (np.minimum(d, limit[:, None]) - near[:, None])
        gains[p, :n] = w @ np.maximum(near[:, None] - d, 0)


def _judge_scratch(values: Floats, *arrays: Any) -> tuple[Floats, Floats]:
    """Return room for the sums of some rows; the last arrays are changes and gains."""
    width = arrays[-1].shape[1]
    return np.empty(width, values.dtype), np.empty(width, values.dtype)


@kernel(judge_reference, _judge_scratch)
def judge(  # type: ignore[no-untyped-def]
    values,
    at,
    first,
    last,
    cells,
    rows,
    weights,
    served,
    D,
    E,
    n_candidates,
    changes,
    gains,
    change,
    gain,
):
    # `change` and `gain` are sums of a few rows in the precision of the distances, which SIMD
    # computes at full width.
    zero = D.dtype.type(0)
    for p in range(len(cells)):
        n = n_candidates[p]
        for h in range(n):
            changes[p, h] = 0.0
            gains[p, h] = 0.0
        for start in range(first[p], last[p], _SUMMED):
            for h in range(n):
                change[h] = zero
                gain[h] = zero
            stop = start + _SUMMED if start + _SUMMED < last[p] else last[p]
            for i in range(start, stop):
                j = rows[i]
                near = D[j]
                least = near - E[j] if served[j] == cells[p] else zero
                weight = weights[i]
                line = values[at[p] + (i - first[p]) * n : at[p] + (i + 1 - first[p]) * n]
                for h in range(n):
                    saved = near - line[h]
                    change[h] -= weight * (saved if saved > least else least)
                    gain[h] += weight * (saved if saved > zero else zero)
            for h in range(n):
                changes[p, h] += change[h]
                gains[p, h] += gain[h]


def insert_patches_reference(
    values: Floats,
    at: Ids,
    first: Ids,
    last: Ids,
    rows: Slots,
    candidate_slots: Slots,
    begin: Ids,
    end: Ids,
    slots: Slots,
    gaps: Floats,
) -> None:
    """Insert the candidates of every patch, which are slots, into the lists of its rows.

    A slot that a list has already is left as it is. A row is in one patch at most.
    """
    for p in range(len(at)):
        some = candidate_slots[begin[p] : end[p]]
        n = len(some)
        for i, j in enumerate(rows[first[p] : last[p]]):
            d = values[at[p] + i * n : at[p] + (i + 1) * n]
            is_new = ~np.isin(some, slots[j])
            every = np.concatenate([gaps[j], d[is_new]])
            which = np.concatenate([slots[j], some[is_new]])
            order = np.argsort(every, kind="stable")[: slots.shape[1]]
            slots[j], gaps[j] = which[order], every[order]


def _insert_patches_scratch(*arrays: Any) -> tuple[Floats | Slots, ...]:
    """Return room for the lists of some rows, and for the entry that each inserts next."""
    slots, gaps = arrays[-2:]
    shapes = (slots.shape[1], _INSERTED), (_INSERTED,)
    return tuple(np.empty(shape, like.dtype) for shape in shapes for like in (gaps, slots))


@kernel(insert_patches_reference, _insert_patches_scratch)
def insert_patches(  # type: ignore[no-untyped-def]
    values,
    at,
    first,
    last,
    rows,
    candidate_slots,
    begin,
    end,
    slots,
    gaps,
    near,
    known,
    line,
    moving,
):
    # A candidate is inserted into the lists of many rows at the same time, without branches: most
    # lists are half empty, and where in the list it belongs is hard to predict.
    m, infinity = slots.shape[1], gaps.dtype.type(np.inf)
    for p in range(len(at)):
        n = end[p] - begin[p]
        for start in range(first[p], last[p], _INSERTED):
            size = last[p] - start
            size = _INSERTED if size > _INSERTED else size
            there = at[p] + (start - first[p]) * n
            for i in range(size):
                j = rows[start + i]
                for q in range(m):
                    near[q, i] = gaps[j, q]
                    known[q, i] = slots[j, q]
            for h in range(n):
                s = candidate_slots[begin[p] + h]
                for i in range(size):
                    line[i] = values[there + i * n + h]
                for q in range(m):
                    for i in range(size):
                        value = line[i]
                        line[i] = infinity if known[q, i] == s else value
                # From its place on, every entry takes the place of the next one.
                for i in range(size):
                    moving[i] = s
                for q in range(m):
                    for i in range(size):
                        value, slot = line[i], moving[i]
                        gap, known_slot = near[q, i], known[q, i]
                        is_moved = (gap > value) | (slot != s)
                        near[q, i] = value if is_moved else gap
                        known[q, i] = slot if is_moved else known_slot
                        line[i] = gap if is_moved else value
                        moving[i] = known_slot if is_moved else slot
            for i in range(size):
                j = rows[start + i]
                for q in range(m):
                    gaps[j, q] = near[q, i]
                    slots[j, q] = known[q, i]


def make_moves_reference(
    cells: Ids,
    leaving: Ids,
    gains: Doubles,
    sources: Ids,
    groups: Ids,
    values: Floats,
    at: Ids,
    steps: Ids,
    order: Ids,
    losses: Doubles,
    starts: Ids,
    rows: Slots,
    weights: Doubles,
    least: float,
    is_fixed: Any,
    fewest: Ids,
    largest: Ids,
    slot_groups: Ids,
    counts: Ids,
    is_taken: Any,
    served: Slots,
    second: Slots,
    D: Floats,
    E: Floats,
    slots: Slots,
    gaps: Floats,
    moved: Ids,
) -> float:
    """Make the moves that lower the summed cost, one after the other; return the change of cost.

    Move e brings the source row ``sources[e]`` of group ``groups[e]`` to cell ``cells[e]``. Its
    distances to all rows that have this slot in their list are ``values[at[e] :: steps[e]]``; other
    rows are taken not to notice it, so a move is never worse than judged here. ``leaving[e]`` is
    the slot whose prototype it replaces. -1 is the next slot of ``order``, which costs ``losses``,
    as long as that is less than ``gains[e]``.

    A move is made if it lowers the cost by more than ``least`` as things then are, and if every
    group keeps ``fewest`` to ``largest`` prototypes. A slot is moved once: ``moved`` becomes the
    number of its move. ``slot_groups``, ``counts`` and ``is_taken`` are updated, and so are the two
    nearest slots of rows, ``served`` and ``second``, at the distances ``D`` and ``E``. Lists stay
    as they are: a row that loses one of its two nearest slots finds the next one there, among the
    slots that have not moved. See `settle_lists`.
    """
    total, position = 0.0, 0
    for e, c in enumerate(cells):
        if is_taken[sources[e]]:
            continue
        group, slot = groups[e], leaving[e]

        def is_open(s: int, group: Any = group) -> bool:
            own = slot_groups[s]
            is_allowed = own == group or (
                counts[own] > fewest[own] and counts[group] < largest[group]
            )
            return bool(is_allowed and not is_fixed[s] and moved[s] < 0)

        if slot < 0:
            while position < len(order) and (
                moved[order[position]] >= 0 or is_fixed[order[position]]
            ):
                position += 1
            found = [s for s in order[position:] if is_open(s) and s != c][:1]
            if not found or not losses[found[0]] < gains[e]:
                continue
            slot = int(found[0])
        elif not is_open(slot):
            continue
        before = rows[starts[slot] : starts[slot + 1]]
        after = rows[starts[c] : starts[c + 1]]
        own_values = values[at[e] :: steps[e]][: len(after)]
        d = own_values.astype(np.float64)
        limit = np.where(served[after] == slot, E[after], D[after]).astype(np.float64)
        counted = weights[after] > 0
        if slot == c:
            kept = np.minimum(d, limit) - D[after]
            change = float(weights[after][counted] @ kept[counted])
        else:
            lost = before[(served[before] == slot) & (weights[before] > 0)]
            saved = np.maximum(limit - d, 0)[counted]
            change = float(weights[lost] @ (E[lost].astype(np.float64) - D[lost]))
            change -= float(weights[after][counted] @ saved) if np.isfinite(change) else 0.0
        if not change < -least:
            continue
        moved[slot] = e
        for j in before[(served[before] == slot) | (second[before] == slot)]:
            if served[j] == slot:
                served[j], D[j] = second[j], E[j]
            known = slots[j][slots[j] >= 0]
            others = np.flatnonzero((moved[known] < 0) & (known != served[j]))[:1]
            second[j] = known[others[0]] if len(others) else -1
            E[j] = gaps[j, others[0]] if len(others) else np.inf
        for j, value in zip(after, own_values, strict=True):
            if value < D[j]:
                served[j], D[j], second[j], E[j] = slot, value, served[j], D[j]
            elif value < E[j]:
                second[j], E[j] = slot, value
        counts[slot_groups[slot]] -= 1
        counts[group] += 1
        slot_groups[slot] = group
        is_taken[sources[e]] = True
        total += change
    return total


@kernel(make_moves_reference)
def make_moves(  # type: ignore[no-untyped-def]
    cells,
    leaving,
    gains,
    sources,
    groups,
    values,
    at,
    steps,
    order,
    losses,
    starts,
    rows,
    weights,
    least,
    is_fixed,
    fewest,
    largest,
    slot_groups,
    counts,
    is_taken,
    served,
    second,
    D,
    E,
    slots,
    gaps,
    moved,
):
    m, infinity = slots.shape[1], gaps.dtype.type(np.inf)
    total, position = 0.0, 0
    for e in range(len(cells)):
        if is_taken[sources[e]]:
            continue
        c, group, slot = cells[e], groups[e], leaving[e]
        if slot < 0:
            while position < len(order) and (
                moved[order[position]] >= 0 or is_fixed[order[position]]
            ):
                position += 1
            for o in range(position, len(order)):
                s = order[o]
                if not losses[s] < gains[e]:
                    break
                own = slot_groups[s]
                is_open = own == group or (
                    counts[own] > fewest[own] and counts[group] < largest[group]
                )
                if is_open and s != c and moved[s] < 0 and not is_fixed[s]:
                    slot = s
                    break
            if slot < 0:
                continue
        else:
            own = slot_groups[slot]
            is_open = own == group or (counts[own] > fewest[own] and counts[group] < largest[group])
            if not is_open or moved[slot] >= 0 or is_fixed[slot]:
                continue
        change = 0.0
        if slot != c:
            for i in range(starts[slot], starts[slot + 1]):
                j = rows[i]
                if served[j] == slot and weights[j] > 0:
                    change += weights[j] * (np.float64(E[j]) - np.float64(D[j]))
        if change == np.inf:
            continue
        first, last, place, step = starts[c], starts[c + 1], at[e], steps[e]
        for i in range(first, last):
            j = rows[i]
            if weights[j] > 0:
                near, value = np.float64(D[j]), np.float64(values[place + (i - first) * step])
                limit = np.float64(E[j]) if served[j] == slot else near
                before = near if slot == c else limit
                change += weights[j] * ((value if value < limit else limit) - before)
        if not change < -least:
            continue
        moved[slot] = e
        for i in range(starts[slot], starts[slot + 1]):
            j = rows[i]
            if served[j] == slot:
                served[j] = second[j]
                D[j] = E[j]
            elif second[j] != slot:
                continue
            q = 0
            while (
                q < m and slots[j, q] >= 0 and (moved[slots[j, q]] >= 0 or slots[j, q] == served[j])
            ):
                q += 1
            is_there = q < m and slots[j, q] >= 0
            second[j] = slots[j, q] if is_there else -1
            E[j] = gaps[j, q] if is_there else infinity
        for i in range(first, last):
            j = rows[i]
            value = values[place + (i - first) * step]
            if value < D[j]:
                second[j] = served[j]
                E[j] = D[j]
                served[j] = slot
                D[j] = value
            elif value < E[j]:
                second[j] = slot
                E[j] = value
        counts[slot_groups[slot]] -= 1
        counts[group] += 1
        slot_groups[slot] = group
        is_taken[sources[e]] = True
        total += change
    return total


def settle_lists_reference(
    moved: Ids,
    n_relocations: int,
    served: Slots,
    second: Slots,
    D: Floats,
    E: Floats,
    slots: Slots,
    gaps: Floats,
) -> None:
    """Put the two nearest slots of rows in front of their lists, as they are after `make_moves`.

    Slots that have not moved follow. Then come slots that have moved within their cell, at an
    infinite distance: it is not known to the row. The first ``n_relocations`` moves were made to
    other cells, so their slots are removed. A row without ``served`` slot gets an empty list.
    """
    n, m = slots.shape
    for j in range(n):
        pair = np.array([served[j], second[j]])
        front, near = pair[pair >= 0], np.array([D[j], E[j]])[pair >= 0]
        known = slots[j][(slots[j] >= 0) & ~np.isin(slots[j], pair)]
        known_gaps = gaps[j][(slots[j] >= 0) & ~np.isin(slots[j], pair)]
        stays, is_stale = moved[known] < 0, (moved[known] >= n_relocations) & (served[j] >= 0)
        which = np.concatenate([front, known[stays], known[is_stale]])[:m]
        every = np.concatenate([near, known_gaps[stays], np.full(is_stale.sum(), np.inf)])[:m]
        slots[j], gaps[j] = -1, np.inf
        slots[j, : len(which)], gaps[j, : len(every)] = which, every


def _settle_lists_scratch(*arrays: Any) -> tuple[Slots, Floats]:
    """Return room for one list; the last two arrays are slots and gaps."""
    slots, gaps = arrays[-2:]
    return np.empty(slots.shape[1] + 2, slots.dtype), np.empty(slots.shape[1] + 2, gaps.dtype)


@kernel(settle_lists_reference, _settle_lists_scratch)
def settle_lists(  # type: ignore[no-untyped-def]
    moved, n_relocations, served, second, D, E, slots, gaps, which, every
):
    n, m = slots.shape
    for j in range(n):
        n_moved = 0
        for q in range(m):
            s = slots[j, q]
            if s >= 0 and moved[s] >= 0:
                n_moved += 1
        if n_moved == 0 and slots[j, 0] == served[j] and (m == 1 or slots[j, 1] == second[j]):
            continue
        which[0], every[0], which[1], every[1] = served[j], D[j], second[j], E[j]
        end = 0 if served[j] < 0 else 1 if second[j] < 0 else 2
        for is_stale in range(2 if end > 0 else 0):
            for q in range(m):
                s = slots[j, q]
                if s < 0 or s == served[j] or s == second[j]:
                    continue
                if moved[s] >= n_relocations if is_stale else moved[s] < 0:
                    which[end] = s
                    every[end] = np.inf if is_stale else gaps[j, q]
                    end += 1
        for q in range(m):
            slots[j, q] = which[q] if q < end else -1
            gaps[j, q] = every[q] if q < end else np.inf
