"""Likely causes of verdicts other than *reproduced*.

A cause is a judgement and is written by hand. The verdicts and numbers that support it are looked
up in the tables where it is printed (:mod:`experiments.report`), so they cannot go stale. A claim
without a cause is listed as not explained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["CAUSES", "Cause", "Seen"]


@dataclass(frozen=True)
class Seen:
    """A number of a published table that supports a cause.

    Attributes
    ----------
    text : str
        What it is.
    study : str
        Whose table.
    where : dict
        Values of columns that single out its row.
    """

    text: str
    study: str
    where: Mapping[str, str | float]


@dataclass(frozen=True)
class Cause:
    """The most likely cause of a verdict other than *reproduced*.

    Attributes
    ----------
    short : str
        In a few words.
    text : str
        In a few sentences.
    specifications : tuple of str
        Ids of ``claims.csv`` whose verdicts on the claim are evidence.
    seen : tuple of Seen
        Numbers of other tables that support it.
    protocol : str
        The protocol whose verdict it explains, and whose tables have the numbers; empty for all
        protocols, and the numbers are then those of ``described`` where there are any.
    """

    short: str
    text: str
    specifications: tuple[str, ...] = ()
    seen: tuple[Seen, ...] = ()
    protocol: str = ""


#: Under `printed` signals are weak.
_DROWNED = Cause(
    "noise drowns the signals",
    "K_x = (I + 1000 L)^-1 gives signals a variance far below the first noise level. Models "
    "without K_x are at chance from there on, and models with it live on K_x.",
    protocol="printed",
)
#: Under `described` hyperparameters at fixed values are those of another scale.
_UNITS = Cause(
    "the named hyperparameters suit another scale",
    "The paper names lam, rho and psi in the units of its signals. The variance of signals under "
    "`described` is a thousand times that under `printed`, and the named values do not suit it.",
    protocol="described",
)

#: By claim. Those without a protocol hold under both.
CAUSES: dict[str, tuple[Cause, ...]] = {
    "N2": (_DROWNED,),
    "N4": (
        Cause(
            "denoising over the learned graph gains little",
            "GL-2step smooths the signals over the graph that it learns from them. Its SSE is "
            "smaller than that of GL, but by less than what is visible in a figure.",
        ),
    ),
    "N5": (_DROWNED,),
    "N6": (_DROWNED,),
    "N7": (
        Cause(
            "500 observations without noise show much of the graph",
            "Without noise the signals determine much of the graph, also for a model whose "
            "smoothness term ignores K_z. KGL-Agnostic does so at the smallest lam of the grid.",
        ),
    ),
    "M2": (_DROWNED,),
    "M7": (_DROWNED,),
    "Y1": (
        Cause(
            "errors are smaller, but not by half",
            'The criterion asks for half the error of a baseline, for "much smaller". What is left '
            "is close to the noise or to what no model can predict.",
        ),
    ),
    "S1": (
        Cause(
            "a hundred dependent observations hold less",
            "Time stamps that are close together hold nearly the same signal, so that a hundred of "
            "them count for fewer independent ones.",
        ),
    ),
    "H1": (_UNITS,),
    "H5": (
        Cause(
            "lam = 100 is not large beside the kernels",
            "Fits vanish where lam is larger than the products of eigenvalues of K_x and K_z. "
            "Smooth kernels of 500 time stamps have large ones.",
        ),
    ),
    "H7": (_UNITS,),
    "M4": (
        Cause(
            "without K_x the models lose with the entries",
            "KGL is flat, since it has the graph in K_x. KGL-O and KGL-Agnostic have the signals "
            "alone and lose with them.",
        ),
    ),
    "S3": (
        Cause(
            "the spread is that of graphs, not of observations",
            "The spread comes mostly from graphs, which differ from replicate to replicate, and "
            "not from the observations: more of them do not reduce it.",
        ),
    ),
    "H3": (
        Cause(
            "ties at zero favour graphs that are too dense",
            "Average precision ranks pairs, and weights of zero are tied: graphs that are denser "
            "than the ground truth rank more of its edges. By untied scores the loss at the true "
            "density is small.",
            ("untied_scores",),
        ),
    ),
    "H6": (
        Cause(
            "the statement about K_z other than I cannot hold",
            "tr(K_z^-1 Y L Y') is zero for every matrix of constant rows, for any invertible K_z: "
            "nothing makes rows equal to each other. The statement about K_z = I holds, the other "
            "cannot.",
        ),
    ),
    "W1": (
        Cause(
            "the ground truth is a graph that GL learned",
            "On average over missing rates the claim holds. The ground truth is the graph that GL "
            "learns from all months: with nothing missing the models that see temperatures alone "
            "are near it, and altitude draws KGL and KGL-N away from it.",
            ("swiss_metres", "swiss_keep_one"),
        ),
    ),
    "W2": (
        Cause(
            "three months are hardly dependent",
            "Three months are hardly dependent under their kernel, so KGL and KGL-N are nearly the "
            "same model.",
            ("swiss_metres", "cv"),
        ),
    ),
    "W3": (
        Cause(
            "the ground truth is a graph that GL learned",
            "GL and GL-2step are ahead of KGL with nothing missing, since GL made the ground "
            "truth. With altitude in metres K_x is nearly the identity, KGL sees temperatures too, "
            "and the claim holds.",
            ("swiss_metres",),
        ),
    ),
    "W4": (
        Cause(
            "three months are hardly dependent",
            "Three months are hardly dependent under their kernel, so a smoothness term that "
            "ignores it hardly differs.",
            ("swiss_keep_one", "swiss_literal"),
        ),
    ),
    "U1": (
        Cause(
            "features of reviewers add nothing: KGL-N is best",
            "Features of reviewers hardly predict their ratings, so K_z gives KGL nothing over "
            "KGL-N. Both are well above the others, as claimed.",
            ("cv", "sushi_items_centred", "sushi_product", "sushi_rated7"),
        ),
    ),
}
