"""Similarity of runs and of sources, as the covariance of residuals of a law's terms."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .setting import ASSUMED_SEQ_LEN, Setting

Array: TypeAlias = NDArray[np.float64]
_PEAKLESS = 3.0  # deviation of the logarithm for a system with an unknown peak


@dataclass(frozen=True, slots=True)
class Scales:
    """Deviations of a logarithm shared by runs, and length scales of similarity."""

    system: float
    source: float
    words: float  # of equal settings without a size, in a source
    model: float
    shape: float
    smooth: float  # of similar sizes, in a system
    close: float  # of near sizes, in a source
    local: float  # also of the same model
    noise: float  # of one job
    equal: float  # share of `source`, `words`, `close` that sources of equal configurations share
    own: float  # share of a parameter's prior deviation that is specific to each system
    site: float  # and to each source on it: its programs, its network
    wide: float  # length scale of `smooth`, in doublings
    near: float  # of `close` and `local`
    word: float  # each differing setting divides similarity by e to this


@dataclass(frozen=True)
class Shared:
    """Covariance of residuals: a steady part, and one that grows with the roughness of sources;
    `system`: 1 for pairs of one system; `source`: how far they have one source on it."""

    system: Array
    source: Array
    steady: Array
    rough: Array

    def covariance(self, rough: Array) -> Array:
        """The covariance for products of the relative roughness of each pair's sources."""
        likeness: Array = self.steady + rough * self.rough
        return likeness

    def among(self, kept: Sequence[int]) -> Shared:
        """The covariance among some of the runs."""
        at = np.ix_(kept, kept)
        return Shared(self.system[at], self.source[at], self.steady[at], self.rough[at])


@dataclass(frozen=True)
class Similarity:
    """Pairwise similarities of runs: 1 or 0, a number of settings, doublings between sizes."""

    system: Array
    source: Array
    model: Array
    shape: Array
    differing: Array
    apart: Array
    peakless: Array

    def shared(self, s: Scales, peak: bool, overlap: Array | float = 0.0) -> Shared:
        """The covariance of residuals; `peak`: the terms depend on the peak of the device;
        `overlap`: how alike the configurations of the sources of each pair are."""
        source = self.source + (1 - self.source) * s.equal * overlap
        words = np.exp(-s.word * self.differing)
        local = (s.close**2 + self.model * s.local**2) * matern(self.apart, s.near)
        unknown = self.peakless * _PEAKLESS**2 if peak else 0.0
        everywhere = s.model**2 * self.model + s.shape**2 * self.shape
        alike = words * s.smooth**2 * matern(self.apart, s.wide)
        in_source = source * words * (s.words**2 + local)
        steady = s.system**2 + s.source**2 * source + unknown
        rough = everywhere + alike + in_source
        return Shared(self.system, self.system * source, self.system * steady, self.system * rough)


def likeness(a: Sequence[Setting], b: Sequence[Setting]) -> Similarity:
    """The similarities of each of `a` with each of `b`."""
    from scipy.spatial.distance import cdist

    system, source, model, shape = (
        same([getattr(setting, name) for setting in a], [getattr(setting, name) for setting in b])
        for name in ("system", "source", "model", "shape")
    )
    peakless = np.outer(
        [setting.peak_flop_s is None for setting in a],
        [setting.peak_flop_s is None for setting in b],
    )
    apart = cdist(places(a), places(b))
    differing = _differing(a, b)
    return Similarity(system, source, model, shape, differing, apart, peakless.astype(np.float64))


def same(a: Sequence[Hashable], b: Sequence[Hashable]) -> Array:
    """1 where keys of `a` and `b` are equal, else 0."""
    codes = {key: at for at, key in enumerate(dict.fromkeys([*a, *b]))}
    left, right = (np.array([codes[key] for key in keys]) for keys in (a, b))
    equal: Array = np.equal.outer(left, right).astype(np.float64)
    return equal


def places(settings: Sequence[Setting]) -> Array:
    """Sizes in doublings (n x 9): the coordinates of distances between runs."""
    sizes = [
        (setting.tp, setting.pp, setting.cp * setting.ep, setting.mbs or 1, setting.devices,
         (setting.gbs or setting.devices) / setting.devices, setting.seq_len or ASSUMED_SEQ_LEN,
         setting.params, (setting.heads or 64) / setting.tp)
        for setting in settings
    ]  # fmt: skip
    return np.log2(np.array(sizes, dtype=np.float64).reshape(-1, 9))


def _differing(a: Sequence[Setting], b: Sequence[Setting]) -> Array:
    """The number of differing settings without a size."""
    found = np.zeros((len(a), len(b)))
    for name in dict.fromkeys(name for one in (*a, *b) for name in one.other_settings):
        found += 1 - same(
            [setting.other_settings.get(name) for setting in a],
            [setting.other_settings.get(name) for setting in b],
        )
    return found


def matern(apart: Array, length: float) -> Array:
    """A similarity that falls with the distance (Matern 3/2)."""
    far = np.sqrt(3) * apart / length
    near: Array = (1 + far) * np.exp(-far)
    return near


_NEAR = 1.0  # length scale in doublings: nearly equal sizes alone count
_WORD = 0.64  # each differing setting divides the similarity by e to this


@dataclass(frozen=True)
class SourceOverlap:
    """Similarity of sources (m x m), each on one system, by the configurations of `settings`.

    Versions of one table, or programs compared with each other, have equal rows. What one of them
    shows beyond the terms holds for the other too. The similarity is the cosine of the mean
    embeddings of their configurations (Muandet and others, Found. and Trends in Machine Learning
    10, 2017, 3.1), so that products with it remain covariances: it depends on the settings of runs,
    not on their speed.
    """

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


def overlap(settings: Sequence[Setting], pairs: Similarity | None = None) -> SourceOverlap:
    """The similarity of the sources of runs; `pairs`: the likeness of the runs, if known."""
    pairs = pairs or likeness(settings, settings)
    each = pairs.system * np.exp(-_WORD * pairs.differing) * matern(pairs.apart, _NEAR)
    places = {key: at for at, key in enumerate(dict.fromkeys(map(site, settings)))}
    mean = np.zeros((len(places), len(settings)))
    mean[[places[site(setting)] for setting in settings], range(len(settings))] = 1.0
    mean /= mean.sum(1, keepdims=True)
    common = mean @ each @ mean.T
    norm = np.sqrt(np.diag(common))
    return SourceOverlap(tuple(settings), places, common / np.outer(norm, norm))


def site(setting: Setting) -> Hashable:
    """A key equal for runs of one source, in one regime, on one system."""
    return setting.source, setting.system


# Tuned once on the documents `TUNED` of benchmarks/predict.py.
PACE_SCALES = Scales(
    system=0.1, source=0.07, words=0.115, model=0.082, shape=0.046, smooth=0.025, close=0.1,
    local=0.025, noise=0.006, equal=0.97, own=0.6, site=0.55, wide=8.0, near=3.3,
    word=0.64,
)  # fmt: skip
MEMORY_SCALES = Scales(
    system=0.1, source=0.08, words=0.05, model=0.05, shape=0.03, smooth=0.04, close=0.0, local=0.03,
    noise=0.02, equal=0.97, own=0.5, site=0.0, wide=8.0, near=3.0, word=0.6,
)  # fmt: skip
