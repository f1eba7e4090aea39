"""The Python blocks of the README and of the guide are run unchanged, top to bottom, and commands parsed."""

import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import cugraph_ws as ws
from cugraph_ws.cli.main import commands
from cugraph_ws.graph import generators

ROOT = Path(__file__).parents[2]
README = "README.md"
GUIDE = "docs/site/guide/"
CHECKS = {  # what is true after the blocks of a page
    README: """
assert widths.set_index("vertex")["width"].to_dict() == {
    "berlin": math.inf, "cologne": 2.0, "hamburg": 4.0, "leipzig": 6.0, "munich": 3.0
}
""",
    GUIDE + "graphs.md": """
assert list(near["distance"]) == [0.0, 3.0, 1.0]
assert abs(ranks["pagerank"].sum() - 1) < 1e-9
""",
    GUIDE + "functions.md": """
assert abs(ranks["pagerank"].sum() - 1) < 1e-9
assert graph.number_of_vertices == 3
""",
    GUIDE + "runs.md": "assert result.converged",
    GUIDE + "programs.md": """
assert flow["water"].tolist() == [3.0, 1.0, 4.0, 3.0]  # lake, mill, spring, town
assert similar.values.tolist() == [[1.0, 2.0, 1 / 3], [1.0, 7.0, 1 / 3], [2.0, 7.0, 1 / 3]]
""",
}


def text_of(page):
    return (ROOT / page).read_text()


def blocks(language, page=README):
    """The text of every fenced block in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


def test_the_readme_is_short():
    assert len(text_of(README)) <= 9000


@pytest.mark.parametrize("page", CHECKS)
def test_python_blocks_run_in_order(page, tmp_path):
    # In a file of their own: a vertex program's source must be found.
    script = tmp_path / "readme.py"
    script.write_text("\n".join([*blocks("python", page), CHECKS[page]]))
    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def test_the_gpu_block_runs_in_the_emulator(tmp_path):
    script = tmp_path / "readme.py"
    setup = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import math
import stand_in_cudf
from emulator.device import emulated
import cugraph_ws as ws
from cugraph_ws.backends.cuda import schedule
schedule.BLOCK = 32
"""
    program = next(block for block in blocks("python") if "class WidestPath" in block)
    program = program[: program.index("widths =")]
    body = "".join(f"    {line}\n" for line in "".join(blocks("python gpu")).splitlines())
    checks = """
    assert abs(float(ranks["pagerank"].sum()) - 1) < 1e-6
    assert widths["width"].to_arrow().to_pylist() == [math.inf, 6.0, 4.0, 3.0]
    assert reached["distance"].to_arrow().to_pylist() == [0, 1, 1, 2]
"""
    script.write_text(
        f"{setup}\n{program}\nwith emulated(), stand_in_cudf.installed():\n{body}{checks}"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_the_cluster_block_takes_parquet_to_parquet(tmp_path):
    edges = generators.erdos_renyi(50, 200, seed=1, frame="pyarrow")
    (tmp_path / "edges").mkdir()
    for place in range(2):
        pq.write_table(edges.slice(100 * place, 100), tmp_path / "edges" / f"{place}.parquet")
    body = "".join(f"    {line}\n" for line in "".join(blocks("python cluster")).splitlines())
    script = tmp_path / "readme.py"
    script.write_text(
        f"import cugraph_ws as ws\n\ndef main():\n{body}\nif __name__ == '__main__':\n    main()\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = pq.read_table(tmp_path / "ranks").sort_by("vertex").to_pydict()
    expected = ws.pagerank(edges)
    assert found["vertex"] == expected["vertex"].to_pylist()
    assert found["pagerank"] == pytest.approx(expected["pagerank"].to_pylist())


@pytest.mark.parametrize(
    "line",
    [
        line
        for page in (README, GUIDE + "command-line.md")
        for line in "".join(blocks("bash", page)).splitlines()
        if "cugraph-ws" in line
    ],
)
def test_commands_exist_and_take_their_options(line):
    words = shlex.split(line, comments=True)
    command = commands.get_command(None, words[1])
    assert command is not None
    known = {name for parameter in command.params for name in parameter.opts}
    known |= {"--help"}
    if words[1] == "generate":
        assert CliRunner().invoke(commands, words[1:]).exit_code == 0
        return
    assert {word for word in words[2:] if word.startswith("-")} <= known


def calls_of_the_table():
    """The calls in the first columns of the tables of algorithms."""
    return re.findall(r"^\| `(\w+)\((.*?)\)` \|", text_of(GUIDE + "functions.md"), re.MULTILINE)


@pytest.mark.parametrize(("name", "arguments"), calls_of_the_table())
def test_the_table_shows_the_functions_as_they_are(name, arguments):
    parameters = list(inspect.signature(getattr(ws, name)).parameters.values())
    shown = [one.strip() for one in arguments.split(",")]
    if shown[-1] == "…":
        shown.pop()
    if "*" in shown:
        place = shown.index("*")
        shown.pop(place)
        named = [one.kind for one in parameters].index(inspect.Parameter.KEYWORD_ONLY)
        assert named == place
    for text, parameter in zip(shown, parameters, strict=False):
        word, _, default = text.partition("=")
        assert word == {"graph": "g"}.get(parameter.name, parameter.name)
        assert default in ("", repr(parameter.default))


def test_the_table_shows_every_function():
    functions = {
        name
        for name, value in vars(ws).items()
        if inspect.isfunction(value) and "graph" in inspect.signature(value).parameters
    }
    assert functions - {"run", "run_many", "check", "explain", "layout", "plot"} == {
        name for name, _ in calls_of_the_table()
    }


def test_the_two_commands_are_there():
    scripts = re.findall(r"^bash (\S+)", "".join(blocks("bash")), re.MULTILINE)
    assert scripts == ["ci/demo.sh", "ci/test.sh"]
    assert all((ROOT / script).is_file() for script in scripts)
