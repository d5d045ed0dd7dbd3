"""A fitted model ready for removal: the common form of a known objective and of a surrogate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foldless._check import Floats
from foldless.honest.curvature import Curvature
from foldless.honest.design import Bools, Design, Ints
from foldless.honest.objective import Objective, Readout, Removal
from foldless.honest.polish import Optimum
from foldless.honest.removal import LocalModel


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that removal needs, for all N rows.

    Honest score = readout(base + gain x shift), with shifts from the quadratic model (g, D, G = B B').
    """

    positive: Bools
    base: Floats
    gain: float
    g: Floats
    D: Floats
    design: Design
    curvature: Curvature
    readout: Readout

    def local_model(self, rows: Ints) -> LocalModel:
        """Quadratic model on some of the rows."""
        return LocalModel(self.g[rows], self.D[rows], self.curvature.influence_rows(self.design, rows))

    @property
    def slope(self) -> float:
        """Decision value per unit of shift."""
        return self.gain * self.readout.slope

    def drift(self, bystander: float) -> float:
        """Change of the decision values of bystanders, given that of their scores."""
        return self.readout.drift(self.gain * bystander)

    def in_sample(self) -> Floats:
        return self.readout.in_sample(self.base)

    def scores(self, rows: Ints, shifts: Floats) -> Floats:
        """Honest scores before the readout; shifts of shape (rows,) or (rows, anything)."""
        base = self.base[rows]
        return (base if shifts.ndim == 1 else base[:, None]) + self.gain * shifts

    def lever(self, rows: Ints, scores: Floats) -> Floats:
        """What each removed row adds to `Removal.lever`: D ((z - t) z(-S) - t z)."""
        z, t, D = self.base[rows], np.where(self.positive[rows], 1.0, -1.0), self.D[rows]
        if scores.ndim == 2:
            z, t, D = z[:, None], t[:, None], D[:, None]
        return D * ((z - t) * scores - t * z)

    @cached_property
    def mass(self) -> tuple[Floats, Floats]:
        """Curvature of the positive rows, zero elsewhere; and of the negative rows."""
        return self.D * self.positive, self.D * ~self.positive

    def removal(self, gone1: Floats, gone0: Floats, lever: Floats) -> Removal:
        """Summary of removed rows: their mass in each class, and their lever."""
        return Removal(self.mass[0].sum() - gone1, self.mass[1].sum() - gone0, lever)


def problem_at(positive: Bools, objective: Objective, design: Design, found: Optimum) -> Problem:
    """An objective at its optimum."""
    z, loss = found.point.scores, objective.loss
    return Problem(positive, z, 1.0, loss.gradient(z), loss.curvature(z), design, found.curvature, objective.readout)
