"""How alike the configurations are that two sources measured.

Versions of one table, or programs compared with each other, have equal rows. What one of them shows
beyond the terms holds for the other too. The similarity is the cosine of the mean embeddings of
their configurations (Muandet and others, Found. and Trends in Machine Learning 10, 2017, 3.1), so
that products with it remain covariances: it depends on the settings of runs, not on their speed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .likeness import Array, Likeness, likeness, matern
from .setting import Setting

_NEAR = 1.0  # length scale in doublings: nearly equal sizes alone count
_WORD = 0.64  # each differing setting divides the similarity by e to this


@dataclass(frozen=True)
class Overlap:
    """Similarity of sources (m x m), each on one system, by the configurations of `settings`."""

    settings: tuple[Setting, ...]
    places: Mapping[Hashable, int]
    table: Array

    def between(self, a: Sequence[Setting], b: Sequence[Setting]) -> Array:
        """The similarity of the source of each of `a` with that of each of `b`; an unknown source
        has only these runs."""
        new = {id(one): one for one in (*a, *b) if site(one) not in self.places}
        if new:
            return overlap((*self.settings, *new.values())).between(a, b)
        rows, columns = ([self.places[site(one)] for one in of] for of in (a, b))
        shares: Array = self.table[np.ix_(rows, columns)]
        return shares


def overlap(settings: Sequence[Setting], pairs: Likeness | None = None) -> Overlap:
    """The similarity of the sources of runs; `pairs`: the likeness of the runs, if known."""
    pairs = pairs or likeness(settings, settings)
    each = pairs.system * np.exp(-_WORD * pairs.differing) * matern(pairs.apart, _NEAR)
    places = {key: at for at, key in enumerate(dict.fromkeys(map(site, settings)))}
    mean = np.zeros((len(places), len(settings)))
    mean[[places[site(setting)] for setting in settings], range(len(settings))] = 1.0
    mean /= mean.sum(1, keepdims=True)
    common = mean @ each @ mean.T
    norm = np.sqrt(np.diag(common))
    return Overlap(tuple(settings), places, common / np.outer(norm, norm))


def site(setting: Setting) -> Hashable:
    """A key equal for runs of one source, in one regime, on one system."""
    return setting.source, setting.system
