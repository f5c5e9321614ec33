"""The executor on Dask, without a cluster; tests/test_dask.py has worker processes."""

from __future__ import annotations

import pytest

import protobandit as pb
from protobandit.rows.parts import Part
from protobandit.run.executors import dask_executor
from protobandit.run.executors.dask_executor import DaskExecutor


class FakeClient:
    """A client whose cluster has no workers, or that was closed."""

    def __init__(self, status="running"):
        self.status = status

    def get(self):
        """Stand for the function by which Dask knows a client."""

    def scheduler_info(self):
        return {"workers": {}}

    def compute(self, tasks):
        return [FakeFuture() for _ in tasks]

    def cancel(self, futures):
        self.cancelled = list(futures)


class FakeFuture:
    status = "pending"

    def add_done_callback(self, function):
        pass


def run(client, monkeypatch):
    monkeypatch.setattr(dask_executor, "_POLL", 0.01)
    executor = DaskExecutor()
    executor._client = client
    parts = {0: Part(0, [1])}
    return list(executor.run(print, {0: ()}, parts, None, "pass 1", lambda n_done: None))


def test_a_cluster_without_workers_ends_the_run(monkeypatch):
    monkeypatch.setattr(dask_executor, "_NO_WORKERS", 0.02)
    client = FakeClient()
    with pytest.raises(pb.PartFailed, match="no worker for 0 seconds"):
        run(client, monkeypatch)
    assert len(client.cancelled) == 1


def test_a_closed_client_ends_the_run(monkeypatch):
    with pytest.raises(pb.PartFailed, match="client was closed"):
        run(FakeClient("closed"), monkeypatch)


def test_an_interrupt_cancels_the_tasks(monkeypatch):
    monkeypatch.setattr(dask_executor, "_POLL", 0.01)
    executor, client = DaskExecutor(), FakeClient()
    executor._client = client

    def look(n_done):
        raise pb.Interrupted("stop")

    with pytest.raises(pb.Interrupted):
        list(executor.run(print, {0: ()}, {0: Part(0, [1])}, None, "pass 1", look))
    assert len(client.cancelled) == 1
