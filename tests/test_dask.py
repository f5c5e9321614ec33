"""The same call on Dask: the same result on any scheduler, also if workers die."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback
from distributed import Client, LocalCluster

import dask_blocks
import protobandit as pb
from protobandit.run import in_parts
from protobandit.run.executors.dask_executor import KEY
from protobandit.search.drivers.localsearch import part_search

N, K, PARTS = 6000, 12, 8
SAMPLE = 1500


def clustered(n=N, columns=4, dtype=np.float32, seed=0):
    random = np.random.default_rng(seed)
    centres = 6 * random.normal(size=(40, columns))
    labels = random.integers(40, size=n)
    return (centres[labels] + random.normal(size=(n, columns))).astype(dtype), labels


ROWS, LABELS = clustered()


@pytest.fixture(autouse=True)
def _small_samples(monkeypatch):
    """Let samples be small, so that small problems need passes over their parts."""
    monkeypatch.setattr(in_parts, "FRESH_ROWS", 200)
    monkeypatch.setattr(in_parts, "MOST_BYTES", SAMPLE * (2.5 * 16 + 256))


def cost_of(rows, selection):
    chosen = rows[selection.indices].astype(np.float64)
    squares = ((rows[:, None].astype(np.float64) - chosen) ** 2).sum(axis=2)
    return float(np.sqrt(squares.min(axis=1)).mean())


def chunked(rows=ROWS, n_parts=PARTS):
    return da.from_array(rows, chunks=(-(-len(rows) // n_parts), rows.shape[1]))


def select(source, *arguments, **named):
    return pb.select(source, *arguments, **{"k": K, "random_state": 0, **named})


def synchronous(source, *arguments, **named):
    with dask.config.set(scheduler="synchronous"):
        return select(source, *arguments, **named)


def result(selection):
    return selection.indices.tolist(), selection.costs.tolist(), selection.mass.tolist()


@pytest.fixture(scope="module")
def reference():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_parts, "FRESH_ROWS", 200)
        patch.setattr(in_parts, "MOST_BYTES", SAMPLE * (2.5 * 16 + 256))
        found = synchronous(chunked())
    assert found.traffic.passes > 1
    return found


def cluster(n_workers=2, **options):
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=50,
        **{"memory_limit": "2GB", **options},
    )


@pytest.fixture(scope="module")
def client():
    with cluster() as own, Client(own) as found:
        yield found


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


# -- the same result ------------------------------------------------------------------------------


def test_threads_give_the_result_of_one_thread(reference):
    with dask.config.set(scheduler="threads"):
        assert result(select(chunked())) == result(reference)


def test_two_worker_processes_give_the_result_of_one_thread(reference, client):
    found = select(chunked())
    assert result(found) == result(reference)
    assert found.traffic == reference.traffic


def test_one_worker_process_gives_the_result_of_one_thread(reference):
    with cluster(1) as own, Client(own):
        assert result(select(chunked())) == result(reference)


def test_the_process_scheduler_gives_the_result_of_one_thread():
    few = chunked(ROWS[:3000], 2)
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        found = select(few)
    assert result(found) == result(synchronous(few))
    assert found.traffic.passes > 1


@pytest.mark.parametrize("kind", [dask_blocks.KillsOnce, dask_blocks.KillsInPass])
def test_a_worker_that_is_killed_in_our_task_changes_nothing(kind, reference, client, tmp_path):
    before = set(client.run(os.getpid).values())
    found = select(dask_blocks.array_of(kind, ROWS, PARTS, tmp_path))
    assert result(found) == result(reference)
    died = int((tmp_path / "died").read_text())
    assert died in before
    assert not is_alive(died)
    client.wait_for_workers(2, timeout=180)


def test_a_worker_that_is_killed_between_passes_changes_nothing(reference, client, monkeypatch):
    client.wait_for_workers(2, timeout=180)
    died = next(iter(client.run(os.getpid).values()))
    moved = part_search.PartSearch._moved

    def kill(self, *arguments):
        if is_alive(died):
            os.kill(died, signal.SIGKILL)
        return moved(self, *arguments)

    monkeypatch.setattr(part_search.PartSearch, "_moved", kill)
    assert result(select(chunked())) == result(reference)
    assert not is_alive(died)
    client.wait_for_workers(2, timeout=180)


def test_a_call_inside_a_task_works(client):
    few = chunked(ROWS[:500], 3)
    found = client.submit(lambda: pb.select(few, k=3, random_state=0).indices, pure=False).result()
    assert found.tolist() == synchronous(few, k=3).indices.tolist()


def test_two_clients_at_once(reference, client):
    found = {}

    def run(name, own):
        with own.as_current():
            found[name] = result(select(chunked()))

    with Client(client.scheduler.address, set_as_default=False) as other:
        threads = [
            threading.Thread(target=run, args=each) for each in (("a", client), ("b", other))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found["a"] == found["b"] == result(reference)


def test_the_result_does_not_depend_on_the_order_in_which_parts_arrive(reference, monkeypatch):
    original = in_parts.DaskExecutor._on_scheduler

    def reversed_order(self, *arguments):
        return iter(list(original(self, *arguments))[::-1])

    monkeypatch.setattr(in_parts.DaskExecutor, "_on_scheduler", reversed_order)
    assert result(synchronous(chunked())) == result(reference)


# -- quality --------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_sorted", [False, True], ids=["mixed", "sorted by class"])
def test_passes_find_what_one_machine_finds(is_sorted):
    rows = ROWS[np.argsort(LABELS, kind="stable")] if is_sorted else ROWS
    found = synchronous(chunked(rows))
    one = pb.select(rows, k=K, method="localsearch", random_state=0)
    assert cost_of(rows, found) <= 1.05 * one.cost
    assert abs(found.cost - cost_of(rows, found)) < 5 * found.cost_error
    assert found.take(rows).tolist() == found.prototypes.tolist()


def test_passes_improve_what_the_sample_gave(monkeypatch):
    found = synchronous(chunked())
    monkeypatch.setattr(part_search, "MOST_PASSES", 0)
    sampled = synchronous(chunked())
    assert cost_of(ROWS, found) < cost_of(ROWS, sampled)


def test_a_limit_that_makes_the_sample_small_is_reported():
    found = synchronous(chunked(), limits=pb.Limits(memory=60_000))
    assert any("reduced the plan from" in str(warning) for warning in found.warnings)
    assert not synchronous(chunked()).warnings


# -- kinds of collections -------------------------------------------------------------------------


def unknown_lengths(rows):
    blocks = chunked(rows)
    return blocks[blocks[:, 0] > -np.inf]


def with_empty_chunks(rows):
    empty = da.zeros((0, rows.shape[1]), chunks=-1, dtype=rows.dtype)
    return da.concatenate([empty, chunked(rows[:3000], 4), empty, chunked(rows[3000:], 4), empty])


KINDS = {
    "unknown lengths": unknown_lengths,
    "empty chunks": with_empty_chunks,
    "one chunk": lambda rows: chunked(rows, 1),
    "1,000 chunks": lambda rows: chunked(rows, 1000),
    "chunks of columns": lambda rows: da.from_array(rows, chunks=(750, 3)),
}


@pytest.mark.parametrize("name", KINDS)
def test_any_chunks(name, monkeypatch):
    monkeypatch.setattr(part_search, "MOST_PASSES", 1)
    found = synchronous(KINDS[name](ROWS))
    assert found.traffic.passes > 1
    assert found.prototypes.tolist() == ROWS[found.indices].tolist()
    assert cost_of(ROWS, found) < 1.05 * pb.select(ROWS, k=K, random_state=0).cost


def test_one_row_per_chunk(monkeypatch):
    monkeypatch.setattr(in_parts, "FRESH_ROWS", 20)
    monkeypatch.setattr(in_parts, "MOST_BYTES", 100 * (2.5 * 16 + 256))
    rows = ROWS[:200]
    found = synchronous(chunked(rows, 200), k=3)
    assert found.traffic.parts == 200
    assert found.prototypes.tolist() == rows[found.indices].tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.uint8])
def test_any_type_of_numbers(dtype):
    rows = np.abs(ROWS * 4).astype(dtype)
    found = synchronous(chunked(rows))
    assert found.prototypes.tolist() == rows[found.indices].tolist()
    one = pb.select(rows, k=K, random_state=0)
    assert found.prototypes.dtype == one.prototypes.dtype
    assert cost_of(rows, found) < 1.05 * one.cost


@pytest.mark.parametrize("lazy", ["source", "target", "both"])
def test_source_and_target(lazy):
    target, _ = clustered(5000, seed=3)
    source = chunked() if lazy != "target" else ROWS
    given = chunked(target, 5) if lazy != "source" else target
    found = synchronous(source, given)
    one = pb.select(ROWS, target, k=K, random_state=0)
    near = np.sqrt(((target[:, None] - ROWS[found.indices]) ** 2).sum(axis=2)).min(axis=1).mean()
    assert near < 1.05 * one.cost
    assert found.prototypes.tolist() == ROWS[found.indices].tolist()


@pytest.mark.parametrize("form", ["dask", "array", "target"])
def test_weights(form):
    weights = np.where(LABELS < 5, 10.0, 0.1)
    given = da.from_array(weights, chunks=N // PARTS) if form == "dask" else weights
    source = chunked()
    if form == "target":
        found = synchronous(source, pb.Target(source, weights=given))
    else:
        found = synchronous(source, weights=given)
    one = pb.select(ROWS, weights=weights, k=K, method="localsearch", random_state=0)
    near = np.sqrt(((ROWS[:, None] - ROWS[found.indices]) ** 2).sum(axis=2)).min(axis=1)
    assert np.average(near, weights=weights) < 1.05 * one.cost
    assert found.cost == pytest.approx(np.average(near, weights=weights), rel=0.2)


def test_frames_of_dask_and_their_columns():
    frames = pytest.importorskip("dask.dataframe")
    import pandas as pd

    table = pd.DataFrame(ROWS, columns=list("abcd"))
    found = synchronous(frames.from_pandas(table, npartitions=5))
    assert found.columns == tuple("abcd")
    assert found.prototypes.tolist() == ROWS[found.indices].tolist()
    with dask.config.set(scheduler="synchronous"):
        taken = found.take(frames.from_pandas(table, npartitions=5))
        labels = found.assign(frames.from_pandas(table, npartitions=5)).labels
        assert labels.compute().tolist() == found.assign(table).labels.tolist()
    assert taken.index.tolist() == found.indices.tolist()


FORMS = {
    "frame": lambda table: table,
    "dask": lambda table: pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=5),
    "xarray": lambda table: pytest.importorskip("xarray").DataArray(
        chunked(table.to_numpy()), dims=("row", "column"), coords={"column": list(table.columns)}
    ),
}


@pytest.mark.parametrize(
    ("source", "target"),
    [("dask", "frame"), ("frame", "dask"), ("dask", "dask"), ("dask", "xarray")],
)
def test_columns_of_the_target_are_matched_by_name(source, target):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(ROWS * np.float32([9, 1, 1, 1]), columns=list("abcd"))
    found = synchronous(FORMS[source](table), FORMS[target](table[list("dcba")]))
    assert found.columns == tuple("abcd")
    assert cost_of(table.to_numpy(), found) < 1.05 * pb.select(table, k=K, random_state=0).cost
    assert abs(found.cost - cost_of(table.to_numpy(), found)) < 5 * found.cost_error
    with dask.config.set(scheduler="synchronous"):
        labels = found.assign(FORMS[target](table[list("dcba")])).labels
        assert np.asarray(labels).tolist() == found.assign(table).labels.tolist()


def test_weights_may_name_a_column():
    frames, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = pd.DataFrame(ROWS, columns=list("abcd"))
    table["w"] = np.where(LABELS < 5, 10.0, 0.1)
    lazy = frames.from_pandas(table, npartitions=5)
    found = synchronous(lazy, weights="w")
    assert found.columns == tuple("abcd")
    assert result(found) == result(synchronous(lazy[list("abcd")], weights=lazy["w"]))
    with pytest.raises(pb.InvalidInput, match="weights='x' is not a column of source"):
        synchronous(lazy, weights="x")


def test_one_prototype():
    found = synchronous(chunked(), k=1)
    assert cost_of(ROWS, found) < 1.01 * pb.select(ROWS, k=1, random_state=0).cost
    assert found.prototypes.tolist() == ROWS[found.indices].tolist()


def test_xarray_with_dask_chunks():
    xarray = pytest.importorskip("xarray")
    names = list("abcd")
    array = xarray.DataArray(chunked(), dims=("row", "column"), coords={"column": names})
    found = synchronous(array)
    assert found.columns == tuple(names)
    assert result(found) == result(synchronous(chunked()))
    columns = {name: ("row", chunked()[:, i]) for i, name in enumerate(names)}
    data = xarray.Dataset(columns)
    assert result(synchronous(data)) == result(found)
    with dask.config.set(scheduler="synchronous"):
        assert found.assign(data).labels.compute().tolist() == found.assign(ROWS).labels.tolist()


def test_a_collection_that_fits_into_the_sample_is_an_ordinary_problem():
    few = ROWS[:600]
    found = synchronous(chunked(few, 4))
    assert found.cost_error == 0
    assert result(found) == result(pb.select(few, k=K, random_state=0))
    assert found.traffic.tasks == 4


# -- answers --------------------------------------------------------------------------------------


def test_assign_is_lazy_and_has_the_chunks_of_its_rows(reference):
    assigned = reference.assign(chunked())
    assert assigned.labels.chunks == assigned.distances.chunks == (chunked().chunks[0],)
    with dask.config.set(scheduler="synchronous"):
        labels, distances = dask.compute(*assigned)
        transformed = reference.distances(chunked()).compute()
    one = reference.assign(ROWS)
    assert labels.tolist() == one.labels.tolist()
    np.testing.assert_allclose(distances, one.distances, rtol=1e-5)
    np.testing.assert_allclose(transformed, reference.distances(ROWS), rtol=1e-4, atol=1e-5)


def test_take_reads_the_prototypes_of_a_collection(reference):
    with dask.config.set(scheduler="synchronous"):
        assert reference.take(chunked()).tolist() == ROWS[reference.indices].tolist()
        assert reference.take(unknown_lengths(ROWS)).tolist() == reference.prototypes.tolist()
        with pytest.raises(pb.InvalidInput, match="frame has 100 rows"):
            reference.take(chunked(ROWS[:100], 2))


def test_a_certificate_of_parts_is_valid(reference):
    with dask.config.set(scheduler="synchronous"):
        found = reference.certify(random_state=0)
    assert found.kind == "rigorous"
    assert found.cost == pytest.approx(cost_of(ROWS, reference), rel=1e-5)
    best = pb.select(ROWS, k=K, random_state=0, method=pb.methods.Auto(effort="thorough"))
    assert 0.5 * best.cost < found.cost_bound <= best.cost
    assert found.cost_ratio == pytest.approx(found.cost / found.cost_bound)


def test_a_certificate_of_a_budget(reference):
    with dask.config.set(scheduler="synchronous"):
        few = reference.certify(random_state=0, evaluations=2 * K * N + 200 * N)
        none = reference.certify(random_state=0, evaluations=1000)
    assert few.n_rows <= 100
    assert "Nothing is proven" in none.statement
    with pytest.raises(pb.InvalidInput, match="kind='exact' is not supported"):
        reference.certify(kind="exact")


def test_drift_of_a_collection(reference):
    with dask.config.set(scheduler="synchronous"):
        same = reference.drift(chunked(clustered(seed=0)[0] + np.float32(0.0)))
        other = reference.drift(chunked(ROWS + np.float32(3)))
    assert not same.is_significant
    assert other.is_significant
    assert other.worst_rows.max() > SAMPLE  # numbers of the collection, not of the sample


def test_estimators_fit_collections():
    with dask.config.set(scheduler="synchronous"):
        model = pb.KMedoids(K, random_state=0).fit(chunked())
        labels = model.labels_.compute()
        assert model.predict(chunked()).compute().tolist() == labels.tolist()
        selector = pb.PrototypeSelector(n_prototypes=K, random_state=0).fit(chunked())
    assert model.n_features_in_ == 4
    assert model.inertia_ == pytest.approx(model.selection_.cost * N)
    assert model.cluster_centers_.tolist() == ROWS[model.medoid_indices_].tolist()
    assert selector.prototype_indices_.tolist() == model.medoid_indices_.tolist()
    assert len(np.unique(labels)) == K


def test_a_plan_says_tasks_passes_and_bytes(reference):
    planned = pb.plan(chunked(), k=K)
    assert planned.parts == PARTS
    assert planned.tasks == planned.passes * PARTS
    assert planned.bytes_moved > 0
    assert "each pass computes the collection again" in str(planned)
    assert 0.3 < planned.evaluations / reference.evaluations < 3
    with dask.config.set(scheduler="synchronous"):
        assert pb.plan(unknown_lengths(ROWS), k=K).tasks == planned.tasks


# -- tasks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_parts", [2, 8, 30])
def test_the_number_of_tasks_is_passes_times_parts(n_parts):
    ran = []
    with Callback(pretask=lambda key, *_: ran.append(key)):
        found = synchronous(chunked(n_parts=n_parts))
    own = [key for key in ran if isinstance(key, str) and key.startswith(KEY)]
    assert found.traffic.tasks == found.traffic.passes * n_parts
    assert len(own) <= found.traffic.tasks + found.traffic.passes


# -- failures -------------------------------------------------------------------------------------


def test_a_part_that_changes_between_passes_is_named(tmp_path):
    blocks = dask_blocks.array_of(dask_blocks.Changes, ROWS, PARTS, tmp_path)
    with pytest.raises(pb.InvalidInput, match=r"part 3 changed between passes.*persist\(\)"):
        synchronous(blocks)


def test_nan_is_named_by_part_and_row():
    rows = ROWS.copy()
    rows[1600, 2] = np.nan  # row 100 of the third of eight parts
    with pytest.raises(
        pb.InvalidInput,
        match=r"nan in part 2 at row 100 of the part \(row 1,600 of all\), column 2.*fillna\(\)",
    ):
        synchronous(chunked(rows))


def test_masked_values_are_missing():
    masked = da.ma.masked_where(chunked() == ROWS[1600, 2], chunked())
    with pytest.raises(pb.InvalidInput, match="nan in part 2 at row 100 of the part"):
        synchronous(masked)


def raising(block, block_info=None):
    if block_info and block_info[0]["chunk-location"][0] == 5:
        raise ZeroDivisionError("no such luck")
    return block


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "distributed"])
def test_a_task_that_raises_is_named(scheduler, request):
    blocks = chunked().map_blocks(raising, dtype=ROWS.dtype)
    match = (
        r"sampling the source: part 5 \(of 12,000 bytes\) failed: .*ZeroDivisionError: no such luck"
    )
    if scheduler == "distributed":
        request.getfixturevalue("client")
        with pytest.raises(pb.PartFailed, match=match):
            select(blocks)
        return
    with dask.config.set(scheduler=scheduler), pytest.raises(pb.PartFailed, match=match):
        select(blocks)


def test_tasks_that_cannot_be_sent_to_workers_are_refused(client):
    lock = threading.Lock()
    blocks = chunked().map_blocks(lambda block: block + (lock is None), dtype=ROWS.dtype)
    message = r"sampling the source: its tasks cannot be sent to workers: .*lock"
    with pytest.raises(pb.PartFailed, match=message):
        select(blocks)


def test_a_part_that_kills_a_process_of_the_process_scheduler_is_named(tmp_path):
    script = """
import os, sys
import dask
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
import numpy as np
import dask_blocks
import protobandit as pb

if __name__ == "__main__":
    blocks = dask_blocks.array_of(dask_blocks.KillsAlways, np.eye(40), 8, Path(sys.argv[1]))
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        with dask.config.set(scheduler="processes", pool=pool):
            try:
                pb.select(blocks, k=3)
            except pb.PartFailed as error:
                print(error)
"""
    (tmp_path / "call.py").write_text(script)
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    ended = subprocess.run(
        [sys.executable, tmp_path / "call.py", tmp_path],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"part .*\b3\b.* failed: a process that ran it ended", ended.stdout)


def test_a_part_that_kills_workers_ends_in_one_error(tmp_path):
    blocks = dask_blocks.array_of(dask_blocks.KillsAlways, ROWS, PARTS, tmp_path)
    few = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with few, cluster(1) as own, Client(own), pytest.raises(pb.PartFailed) as caught:
        select(blocks)
    assert re.search(r"part .*\b3\b.* \(of 12,000 bytes\) failed", str(caught.value))
    assert "killed 1 time" in str(caught.value)
    assert "a worker has 2.0 GB" in str(caught.value)


def test_a_part_that_needs_too_much_memory_ends_in_one_error(tmp_path):
    blocks = dask_blocks.array_of(dask_blocks.Large, ROWS, PARTS, tmp_path)
    dask_settings = {"distributed.scheduler.allowed-failures": 0}
    message = r"part .*\b3\b.* failed: .*a worker has 400"
    error = pytest.raises(pb.PartFailed, match=message)
    with (
        dask.config.set(dask_settings),
        cluster(1, memory_limit="400MB") as own,
        Client(own),
        error,
    ):
        select(blocks)


def test_a_part_that_is_larger_than_a_worker_is_refused_before_it_is_computed(client):
    huge = da.zeros((10**7, 64), chunks=(10**7, 64), dtype=np.float64)
    with pytest.raises(pb.PartFailed, match=r"part 0 \(of 5\.1 GB\) .*larger than the memory"):
        select(huge)


def test_a_client_that_is_closed_ends_the_run(tmp_path):
    with cluster(1) as own:
        closed = Client(own)

        def close():
            for _ in range(600):
                if (tmp_path / "waiting").exists():
                    break
                time.sleep(0.05)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                closed.close(timeout=1)

        thread = threading.Thread(target=close)
        thread.start()
        with closed.as_current(), pytest.raises(pb.PartFailed, match="client was closed"):
            select(dask_blocks.array_of(dask_blocks.Waits, ROWS, PARTS, tmp_path))
        Path(tmp_path, "go").touch()
        thread.join()


def test_a_failed_run_resumes_after_its_last_pass(tmp_path):
    blocks = dask_blocks.array_of(dask_blocks.FailsLater, ROWS, PARTS, tmp_path)
    file = tmp_path / "state"
    with pytest.raises(pb.PartFailed, match=r"pass 2: part 3 .*the disk is gone"):
        synchronous(blocks, checkpoint=file)
    (tmp_path / "mended").touch()
    whole = synchronous(blocks)
    resumed = synchronous(blocks, checkpoint=file)
    assert result(resumed) == result(whole)
    assert resumed.traffic.passes == whole.traffic.passes - 1
    assert resumed.evaluations == whole.evaluations


def test_an_interrupt_ends_a_pass(monkeypatch):
    interrupt, judged = pb.Interrupt(), part_search.PartSearch._judged

    def interrupted(self):
        interrupt.set()
        return judged(self)

    monkeypatch.setattr(part_search.PartSearch, "_judged", interrupted)
    found = synchronous(chunked(), interrupt=interrupt)
    assert "interruption" in found.status
    assert found.k == K
    with pytest.raises(pb.Interrupted, match="first pass"):
        synchronous(chunked(), interrupt=interrupt)


REFUSED = {
    "until": ({"until": pb.Coverage(0.9, 1.0)}, "until= is not supported"),
    "by": ({"by": LABELS}, "by= is not supported"),
    "preparation": ({"preparation": pb.Preparation(standardize=True)}, "Prepare the collection"),
    "method": ({"method": "fasterpam"}, "method='fasterpam' does not support Dask"),
    "metric": ({"metric": "levenshtein"}, "does not compare rows of numbers"),
    "k": ({"k": "auto"}, "k='auto' is not supported"),
    "many": ({"k": 7000}, "k=7000 exceeds the 6000 source rows"),
    "weights": ({"weights": da.ones(N, chunks=N)}, r"weights have 1 partition\(s\) but .* 8"),
    "two": ({"weights": da.ones((N, 1), chunks=(750, 1))}, "weights are a Array that is not 1-D"),
    "delayed": ({"weights": dask.delayed(np.ones(N))}, "weights are a DelayedLeaf that is not 1-D"),
    "length": ({"weights": np.ones(3)}, r"weights have shape \(3,\) but source has 6,000 rows"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused(name):
    arguments, message = REFUSED[name]
    with pytest.raises(pb.InvalidInput, match=message):
        synchronous(chunked(), **arguments)


def test_collections_that_cannot_be_read_in_blocks_are_refused():
    import dask.bag
    from scipy.sparse import csr_array

    with pytest.raises(pb.InvalidInput, match="Bag, which cannot be read in blocks"):
        synchronous(dask.bag.from_sequence([1, 2]))
    with pytest.raises(pb.InvalidInput, match="DelayedLeaf, which cannot be read"):
        synchronous(dask.delayed(ROWS))
    with pytest.raises(pb.InvalidInput, match="1 dimension"):
        synchronous(da.ones(100))
    sparse = chunked().map_blocks(csr_array, dtype=ROWS.dtype, meta=np.empty((0, 0)))
    with pytest.raises(pb.InvalidInput, match="scipy csr_array, which is not read in blocks"):
        synchronous(sparse)
    with pytest.raises(pb.InvalidInput, match="exceeds the 0 source rows"):
        synchronous(da.zeros((0, 3), chunks=-1))
    with pytest.raises(pb.InvalidInput, match="source has 0 rows in 8 parts"):
        synchronous(chunked()[chunked()[:, 0] > np.inf])


def test_queries_that_need_all_rows_say_so(reference, tmp_path):
    with pytest.raises(pb.NotAvailable, match="needs all 6,000 rows of the source"):
        reference.silhouette()
    with pytest.raises(pb.NotAvailable, match="extended needs the rows in memory"):
        reference.extended(K + 1)
    with pytest.raises(pb.NotAvailable, match="report needs the rows in memory"):
        reference.report(tmp_path)
    with pytest.raises(pb.InvalidInput, match=r"join it with selection.take\(rows\)"):
        reference.to_frame(chunked())


def test_rows_of_a_saved_selection_can_be_attached(reference):
    saved = pb.Selection.from_json(reference.to_json())
    with dask.config.set(scheduler="synchronous"):
        attached = saved.attached(chunked())
        pickled = pickle.loads(pickle.dumps(attached.including_rows()))
        for found in (attached, pickled):
            assert found.certify(random_state=0).cost == pytest.approx(cost_of(ROWS, reference))
        with pytest.raises(pb.InvalidInput, match="with the same partitions"):
            saved.attached(chunked(n_parts=5))
    assert saved.attached(ROWS).members(0)[0] == saved.indices[0]
    with pytest.raises(pb.InvalidInput, match="not what this selection was made from"):
        saved.attached(ROWS[::-1])
