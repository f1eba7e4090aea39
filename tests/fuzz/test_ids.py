"""A short run of the fuzzer of ids: every library, and every kind of column of each."""

import pytest
import stand_in_cudf
from emulator.device import emulated

from fuzz import ids

SEED = 7


def run(library, numbers):
    counts, failures = ids.run(SEED, numbers, [library], real=False)
    assert not failures, failures[0]
    return counts


@pytest.mark.parametrize("library", [name for name in ids.LIBRARIES if name != "cudf"])
def test_the_right_answer_or_our_error(library):
    counts = run(library, range(40))
    assert counts["yes"] > counts["no"]
    assert counts.total() == 40


def test_the_same_on_an_emulated_device():
    assert run("cudf", range(5))["yes"] > 0


def test_frames_of_every_kind_of_column_are_made_or_refused():
    """Without the algorithms: a column of every kind, in a graph of three edges."""
    for library, kinds in ids.LIBRARIES.items():
        for kind in kinds():
            case = ids.Case(SEED, 0, [library])
            case.kinds = case.others = [kind]
            case.null = case.weight = case.more = None
            pool = ids.pool_of(kind.pool, case.rng)
            case.edges = [((pool[0],), (pool[1],)), ((pool[1],), (pool[-1],)), ((pool[0],),) * 2]
            with emulated(), stand_in_cudf.installed():
                try:
                    graph, _ = case.graph()
                except ids.ws.InputError:
                    assert case.status != "yes", (library, kind.name)
                else:
                    assert case.status != "no", (library, kind.name)
                    assert graph.number_of_vertices == len({pool[0], pool[1], pool[-1]})


def test_it_sees_what_is_wrong(monkeypatch):
    monkeypatch.setattr(ids.ws, "bfs", lambda graph, start: ids.ws.core_number(graph))
    monkeypatch.setattr(ids.Answers, "cores", lambda self: dict.fromkeys(self.points, -1))
    _, failures = ids.run(SEED, range(12), ["pandas"], real=False)
    assert failures


def test_the_command_line(capsys):
    with pytest.raises(SystemExit) as told:
        ids.main(["--count", "3", "--jobs", "1", "--library", "pyarrow"])
    assert told.value.code == 0
    assert ", 0 wrong" in capsys.readouterr().out
    ids.main(["--only", "1", "--library", "arrays"])
    assert capsys.readouterr().out.splitlines()[-1] in ("yes", "no")
