"""What one training row costs, as a function of its score: the three losses with a closed form.

A loss sees the scores z of all rows and returns one number per row. `target` is t = 2y - 1 and
`weight` is sample weight x class weight x C, held fixed when rows are removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

from foldless._check import Floats


class Loss(Protocol):
    """Convex loss of each row: l_i(z_i), its slope g_i and its curvature D_i >= 0."""

    @property
    def weight(self) -> Floats:
        """Sample weight x class weight x C."""
        ...

    def value(self, z: Floats) -> Floats: ...

    def gradient(self, z: Floats) -> Floats: ...

    def curvature(self, z: Floats) -> Floats: ...

    def stiffness(self) -> Floats:
        """Curvature that is left where a row is fitted exactly: what makes a leverage approach one."""
        ...


@dataclass(frozen=True)
class LogisticLoss:
    """l = c log(1 + exp(-t z)),  g = -c t p(-t z),  D = c p(z) p(-z),  p the logistic function."""

    target: Floats
    weight: Floats

    def value(self, z: Floats) -> Floats:
        return self.weight * np.logaddexp(0.0, -self.target * z)

    def gradient(self, z: Floats) -> Floats:
        # p(z) - y loses every digit once p rounds to one; this form keeps them.
        return np.asarray(-self.weight * self.target * expit(-self.target * z))

    def curvature(self, z: Floats) -> Floats:
        return np.asarray(self.weight * expit(z) * expit(-z))

    def stiffness(self) -> Floats:
        return np.zeros_like(self.weight)


@dataclass(frozen=True)
class SquaredLoss:
    """l = c (z - t)^2 / 2,  g = c (z - t),  D = c."""

    target: Floats
    weight: Floats

    def value(self, z: Floats) -> Floats:
        return 0.5 * self.weight * (z - self.target) ** 2

    def gradient(self, z: Floats) -> Floats:
        return self.weight * (z - self.target)

    def curvature(self, z: Floats) -> Floats:
        return self.weight

    def stiffness(self) -> Floats:
        return self.weight


@dataclass(frozen=True)
class SquaredHingeLoss:
    """l = c m^2,  g = -2 c t m,  D = 2 c [m > 0],  m = max(0, 1 - t z)."""

    target: Floats
    weight: Floats

    def value(self, z: Floats) -> Floats:
        return self.weight * self._margin(z) ** 2

    def gradient(self, z: Floats) -> Floats:
        return -2.0 * self.weight * self.target * self._margin(z)

    def curvature(self, z: Floats) -> Floats:
        return 2.0 * self.weight * (self.target * z < 1.0)

    def stiffness(self) -> Floats:
        return 2.0 * self.weight

    def _margin(self, z: Floats) -> Floats:
        return np.maximum(0.0, 1.0 - self.target * z)
