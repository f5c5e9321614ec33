"""A Dask client for a command: of a local cluster that it starts, or of an existing cluster.

Only the command line calls this. The Python functions use the client of their caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from protobandit.foundation.errors import NotAvailable, PartFailed

_CONNECT_SECONDS = 10
_ERRORS_ONLY = 50
# A terminal sends Ctrl-C to workers too, which would end them before the command has its result.
_NO_INTERRUPTS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"


@contextmanager
def opened_client(
    *, workers: int | None = None, scheduler: str | None = None, memory: int | None = None
) -> Iterator[Any]:
    """Provide the default client until the end of the block; a local cluster ends with it.

    ``workers`` are processes of one thread, each with ``memory`` bytes; ``scheduler`` is the
    address of an existing cluster.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise NotAvailable(
            "--workers and --scheduler need dask and distributed. Install protobandit[dask]."
        ) from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=_CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise PartFailed(
                f"--scheduler {scheduler}: no scheduler answers ({type(error).__name__}). Pass the "
                f"address that `dask scheduler` prints, such as tcp://host:8786."
            ) from None
        with client:
            yield client
        return
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit="auto" if memory is None else memory,
            dashboard_address=":0",
            silence_logs=_ERRORS_ONLY,
            preload=[_NO_INTERRUPTS],
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
