"""Partitions on the device, in the emulator: the answers of one partition, and no byte too many."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import hypothesis
import numpy as np
import pytest
from cuda_cases import (
    CASES,
    SUMS,
    Case,
    Growth,
    Pairs,
    Steps,
    check_same,
    graph_of,
    medley,
    set_classes,
)
from emulator.device import emulated
from hypothesis import strategies as st
from plans import planned
from programs import Fading, Hops, Labels, Nearest, Paths, Peel, Rank, Widest
from shapes import SHAPES, grid, random_edges, rmat, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda.executor import CudaExecutor
from cugraph_ws.execution.partitioned_loop import PartitionedLoop
from cugraph_ws.graph.owners import Owners
from cugraph_ws.partition.cut import even_offsets, own_constants, shards_of
from cugraph_ws.partition.exchange import NoExchange, Traffic
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.program.binding import bind
from cugraph_ws.runtime.thread_ranks import ThreadRanks

BY_NAME = {case.name: case for case in CASES}
EXCHANGES = ("vr", "ms", "all", "auto")
BATTERY = {
    **{name: edges for name, edges in SHAPES.items() if len(edges.source) < 60},
    "rmat": rmat(4, 4, seed=1),
    "grid": grid(4, 3, drop=0.2, seed=2),
    "ties and zeros": random_edges(16, 50, seed=6, weights="ties"),
}
MORE = 1 << 10  # means more partitions than vertices


@pytest.fixture(autouse=True)
def small_classes(monkeypatch):
    """Let small partitions have hubs in chunks, vertices with a warp each, and several blocks."""
    set_classes(monkeypatch, block=32, hub=12, chunk=8, middle=5)


def on_device(case, graph, partitions, exchange="auto", seed=0, **options):
    parts = graph.number_of_vertices + 2 if partitions == MORE else partitions
    with emulated(seed, multiprocessors=1 + seed % 2):
        return case.run(graph, engine="cuda", partitions=parts, exchange=exchange, **options)


def expected_of(case, graph, **options):
    return case.run(graph, engine="python", fused=False, **options)


# ------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs(case):
    partitions = 2 + len(case.name) % 2
    exchange = EXCHANGES[(len(case.name) + partitions) % 4]
    with graph_of(medley((26, 12, 7, 5, 4, 3, 1), 30)) as graph:
        found = on_device(case, graph, partitions, exchange, seed=len(case.name))
        check_same(found, expected_of(case, graph), case)


@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name):
    """One of two programs, exchanged in one of the ways; all of them over the battery."""
    edges = BATTERY[name]
    sums = Case(name, Rank, {}, {"max_iter": 3}, SUMS, counted=True)
    seeds = {"source": [0] if edges.n else []}
    place = list(BATTERY).index(name)
    case = (sums, Case(name, ws.SSSP, seeds))[place % 2]
    partitions = (2, 3, MORE if edges.n <= 12 else 4)[place % 3]
    with graph_of(edges) as graph:
        exchange = EXCHANGES[place // 2 % 4]
        found = on_device(case, graph, partitions, exchange, seed=place)
        check_same(found, expected_of(case, graph), case)


@pytest.mark.parametrize("case", CASES[::6], ids=lambda case: case.name)
def test_more_partitions_than_vertices(case):
    edges = undirected(SHAPES["short path"]) if case.name != "labels" else SHAPES["two components"]
    given = {
        name: 0 if name == "start" else [0] if name == "seeds" else value
        for name, value in case.given.items()
    }
    case = Case(case.name, case.program, given, case.options, case.tolerance, case.counted)
    with graph_of(edges) as graph:
        check_same(on_device(case, graph, MORE, seed=3), expected_of(case, graph), case)


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize(
    ("case", "options"),
    [
        (BY_NAME["shortest paths"], {"direction": "gather"}),
        (BY_NAME["shortest paths"], {"direction": "gather", "in_place": True}),
        (BY_NAME["widest paths"], {}),
        (BY_NAME["sums of a frontier"], {}),
        (BY_NAME["any from an outbox"], {}),
        (BY_NAME["custom combine from an outbox"], {}),
        (BY_NAME["custom combine of tuples"], {"method": "vwc-4"}),
        (BY_NAME["superstep, parameter, aggregates"], {"method": "vwc-8"}),
    ],
    ids=lambda given: given.name if isinstance(given, Case) else str(given),
)
def test_every_exchange(case, options, half):
    """In two of the four ways."""
    exchange = EXCHANGES[list(BY_NAME).index(case.name) % 2 + 2 * half]
    with graph_of(medley((14, 7, 5, 4, 3, 1), 24)) as graph:
        found = on_device(case, graph, 3, exchange, seed=5, **options)
        check_same(found, expected_of(case, graph), case)


@pytest.mark.parametrize("program", [ws.SSSP, ws.WidestPath])
def test_predecessors_where_paths_tie(program):
    edges = random_edges(24, 110, seed=6, weights="ties")
    edges = Edges(edges.source, edges.destination, edges.n, np.minimum(edges.weight, 0.5))
    case = Case("", program, {"source": [3]})
    with graph_of(edges) as graph:
        for partitions in (2, 4):
            check_same(on_device(case, graph, partitions), expected_of(case, graph), case)


def test_predecessors_from_partition_to_partition():
    """A chain of no weight that changes sides with every link."""
    order = np.array([0, 5, 1, 6, 2, 7, 3, 8, 4])
    case = Case("", ws.SSSP, {"source": [0]})
    with graph_of(Edges(order[:-1], order[1:], 9, np.zeros(8))) as graph:
        found = on_device(case, graph, 2)
    assert found.arrays["predecessor"].numbers.tolist() == [-1, 5, 6, 7, 8, 0, 1, 2, 3]


@pytest.mark.parametrize("most", [0, 1, 5])
def test_the_most_supersteps(most):
    case = Case("", Rank, {}, {"max_iter": most, "tol": 0.0}, SUMS, counted=True)
    with graph_of(SHAPES["two components"]) as graph:
        expected = expected_of(case, graph)
        assert (expected.stopped, expected.iterations) == ("max_iter", most)
        check_same(on_device(case, graph, 3), expected, case)


@pytest.mark.parametrize("tol", [0.3, 1e-4])
def test_the_tolerance_bounds_all_partitions(tol):
    case = Case("", Rank, {}, {"tol": tol}, SUMS, counted=True)
    with graph_of(SHAPES["duplicates"]) as graph:
        expected = expected_of(case, graph)
        assert expected.converged
        check_same(on_device(case, graph, 3), expected, case)


def test_beyond_the_finite_numbers():
    case = Case("", Growth, counted=True)
    with graph_of(undirected(SHAPES["one edge"])) as graph:
        expected, found = expected_of(case, graph), on_device(case, graph, 2)
    assert found.stopped == expected.stopped == "diverged"
    assert found.iterations == expected.iterations


def test_a_ghost_starts_active_though_its_owner_does_not():
    """Each side is alike in itself, so that either seems to have nothing to say."""
    left, right = np.arange(40), np.arange(40, 80)
    source = np.concatenate([left[:-1], right[:-1], left])
    target = np.concatenate([left[1:], right[1:], right])

    with graph_of(Edges(source, target, 80)) as graph:
        case = Case("", Levels)
        for partitions in (1, 2):
            check_same(on_device(case, graph, partitions), expected_of(case, graph), case)


@ws.vertex_program
class Levels:
    """A maximum that begins at one of two levels."""

    level: ws.int64

    def init(vertex):
        return 1 if vertex < 40 else 0

    def compute(src):
        return src.level

    combine = max

    def apply(old, gathered):
        return max(old.level, gathered)


# --------------------------------------------------------------------------------- what is sent


def history_of(monkeypatch, program, graph, **options):
    """Run a program; return its trace, and all state fields before and after every superstep."""
    states = []

    def note(loop):
        shares = [one.own_state() for one in loop._loops]
        states.append({name: np.concatenate([one[name] for one in shares]) for name in shares[0]})

    def step(loop, plain=PartitionedLoop.step):
        if not states:
            note(loop)
        done = plain(loop)
        note(loop)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(PartitionedLoop, "step", step)
        result = ws.run(program, graph, **planned(**options))
    return result.trace, states


def boundaries_of(edges, cuts):
    """For each pair of partitions, the vertices of the first that the second has arcs from."""
    source, target, _ = edges.arcs()
    owner = np.searchsorted(cuts, np.arange(edges.n), side="right") - 1
    pairs = {}
    for one in range(len(cuts) - 1):
        for other in range(len(cuts) - 1):
            crossing = (owner[source] == one) & (owner[target] == other)
            if one != other:
                pairs[one, other] = np.unique(source[crossing])
    return pairs


def bytes_by_oracle(exchange, boundaries, cuts, news, width, flag):
    """Return bytes sent and useful for each superstep: of vertices that are active after it."""
    refining = dict.fromkeys(boundaries, flag == 1)
    rows = []
    for changed in news:
        sent = useful = 0
        for (one, other), boundary in boundaries.items():
            told = int(changed[boundary].sum())
            owned = range(cuts[one], cuts[one + 1])
            if exchange == "all":
                sent += len(owned) * (width + flag)
                useful += int(changed[owned].sum()) * width
                continue
            refine = {"vr": True, "ms": False}.get(exchange, refining[one, other])
            sent += told * (width + 4) if refine else len(boundary) * (width + flag)
            useful += told * width
            listed_is_less = told * (width + 4) < len(boundary) * (width + flag)
            refining[one, other] = flag == 1 and listed_is_less
        rows.append((sent, useful))
    return rows


SENT = {  # program, arguments, bytes of the fields that its messages read, how changes show
    "a minimum": (Hops, {"start": 0}, 8, lambda old, new: old["hops"] != new["hops"]),
    "one of two fields": (Rank, {"max_iter": 6}, 8, lambda old, new: old["share"] != new["share"]),
    "no field at all": (Peel, {"k": 2}, 0, lambda old, new: old["alive"] & ~new["alive"]),
    "an outbox": (Paths, {}, 8, lambda old, new: old["value"] != new["value"]),
    "three fields, of three types": (
        Pairs, {}, 9,
        lambda old, new: np.any([old[name] != new[name] for name in old], axis=0),
    ),
    "all, for predecessors": (Widest, {"start": 0}, 8, lambda old, new: old["width"] != new["width"]),
}  # fmt: skip


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("name", SENT)
def test_bytes(name, exchange, monkeypatch):
    program, given, width, news_of = SENT[name]
    edges = rmat(5, 3, seed=9)
    edges = Edges(edges.source, edges.destination, edges.n, np.arange(len(edges.source)) % 5 + 0.5)
    with graph_of(edges) as graph, emulated(seed=2):
        cuts = even_offsets(graph, 3)
        trace, states = history_of(
            monkeypatch, program, graph, engine="cuda", partitions=3, exchange=exchange, **given
        )
    dense = trace["direction"].tolist()[0] == "gather"
    assert len(states) == len(trace) + 1 > 2
    news = [news_of(*pair) for pair in pairwise(states)]
    expected = bytes_by_oracle(
        exchange, boundaries_of(edges, cuts), cuts, news, width, 0 if dense else 1
    )
    found = zip(trace["bytes_sent"].tolist(), trace["bytes_useful"].tolist(), strict=True)
    assert list(found) == expected
    assert sum(sent for sent, _ in expected) > 0


def test_states_changed_in_place_are_sent_without_indices():
    """Nobody can tell what has changed: then all goes, and no place has to be told."""
    sent = {}
    with graph_of(BATTERY["rmat"]) as graph:
        for exchange in ("vr", "ms"):
            case = Case("", Labels, {}, {"direction": "gather", "in_place": True})
            sent[exchange] = on_device(case, graph, 2, exchange).trace["bytes_sent"].tolist()
    assert sent["vr"] == sent["ms"]
    assert sum(sent["vr"]) > 0


def test_a_superstep_is_read_once_by_each_executor():
    counted = {}
    with graph_of(BATTERY["rmat"]) as graph:
        for most in (1, 1, 2, 6):  # the first run lays the shards out
            with emulated() as device:
                ws.run(
                    Rank, graph, engine="cuda", plan=ws.Plan(partitions=3), max_iter=most, tol=0.0
                )
                counted[most] = device.downloads
    assert counted[2] - counted[1] == 3
    assert counted[6] - counted[2] == 12


def test_an_update_outlives_the_next_superstep():
    """What has been packed may be on its way while the next superstep is packed."""
    with graph_of(BATTERY["rmat"]) as graph, emulated():
        bound = bind(Rank, graph, {})
        shard = shards_of(graph, ThreadRanks(2))[0]
        bound = own_constants(bound, shard)
        part = ProgramPart(shard, bound, on_device=True)
        executor = CudaExecutor(bound, part)
        executor.start()
        kept = []
        sums = executor.counts().sums
        for number in range(3):
            executor.superstep(_gather(number), sums)
            (update,) = executor.seal([executor.pack(part.boundaries[1], refine=False)])
            executor.counts()
            kept.append((update, update.fields[0].copy()))
    (first, _), (second, then), (third, last) = kept
    np.testing.assert_array_equal(second.fields[0], then)
    np.testing.assert_array_equal(third.fields[0], last)
    assert not np.array_equal(then, last)
    np.testing.assert_array_equal(first.fields[0], last, "its box came round again")


def _gather(number):
    from cugraph_ws.contract import Choice

    return Choice("gather", number=number)


# --------------------------------------------------------------------------- kernels by themselves

COUNTS = (0, 1, 31, 32, 33, 65, 130, 600)  # a warp takes 256 at once


def kernels_of(device, program, given, **options):
    with graph_of(SHAPES["two components"]) as graph:
        bound = bind(program, graph, given)
        return CudaExecutor(bound, ProgramPart(graph, bound, on_device=True), **options)._kernels


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (1, 96), (3, 32), (2, 64), (5, 128)])
def test_packing_and_unpacking_with_odd_launches(count, blocks, threads):
    generator = np.random.default_rng(count + blocks)
    old = (generator.integers(0, 3, 700), generator.integers(0, 2, 700) / 2.0)
    new = tuple(np.where(generator.random(700) < 0.2, one + 1, one) for one in old)
    boundary = generator.permutation(700)[:count].astype(np.int32)
    changed = (old[0] != new[0]) | (old[1] != new[1])
    none = np.zeros(0, np.uint8)
    with emulated(seed=count) as device:
        kernels = kernels_of(device, Nearest, {"seeds": [0]})
        lengths = np.zeros(3, np.int64)
        places, box = np.full(count, -1, np.int32), tuple(np.empty(count, one.dtype) for one in old)
        head = (boundary, count, old[::-1], new[::-1], none, lengths)  # distance, then seed
        kernels.launch("pack_changed", blocks, threads, *head, 1, places, box[::-1])
        length = int(lengths[1])
        assert lengths.tolist() == [0, np.count_nonzero(changed[boundary]), 0]
        assert sorted(places[:length].tolist()) == np.flatnonzero(changed[boundary]).tolist()
        assert (places[length:] == -1).all()
        for held, one in zip(box, new, strict=True):
            np.testing.assert_array_equal(held[:length], one[boundary[places[:length]]])
        ghosts = [tuple(np.zeros(count + 7, one.dtype) for one in old) for _ in range(2)]
        turned = [one[::-1] for one in ghosts]
        kernels.launch(
            "unpack", blocks, threads, 4, length, 1, places, box[::-1], *turned, none, none,
            np.empty(0), -1,
        )  # fmt: skip
        for copy in ghosts:
            for held, one in zip(copy, new, strict=True):
                came = np.where(changed[boundary], one[boundary], 0)
                np.testing.assert_array_equal(
                    held, np.concatenate([np.zeros(4), came, np.zeros(3)])
                )
        whole = tuple(np.empty(count, one.dtype) for one in old)
        kernels.launch("pack_all", blocks, threads, *head, 0, whole[::-1], none)
        assert lengths[0] == np.count_nonzero(changed[boundary])
        for held, one in zip(whole, new, strict=True):
            np.testing.assert_array_equal(held, one[boundary])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (3, 64), (2, 96)])
def test_activity_travels_with_odd_launches(count, blocks, threads):
    generator = np.random.default_rng(count + blocks)
    flags = (generator.random(700) < 0.3).astype(np.uint8)
    state = (np.arange(700),)
    boundary = generator.permutation(700)[:count].astype(np.int64)
    told = flags[boundary]
    with emulated(seed=count) as device:
        kernels = kernels_of(device, Hops, {"start": 0}, frontier=True)
        lengths, active = np.zeros(1, np.int64), np.empty(count, np.uint8)
        box, places = (np.empty(count, np.int64),), np.zeros(count, np.int32)
        head = (boundary, count, state, state, flags, lengths, 0)
        kernels.launch("pack_all", blocks, threads, *head, box, active)
        np.testing.assert_array_equal(active, told)
        assert lengths[0] == told.sum()
        nowhere = np.empty(0, np.int32)
        ghosts, marked = (np.zeros(count, np.int64),), np.full(count, 7, np.uint8)
        tail = (ghosts, ghosts, marked)
        unread = np.empty(0), -1
        kernels.launch("unpack", blocks, threads, 0, count, 0, nowhere, box, *tail, active, *unread)
        np.testing.assert_array_equal(marked, told)
        np.testing.assert_array_equal(ghosts[0], boundary)
        lengths[:], marked[:], ghosts[0][:] = 0, 0, -1
        kernels.launch("pack_changed", blocks, threads, *head, places, box)
        length = int(lengths[0])
        kernels.launch(
            "unpack", blocks, threads, 0, count, 1, places, box, *tail, np.empty(0, np.uint8),
            np.array([length + 1.0, length]), 1,
        )  # fmt: skip
        np.testing.assert_array_equal(marked, told)
        np.testing.assert_array_equal(ghosts[0], np.where(told, boundary, -1))


# ----------------------------------------------------------------------------------- partitions


@pytest.mark.parametrize("parts", [1, 2, 3, 9])
@pytest.mark.parametrize("name", ["rmat", "grid", "two components", "self-loops", "empty"])
def test_layout(name, parts):
    edges = BATTERY[name]
    weight = np.arange(len(edges.source)) / 2
    with graph_of(Edges(edges.source, edges.destination, edges.n, weight)) as graph, emulated():
        bound = bind(Steps if parts == 9 else ws.SSSP, graph, {} if parts == 9 else {"source": []})
        shards = shards_of(graph, ThreadRanks(parts))
        bounds = [own_constants(bound, shard) for shard in shards]
        host = [ProgramPart(*pair, on_device=False) for pair in zip(shards, bounds, strict=True)]
        held = [ProgramPart(*pair, on_device=True) for pair in zip(shards, bounds, strict=True)]
        for one, there in zip(host, held, strict=True):
            assert (there.vertices, there.owned) == (one.vertices, one.owned)
            assert (there.size, there.ghosts) == (one.size, [*map(tuple, one.ghosts)])
            assert there.divided is (parts > 1)
            numbers = there.numbers
            degrees = np.diff(there.csc.offsets)
            assert (np.diff(degrees[: one.owned]) <= 0).all(), "falling in-degree"
            assert not degrees[one.owned :].any(), "ghosts have no rows"
            np.testing.assert_array_equal(numbers[one.owned :], one.numbers[one.owned :])
            np.testing.assert_array_equal(there.by_number(numbers), one.numbers[: one.owned])
            np.testing.assert_array_equal(there.laid.by_position(one.numbers), numbers)
            assert there.laid.vertices_with(2) == np.count_nonzero(np.diff(one.csc.offsets) >= 2)
            for given, laid in zip(one.constants, there.constants, strict=True):
                if len(given) == one.size:
                    np.testing.assert_array_equal(there.laid.by_position(given), laid)
            arcs = set(zip(*arcs_of(there.csc, numbers, there.edges("csc")), strict=True))
            assert arcs == set(zip(*arcs_of(one.csc, one.numbers, one.edges("csc")), strict=True))
            turned = arcs_of(there.laid.csr, numbers, there.edges("csr"))
            assert {(v, u, w) for u, v, w in zip(*turned, strict=True)} == arcs
        for place, there in enumerate(held):
            for peer, boundary in enumerate(there.boundaries):
                first, last = held[peer].ghosts[place]
                np.testing.assert_array_equal(
                    there.numbers[boundary], held[peer].numbers[first:last]
                )


def arcs_of(rows, numbers, edges):
    """Return the ends of all arcs, as vertex numbers: of the rows, of what is listed; and weights."""
    count = len(rows.indices)
    row = np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets))
    weight = edges[0] if edges and len(edges[0]) == count else np.zeros(count)
    return numbers[row].tolist(), numbers[rows.indices].tolist(), weight.tolist()


def test_a_partition_is_made_of_arrays_alone():
    """As a worker of a cluster makes it: nothing of the graph but its own part is there."""
    with emulated(seed=1), graph_of(SHAPES["two components"]) as any_graph:
        bound = bind(ws.BFS, any_graph, {"start": [0]})
        # vertices 10, 11 | 12, which reads both; 11 reads 12
        arcs = [np.array([[12], [11]]), np.array([[10, 11], [12, 12]])]

        def part_of(comm):
            shard = ShardGraph(
                comm, Owners(np.array([10, 12, 13]), comm.rank), *arcs[comm.rank], {},
                vertices=None, kind=None, names=(["source"], ["destination"]),
            )  # fmt: skip
            starts = (shard.positions == 12,)
            return ProgramPart(shard, replace(bound, constants=starts), on_device=True)

        parts = ThreadRanks(2).call(part_of)
        assert [part.numbers.tolist() for part in parts] == [[11, 10, 12], [12, 10, 11]]
        assert [one.tolist() for one in parts[0].boundaries] == [[], [1, 0]]
        executors = [CudaExecutor(bound, part, frontier=True) for part in parts]
        for one in executors:
            one.start()
        assert [one.counts().active for one in executors] == [0, 1]
        for number in range(2):
            for one in executors:
                one.superstep(_gather(number), np.zeros(0))
            packed = [
                one.pack(parts[place].boundaries[1 - place], refine=True)
                for place, one in enumerate(executors)
            ]
            sealed = [one.seal([two])[0] for one, two in zip(executors, packed, strict=True)]
            for place, one in enumerate(executors):
                one.unpack(*parts[place].ghosts[1 - place], sealed[1 - place])
                one.counts()
        hops = [next(iter(one.columns().values())).tolist() for one in executors]
        assert hops[0][1] == 1
        assert hops[1] == [0]


def test_a_partition_that_does_not_fit():
    with graph_of(BATTERY["rmat"]) as graph, emulated(memory=100):
        bound = bind(Rank, graph, {})
        shard, _ = shards_of(graph, ThreadRanks(2))
        with pytest.raises(ws.GraphMemoryError):
            ProgramPart(shard, own_constants(bound, shard), on_device=True)


# ------------------------------------------------------------------------------ checkpoints, errors

RESUMED = {
    "sums": Case("", Rank, {}, {"tol": 1e-3}, SUMS, counted=True),
    "aggregate of the number": Case("", Fading, tolerance=SUMS),
    "outbox": Case("", Paths, {}, {"max_iter": 8}, SUMS, counted=True),
    "frontier": Case("", Peel, {"k": 2}, {"direction": "pull"}),
    "tuples": Case("", Nearest, {"seeds": [0]}, {"priorities": False}),
}


ORDERS = (
    (("cuda", 3), ("python", 2)), (("python", 2), ("cuda", 3)), (("cuda", 1), ("cuda", 2)),
)  # fmt: skip


@pytest.mark.parametrize("name", RESUMED)
def test_checkpoints_go_from_partitions_to_partitions(name, tmp_path, monkeypatch):
    """One program each; all orders over the programs."""
    order = ORDERS[list(RESUMED).index(name) % 3]
    monkeypatch.setattr("cugraph_ws.backends.cuda.planner.FIRST_BATCH", 2)
    case, path = RESUMED[name], tmp_path / "state.parquet"
    (first_engine, first_parts), (then_engine, then_parts) = order
    with graph_of(undirected(SHAPES["short path"])) as graph, emulated(seed=8):
        expected = expected_of(case, graph)
        first = case.run(
            graph, engine=first_engine, partitions=first_parts, fused=False, checkpoint=path,
            progress=lambda update: update.superstep < 2,
        )  # fmt: skip
        assert first.stopped == "callback"
        resumed = case.run(
            graph, engine=then_engine, partitions=then_parts, fused=False, resume=path
        )
    assert resumed.iterations > first.iterations
    check_same(resumed, expected, case)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"direction": "push"}, "partitions cannot push on the GPU"),
        ({"filter": "ballot"}, "lists no frontier"),
        ({"exchange": "some"}, "exchange='some' is not known"),
    ],
)
def test_impossible_runs_are_refused(options, told):
    with (
        graph_of(SHAPES["path"]) as graph,
        emulated(),
        pytest.raises(ws.InputError, match=told),
    ):
        ws.run(Hops, graph, **planned(start=0, engine="cuda", partitions=2, **options))


def test_one_partition_exchanges_nothing():
    with graph_of(SHAPES["path"]) as graph, emulated():
        bound = bind(Hops, graph, {"start": 0})
        executor = CudaExecutor(bound, ProgramPart(graph, bound, on_device=True))
        executor.start()
        executor.superstep(_gather(0), executor.counts().sums)
        assert NoExchange().exchange(executor, _gather(0))[1] == Traffic()


# --------------------------------------------------------------------------------- random graphs

FEW = ("minimum pulled", "tuple messages", "sums of a frontier", "any", "sums of flags",
       "custom combine from an outbox", "superstep, parameter, aggregates")  # fmt: skip


@hypothesis.settings(max_examples=15)
@hypothesis.given(data=st.data())
def test_random_graphs(data):
    n = data.draw(st.integers(2, 12), label="vertices")
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 6))
    arcs = data.draw(st.lists(ends, max_size=30), label="arcs")
    source, destination, weight = np.array(arcs, np.int64).reshape(-1, 3).T
    edges = Edges(source, destination, n, weight / 2, data.draw(st.booleans(), label="directed"))
    case = BY_NAME[data.draw(st.sampled_from(FEW), label="program")]
    given = {"start": n - 1, "seeds": [n - 1]}
    given = {name: given.get(name, value) for name, value in case.given.items()}
    case = Case(case.name, case.program, given, case.options, case.tolerance, case.counted)
    parts = data.draw(st.integers(2, 5), label="partitions")
    exchange = data.draw(st.sampled_from(EXCHANGES), label="exchange")
    with pytest.MonkeyPatch.context() as patch, graph_of(edges) as graph:
        set_classes(patch, block=32, hub=data.draw(st.integers(2, 9), label="hub"), chunk=3,
                    middle=2)  # fmt: skip
        seed = data.draw(st.integers(0, 99), label="seed")
        found = on_device(case, graph, parts, exchange, seed)
        check_same(found, expected_of(case, graph), case)
