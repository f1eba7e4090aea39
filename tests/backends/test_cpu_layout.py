"""Kernels of the layout: the tree's forces against sums over all pairs, and contracted rows against matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

from cugraph_ws.kernels.cpu import layout as kernels


def tree_of(laid, masses):
    codes = np.empty(len(laid), np.int64)
    x, y = laid.T.copy()
    side = kernels.cell_codes(x, y, codes)
    codes.sort()
    order = codes & (2**31 - 1)
    ranges, cells = np.zeros((2 * len(laid), 3), np.int32), np.zeros((2 * len(laid), 4))
    ordered = x[order], y[order], masses[order]
    return order, ordered, (ranges, cells, kernels.build_tree(codes, *ordered, side, ranges, cells))


def rows_of(matrix):
    matrix = sp.csr_array(matrix)
    matrix.sort_indices()
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(float),
    )


def random_rows(size, edges, seed):
    random = np.random.default_rng(seed)
    ends = random.integers(0, size, (2, edges))
    ends = ends[:, ends[0] != ends[1]]
    matrix = sp.coo_array((np.ones(ends.shape[1]), ends), shape=(size, size)).tocsr()
    matrix = matrix + matrix.T
    matrix.data[:] = 1
    return rows_of(matrix)


def all_pairs(rows, laid, masses):
    offsets, indices, weights = rows
    apart = laid[:, None] - laid[None]
    square = (apart**2).sum(axis=2)
    with np.errstate(divide="ignore"):
        push = np.where(square > 0, np.outer(masses, masses) / square, 0)
    force = (push[:, :, None] * apart).sum(axis=1)
    starts = np.repeat(np.arange(len(laid)), np.diff(offsets))
    along = laid[indices] - laid[starts]
    np.add.at(force, starts, (weights * np.linalg.norm(along, axis=1))[:, None] * along)
    return force


@pytest.mark.parametrize("kind", ["uniform", "clustered", "on one place", "on a line"])
def test_forces_are_close_to_those_of_all_pairs(kind):
    random = np.random.default_rng(1)
    laid = random.normal(size=(700, 2))
    if kind == "clustered":
        laid[:350] *= 1e-4
    if kind == "on one place":
        laid[:350] = 0.25
    if kind == "on a line":
        laid[:, 1] = 3.0
    masses = random.uniform(1, 5, 700)
    rows = random_rows(700, 2000, 2)
    order, ordered, tree = tree_of(laid, masses)
    force = np.empty(700), np.empty(700)
    x, y = laid.T.copy()
    for cut in ((0, 300), (300, 700)):
        kernels.forces(rows, (x, y), order, ordered, tree, force, cut)
    expected = all_pairs(rows, laid, masses)
    error = np.linalg.norm(np.stack(force, axis=1) - expected, axis=1)
    assert np.median(error / np.linalg.norm(expected, axis=1)) < 0.03


def test_nodes_are_ranges_in_preorder_with_their_centres():
    random = np.random.default_rng(3)
    laid, masses = random.normal(size=(500, 2)), random.uniform(1, 2, 500)
    order, (x, y, ordered_masses), (ranges, cells, nodes) = tree_of(laid, masses)
    assert sorted(order.tolist()) == list(range(500))
    assert ranges[0].tolist() == [0, 500, nodes]
    for node in range(nodes):
        first, last, following = ranges[node]
        members = slice(first, last)
        mean = np.average(np.stack([x, y])[:, members], axis=1, weights=ordered_masses[members])
        np.testing.assert_allclose(cells[node, :2], mean)
        below, covered = node + 1, first
        while below < following:  # the children's ranges follow each other
            assert ranges[below, 0] == covered
            covered, below = ranges[below, 1], ranges[below, 2]
        assert covered == last if following > node + 1 else last - first <= kernels.LEAF


def test_contracted_rows_are_the_product_of_matrices():
    offsets, indices, weights = random_rows(60, 150, 4)
    group = np.full(60, -1, np.int64)
    order = np.argsort(np.diff(offsets), kind="stable")
    count = kernels.group_neighbours(offsets, indices, weights, np.ones(60), order, group)
    assert sorted(set(group.tolist())) == list(range(count))
    assert count <= 40
    member = sp.csr_array((np.ones(60), (group, np.arange(60))), shape=(count, 60))
    adjacency = sp.csr_array((weights, indices, offsets), shape=(60, 60))
    expected = (member @ adjacency @ member.T).toarray()
    np.fill_diagonal(expected, 0)
    begins, columns, sums = kernels.contract_rows(offsets, indices, weights, group, count)
    found = sp.csr_array((sums, columns, begins), shape=(count, count)).toarray()
    np.testing.assert_allclose(found, expected)


def test_moves_of_a_pair_end_where_both_forces_are_equal():
    rows = np.array([0, 1, 2]), np.array([1, 0], np.int32), np.ones(2)
    x, y = np.array([0.0, 5.0]), np.zeros(2)
    kernels.relax(rows, np.ones(2), x, y, 0.5, 300)
    assert x[1] - x[0] == pytest.approx(1.0, abs=1e-3)


def test_boxes_fill_shelves():
    widths, heights = np.array([4.0, 2.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0, 1.0])
    x, y = np.empty(4), np.empty(4)
    kernels.shelve(widths, heights, 6.0, x, y)
    assert x.tolist() == [0, 4, 0, 2]
    assert y.tolist() == [0, 0, -3, -3]
