"""``protobandit compile``: compile ahead of the first call."""

from __future__ import annotations

from time import perf_counter

from protobandit.interfaces.cli import options, output

EXAMPLES = ("protobandit compile", "PROTOBANDIT_CODE_FOLDER=/opt/kernels protobandit compile")


def compile_(as_json: options.AsJson = False) -> None:
    """Compile the loops of the default method now, so that no later call has to wait for it.

    The first calls in a new environment compile for a few seconds; the code is then kept on disk.
    Run this command while a container image or an environment is made. The code is kept beside
    the package, or in the folder of the environment variable PROTOBANDIT_CODE_FOLDER. It is for
    the processor of this machine: on another kind of processor it is compiled again, unless
    PROTOBANDIT_PROCESSOR is x86-64-v3, for example, here and there.
    """
    from protobandit.foundation.errors import NotAvailable
    from protobandit.interfaces.jobs.compilation import compile_usual

    started = perf_counter()
    code = compile_usual()
    seconds = perf_counter() - started
    if code.folder is None:
        raise NotAvailable(
            "Compiled code cannot be kept: its folder cannot be written. Set "
            "PROTOBANDIT_CODE_FOLDER to a folder that can be written, here and for later calls."
        )
    n_compiled, n_loaded = len(code.compiled), len(code.loaded)
    if as_json:
        counts = {"compiled": n_compiled, "loaded": n_loaded}
        output.print_json({"folder": code.folder, **counts, "seconds": round(seconds, 1)})
        return
    output.print_text(
        f"Compiled functions: {n_compiled}. Already there: {n_loaded}. Seconds: {seconds:.0f}.\n"
        f"Folder: {code.folder}\n"
    )
