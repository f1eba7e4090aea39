"""`cugraph-ws run my_program.py:WidestPath edges.parquet source=berlin`: runs a user's program."""

from __future__ import annotations

import csv
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from cugraph_ws.cli.options import A_FILE, Job, job_options, program_options
from cugraph_ws.errors import CugraphWsError, FileError, InputError, ProgramError
from cugraph_ws.execution import options
from cugraph_ws.execution.loop import NO_EDGE_STATE
from cugraph_ws.runtime.paths import native_path

if TYPE_CHECKING:
    from cugraph_ws.program.phases import Phases
    from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["load_program", "run_command"]


@click.command("run")
@click.argument("program", metavar="FILE.py:PROGRAM")
@job_options
@click.argument("parameters", nargs=-1, metavar="[NAME=VALUE]...")
@click.option(
    "--edge-output",
    type=A_FILE,
    metavar="FILE",
    help="Write the state that the program keeps on edges, a row for each edge; formats as for -o.",
)
@program_options
def run_command(
    job: Job, program: str, parameters: tuple[str, ...], edge_output: Path | None
) -> None:
    """Run a vertex program of your own.

    The program is a class decorated with @ws.vertex_program in a Python file, or several of them
    combined by ws.phases.  Its parameters are given as NAME=VALUE: a number, true or false, a vertex
    id, several vertex ids separated by commas (by semicolons if an id has several columns), the name
    of a column of --vertices, or @FILE for a file of vertices.
    """
    from cugraph_ws.program.conventions import needs_weight
    from cugraph_ws.program.phases import programs_of
    from cugraph_ws.program.vertex_program import VertexProgram

    job.check_outputs()
    if edge_output is not None:
        job.check_output(edge_output)
    loaded = load_program(program)
    keeps_state = isinstance(loaded, VertexProgram) and loaded.edge_state and not loaded.scatters
    if edge_output is not None and not keeps_state:
        raise InputError(f"--edge-output {edge_output}: {NO_EDGE_STATE}")

    def weighted(columns: Iterable[Any]) -> bool:
        return any(needs_weight(program, columns) for program in programs_of(loaded))

    with job.graph(tuple(loaded.edges), weighted=weighted) as graph:
        arguments = _parse(job, loaded, parameters)
        # A program that declares how many supersteps it has, and no residual, is done after them
        limits_itself = (
            isinstance(loaded, VertexProgram)
            and loaded.max_iter is not None
            and loaded.residual is None
        )
        job.run(
            graph,
            loaded,
            limited=limits_itself or job.options.max_iter is not None,
            edge_output=edge_output,
            **arguments,
        )


def load_program(text: str) -> VertexProgram | Phases:
    """Import a user's file and return a program in it.

    Parameters
    ----------
    text : str
        `path/to/file.py:Name`.

    Returns
    -------
    VertexProgram or Phases
        The program of that name.

    Raises
    ------
    FileError
        If there is no such file.
    ProgramError
        If the file cannot be imported.
    InputError
        If it has no such program.
    """
    from cugraph_ws.program.phases import programs_of

    file, _, name = text.rpartition(":")
    path = native_path(file)
    if path.suffix != ".py" or not name:
        raise InputError(f"{text!r} is not a program; write it as path/to/file.py:Program")
    if not os.path.isfile(path):
        raise FileError(f"{path}: there is no such file; check the path")
    module = _import(path)
    program: VertexProgram | Phases | None = getattr(module, name, None)
    if program is None or not programs_of(program):
        keys = [key for key, value in vars(module).items() if programs_of(value)]
        raise InputError(
            f"{path} has no vertex program {name!r}; it has: {', '.join(keys) or 'none'}"
        )
    return program


def _import(path: Path) -> ModuleType:
    """Import a file as Python would run it: with its folder first on the path."""
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module  # needed to evaluate annotations and to cache code
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except CugraphWsError:
        raise
    except (Exception, SystemExit) as error:
        raise ProgramError(
            f"{path} cannot be imported: {type(error).__name__}: {error}; run it with Python to see why"
        ) from error
    finally:
        sys.path.remove(folder)
        if before is not None:
            sys.modules[path.stem] = before
    return module


def _parse(job: Job, program: VertexProgram | Phases, words: Sequence[str]) -> dict[str, Any]:
    """Convert NAME=VALUE words to the values of the program's declared parameters."""
    parsed: dict[str, Any] = {}
    for word in words:
        name, separator, text = word.partition("=")
        if not separator:
            raise click.UsageError(f"{word!r} is not a parameter; write it as NAME=VALUE")
        if name in parsed:
            raise click.UsageError(f"{name} is given twice")
        if name in options.declared():
            raise click.UsageError(
                f"{name} is an option of the run; give it as --{name.replace('_', '-')}"
            )
        declared = program.parameters.get(name, program.constants.get(name))
        parsed[name] = _value(job, name, declared, text)
    return parsed


def _value(job: Job, name: str, declared: Any, text: str) -> Any:
    """Return a parameter's value; the program itself refuses undeclared names."""
    from cugraph_ws.program.declarations import ScalarType, VertexParameter, VertexSet

    if isinstance(declared, VertexParameter):
        return job.vertex_id(text, name)
    if text.startswith("@"):
        path = Path(text[1:])
        return (
            job.ids_in(path, name) if isinstance(declared, VertexSet) else job.read_vertices(path)
        )
    if isinstance(declared, VertexSet):
        separator = "," if len(job.id_types) == 1 else ";"
        return job.vertex_ids(next(csv.reader([text], delimiter=separator), []), name)
    declared_type = getattr(declared, "type", None)
    if isinstance(declared_type, ScalarType) and declared_type.dtype.kind == "b":
        return {"true": True, "false": False}.get(text.lower(), text)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
