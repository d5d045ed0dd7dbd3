"""The removal formula for groups: scores under the fit without a row's whole group, or without two groups.

Groups are removed one after the other, which in the quadratic model is the same as removing both at once. After
removing group a, with R = sqrt(D) and C_a = R_a (I - R_a G_aa R_a)^-1 R_a,

    u_a = g_a + C_a G_aa g_a,    z' = z + G_.a u_a,    g' = g + D (z' - z),    G' = G + G_.a C_a G_a. ,

and the same formulas in primed quantities remove the second group. Groups of equal size are handled together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from foldless.checks import Bools, Floats, Ints
from foldless.honest.design import BLOCK_ENTRIES, MAX_LEVERAGE
from foldless.honest.newton import second_steps
from foldless.honest.objective import Removal
from foldless.honest.pairs import Sample
from foldless.honest.removal import LocalModel, Problem, typical_row
from foldless.honest.rows import Provenance, Removed, growth, pairs_of_sample, refuse_infinite
from foldless.honest.scales import Units, per_unit
from foldless.honest.scaling import Columns

PLAIN = 0.9  # groups of less leverage than this are far from determining their own scores


@dataclass(frozen=True)
class Bucket:
    """Groups of one size m: `codes` (b,), their `rows` (b, m), and their blocks `G` (b, m, m)."""

    codes: Ints
    rows: Ints
    G: Floats


def group_shifts(model: LocalModel, codes: Ints) -> tuple[Floats, Floats]:
    """z_i without the group of row i, minus z_i, and u_i; both of shape (N,)."""
    out, slopes = np.empty(len(codes)), np.empty(len(codes))
    for bucket in buckets(model, codes):
        u = _removed_slopes(model, bucket.rows, bucket.G, model.g)
        out[bucket.rows], slopes[bucket.rows] = np.einsum("bij,bj->bi", bucket.G, u), u
    return out, slopes


def group_pair_shifts(model: LocalModel, codes: Ints, typical: Floats) -> tuple[Floats, Floats]:
    """Shifts T[i, h] = z_i without its own group and group h, minus z_i; T[i, own] is without its own group only.

    Also the shift S[a, h], without groups a and h, of a `typical` row of B that is not itself removed.
    """
    prepared, reach = buckets(model, codes), model.B @ typical
    n_groups = int(codes.max()) + 1
    T, S = np.empty((len(codes), n_groups)), np.empty((n_groups, n_groups))
    for bucket in prepared:
        for code, rows, G in zip(bucket.codes, bucket.rows, bucket.G, strict=True):
            T[rows], S[code] = _without_each_other(model, rows, G, prepared, reach)
            u = _removed_slopes(model, rows, G, model.g)
            T[rows, code], S[code, code] = G @ u, reach[rows] @ u
    return T, S


def buckets(model: LocalModel, codes: Ints) -> list[Bucket]:
    """The groups, one bucket per size."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    sorted_groups = []
    for size in np.unique(sizes[sizes > 0]):
        members = np.flatnonzero(sizes == size)
        rows = order[starts[members, None] + np.arange(size)]
        B = model.B[rows]
        sorted_groups.append(Bucket(members, rows, B @ B.transpose(0, 2, 1)))
    return sorted_groups


def _without_each_other(
    model: LocalModel, rows: Ints, Gaa: Floats, prepared: list[Bucket], typical_reach: Floats
) -> tuple[Floats, Floats]:
    """Shifts of the rows of one group (rows, groups), and of the typical row, without that group and each other one."""
    reach = model.B @ model.B[rows].T
    root = np.sqrt(model.D[rows])
    core = root[:, None] * _inverse_slack(Gaa, root, model.B[rows]) * root
    first = model.g[rows] + core @ (Gaa @ model.g[rows])
    shift = reach @ first
    g = model.g + model.D * shift
    n_groups = sum(len(b.codes) for b in prepared)
    out, typical = np.empty((len(rows), n_groups)), np.empty(n_groups)
    for bucket in prepared:
        reached = reach[bucket.rows]
        G = bucket.G + reached @ core @ reached.transpose(0, 2, 1)
        u = _removed_slopes(model, bucket.rows, G, g)
        back = np.einsum("bmi,bm->ib", reached, u)
        out[:, bucket.codes] = shift[rows, None] + back + Gaa @ core @ back
        felt = typical_reach[bucket.rows] + reached @ (core @ typical_reach[rows])
        typical[bucket.codes] = typical_reach[rows] @ first + np.einsum("bm,bm->b", felt, u)
    return out, typical


def _removed_slopes(model: LocalModel, rows: Ints, G: Floats, g: Floats, inverse: Floats | None = None) -> Floats:
    """u = (I - D G)^-1 g = g + R (I - R G R)^-1 R G g of these rows, for one block or a stack of them."""
    root = np.sqrt(model.D[rows])
    inverse = _inverse_slack(G, root, model.B[rows]) if inverse is None else inverse
    inner = root * np.einsum("...ij,...j->...i", G, g[rows])
    return np.asarray(g[rows] + root * np.einsum("...ij,...j->...i", inverse, inner))


def _inverse_slack(G: Floats, root: Floats, B: Floats) -> Floats:
    """(I - R G R)^-1 with the eigenvalues of R G R kept below one; the columns of B span those of G."""
    if G.shape[-1] == 1:  # most groups, if only some rows are repeated
        return np.asarray(1.0 / (1.0 - np.minimum(root[..., None] ** 2 * G, MAX_LEVERAGE)))
    leverage, every = root[..., :, None] * G * root[..., None, :], np.eye(G.shape[-1])
    if B.shape[-1] < G.shape[-1]:  # a large group of few columns: all eigenvalues but so many are 0
        Q = np.linalg.qr(root[..., None] * B)[0]
        values, vectors = np.linalg.eigh(np.swapaxes(Q, -1, -2) @ leverage @ Q)
        vectors = Q @ vectors
    elif np.trace(leverage, axis1=-2, axis2=-1).max(initial=0.0) < PLAIN:  # bounds the eigenvalues: none is cut
        return np.asarray(np.linalg.inv(every - leverage))  # three times as fast
    else:
        values, vectors = np.linalg.eigh(leverage)
    gain = 1.0 / (1.0 - np.minimum(values, MAX_LEVERAGE)) - 1.0
    return np.asarray(every + (vectors * gain[..., None, :]) @ np.swapaxes(vectors, -1, -2))


# ---- What a scaler adds: the correction of `foldless.honest.scaling`, with one or two groups as the set of rows.


def group_corrections(model: LocalModel, tables: Sequence[tuple[Columns, Units]], codes: Ints, which: Ints) -> Floats:
    """What to add to T of `group_pair_shifts`; `which` are the numbers of the groups in the tables."""
    prepared, n_groups = buckets(model, codes), which.size
    total = np.empty((codes.size, n_groups))
    for bucket in prepared:
        total[bucket.rows, bucket.codes[:, None]] = _of_sets(model, tables, bucket.rows, which[bucket.codes[:, None]])
        for code, rows in zip(bucket.codes, bucket.rows, strict=True):
            for other in prepared:
                later = other.codes > code
                h, members = other.codes[later], other.rows[later]
                sets = np.hstack([np.broadcast_to(rows, (h.size, rows.size)), members])
                added = _of_sets(model, tables, sets, which[np.column_stack([np.full(h.size, code), h])])
                total[np.ix_(rows, h)] = added[:, : rows.size].T
                total[members, code] = added[:, rows.size :]
    return total


def own_corrections(model: LocalModel, tables: Sequence[tuple[Columns, Units]], codes: Ints, which: Ints) -> Floats:
    """The same without each row's own group only, shape (rows,)."""
    total = np.empty(codes.size)
    for bucket in buckets(model, codes):
        total[bucket.rows] = _of_sets(model, tables, bucket.rows, which[bucket.codes[:, None]])
    return total


def _of_sets(model: LocalModel, tables: Sequence[tuple[Columns, Units]], sets: Ints, units: Ints) -> Floats:
    """-m_S E w_S for sets of rows (b, s), which make up the groups `units` (b, 1 or 2)."""
    G, D = model.B[sets] @ model.B[sets].transpose(0, 2, 1), model.D[sets]
    inverse = _inverse_slack(G, np.sqrt(D), model.B[sets])
    u, total = _removed_slopes(model, sets, G, model.g, inverse), np.zeros(sets.shape)
    for columns, held in tables:
        M = columns.M[sets]
        m = _without_group(G, D, M, inverse)
        h = columns.h + np.einsum("bs,bsp,bsp->bp", D, M, m)
        pull = columns.effective(h, held.ratio(units)) * (columns.w + np.einsum("bs,bsp->bp", u, M))
        total -= np.einsum("bsp,bp->bs", m, pull)
    return total


def _without_group(G: Floats, D: Floats, M: Floats, inverse: Floats) -> Floats:
    """m = (I - G D)^-1 M = M + G R (I - R G R)^-1 R M, for a stack of groups."""
    root = np.sqrt(D)[..., None]
    return np.asarray(M + G @ (root * (inverse @ (root * M))))


def by_group(problem: Problem, rows: Ints, codes: Ints, provenance: Provenance) -> Removed:
    """Honest scores with whole groups `codes` (N,) removed; pairs are taken among `rows`, which hold whole groups."""
    local = np.unique(codes[rows], return_inverse=True)[1]
    positive = problem.positive[rows]
    local1, local0 = np.flatnonzero(positive), np.flatnonzero(~positive)
    model = problem.local_model(rows)
    shifts, typical = group_pair_shifts(model, local, typical_row(model, local1, local0))
    influence = _centred_influence(problem.slope * shifts, local, positive)
    kept, scale = shifts, float(codes.max()) / max(shifts.shape[1] - 1, 1)  # from sums over evaluated groups to all
    if problem.rescaling is not None:
        tables = problem.rescaling.of_groups(model.B, rows, codes)
        more = group_corrections(model, tables, local, np.unique(codes[rows]))
        of_pairs = np.ix_(local1, local[local0]), np.ix_(local0, local[local1])
        before, added = ((each[of_pairs[0]], each[of_pairs[1]].T) for each in (shifts, more))
        scale *= growth(problem, (rows[local1], rows[local0]), before, added)
        shifts = shifts + more
    if problem.intercept is not None:
        level = _held_back(problem, model, rows, local, shifts)
        shifts, typical = shifts + level[local], typical + level
    again = _second_steps(problem, model, local) if rows.size == codes.size else 0.0 * shifts
    shifts = shifts + again
    scores = _read_pairs(problem, rows, local, shifts, kept)
    score1, score0 = scores[np.ix_(local1, local[local0])], scores[np.ix_(local0, local[local1])].T
    loo = _read_own(problem, codes, again[np.arange(rows.size), local] if rows.size == codes.size else 0.0)
    refuse_infinite(provenance.family, loo, score1, score0)
    pairs, partnered = pairs_of_sample(problem, Sample.of(problem.positive, rows, rows[:0]), loo, loo, score1, score0)
    return Removed(
        rows1=np.flatnonzero(problem.positive), rows0=np.flatnonzero(~problem.positive),
        sampled1=rows[local1], sampled0=rows[local0],
        z=problem.in_sample(), loo=loo, without_pair1=score1, without_pair0=score0, partnered=partnered, pairs=pairs,
        drift=problem.drift(float(typical[np.ix_(local[local1], local[local0])].mean())),
        influence_sq=scale * _per_row(problem, influence, positive),
        cluster_influence_sq=scale * shifts.shape[1] / (codes.max() + 1) * _clustered(influence, local, positive),
        groups=codes, provenance=provenance,
    )  # fmt: skip


def _second_steps(problem: Problem, model: LocalModel, codes: Ints) -> Floats:
    """What second steps add to the shifts T of `group_pair_shifts`."""
    if problem.loss is None:
        return np.zeros((codes.size, codes.max() + 1))
    added = second_steps(problem.base, model, problem.loss, group_shifts(model, codes)[1], codes).T
    own = added[np.arange(codes.size), codes]
    return added + np.where(codes[:, None] == np.arange(added.shape[1]), 0.0, own[:, None])


def _read_pairs(problem: Problem, rows: Ints, local: Ints, shifts: Floats, kept: Floats) -> Floats:
    """Scores (rows, groups) without the row's own group and each group; `kept` are shifts with the scaler kept."""
    scores = problem.scores(rows, shifts)
    lever = per_unit(np.add, problem.lever(rows, kept), local)
    gone1, gone0 = (_counts(mass[rows], local)[:, None] for mass in problem.mass)
    removed = problem.removal(_of_both(gone1), _of_both(gone0), _of_both(lever))
    own = Removal(removed.mass1[local], removed.mass0[local], removed.lever[local])
    return problem.readout.without(scores, own)


def _read_own(problem: Problem, codes: Ints, second: Floats | float) -> Floats:
    """Scores (N,) of all rows without their own group; `second` is what second steps add."""
    kept, added = _all_own(problem, codes)
    scores = problem.scores(slice(None), kept + added + second)
    parts = (*problem.mass, problem.lever(slice(None), kept))
    gone1, gone0, lever = (_counts(part, codes)[codes] for part in parts)
    return problem.readout.without(scores, problem.removal(gone1, gone0, lever))


def _all_own(problem: Problem, codes: Ints) -> tuple[Floats, Floats]:
    """Shifts (N,) without each row's own group with the scaler kept, and what the scaler adds."""
    kept, added = np.empty(codes.size), np.zeros(codes.size)
    for rows in _row_chunks(codes, problem.curvature.root.shape[0]):
        local = np.unique(codes[rows], return_inverse=True)[1]
        model = problem.local_model(rows)
        kept[rows] = group_shifts(model, local)[0]
        if problem.rescaling is not None:
            tables = problem.rescaling.of_groups(model.B, rows, codes)
            added[rows] = own_corrections(model, tables, local, np.unique(codes[rows]))
        if problem.intercept is not None:
            added[rows] += _held_back_alone(problem, model, rows, local, (kept + added)[rows])[local]
    return kept, added


def _held_back(problem: Problem, model: LocalModel, rows: Ints, codes: Ints, shifts: Floats) -> Floats:
    """What the penalty on the intercept adds to all scores without each two groups, or one; `shifts` as T above."""
    intercept = problem.intercept
    assert intercept is not None
    moved = group_pair_shifts(model, codes, intercept.seen)[1]
    z = per_unit(np.add, problem.base[rows, None] + shifts, codes)
    z, k, D = _of_both(z), *(_of_both(_counts(each, codes)[:, None]) for each in (np.ones(rows.size), model.D))
    return np.asarray(intercept.held_back(k, moved, z, D))


def _held_back_alone(problem: Problem, model: LocalModel, rows: Ints, codes: Ints, shifts: Floats) -> Floats:
    """The same without each group alone; `shifts` of the rows without their own group."""
    intercept, slopes = problem.intercept, group_shifts(model, codes)[1]
    assert intercept is not None
    moved, z, D, k = (
        _counts(each, codes)
        for each in ((model.B @ intercept.seen) * slopes, problem.base[rows] + shifts, model.D, np.ones(rows.size))
    )
    return np.asarray(intercept.held_back(k, moved, z, D))


def _row_chunks(codes: Ints, width: int) -> Iterator[Ints]:
    """Rows of whole groups in increasing order, in chunks of bounded size."""
    chunk = np.cumsum(np.bincount(codes)) // max(1, BLOCK_ENTRIES // max(width, 1))
    for number in np.unique(chunk):
        yield np.flatnonzero(chunk[codes] == number)


def _counts(weights: Floats, codes: Ints) -> Floats:
    return np.asarray(np.bincount(codes, weights=weights), dtype=np.float64)


def _of_both(lost: Floats) -> Floats:
    """What is lost with groups a and h, from (groups, 1 or groups) of a: the sum, or that of one group where a = h."""
    lost = np.broadcast_to(lost, (len(lost), len(lost)))
    both = lost + lost.T
    np.fill_diagonal(both, np.diag(lost))
    return np.asarray(both)


def _centred_influence(shifts: Floats, local: Ints, positive: Bools) -> Floats:
    """I[i, h] = z_i(-own, h) - z_i(-own), less its mean over the class of i; 0 where h is i's own group."""
    own = (np.arange(local.size), local)
    influence = shifts - shifts[own][:, None]
    for mask in (positive, ~positive):
        influence[mask] -= influence[mask].mean(axis=0)
    influence[own] = 0.0
    return influence


def _per_row(problem: Problem, influence: Floats, positive: Bools) -> float:
    """(1/N) sum_k n_k/(n_k - 1) sum I^2, scaled up from evaluated rows to all rows."""
    total = 0.0
    for mask, everyone in ((positive, problem.positive), (~positive, ~problem.positive)):
        degrees = max(int(np.count_nonzero(mask)) - 1, 1)
        total += int(np.count_nonzero(everyone)) / degrees * float((influence[mask] ** 2).sum())
    return total / problem.positive.size


def _clustered(influence: Floats, local: Ints, positive: Bools) -> float:
    """sum over groups a != h of (sum_{i in a} +-I_ih / n_k)^2."""
    n1 = np.count_nonzero(positive)
    signed = np.where(positive, 1.0 / n1, -1.0 / (positive.size - n1))
    sums = per_unit(np.add, influence * signed[:, None], local)
    np.fill_diagonal(sums, 0.0)
    return float((sums**2).sum())
