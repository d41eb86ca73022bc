"""What the paper states about each of its figures, in our words, and the claims about it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CONTROLS", "CURVE", "FIGURES", "FURTHER", "TITLE", "Shown"]

TITLE = "Kernel-based Graph Learning from Smooth Signals: A Functional Viewpoint"

_NOISE = ("N1", "N2", "N3", "N4", "N5", "N6", "N7", "N8")
_MISSING = ("M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8")


@dataclass(frozen=True)
class Shown:
    """A figure.

    Attributes
    ----------
    study : str
        Name of its picture and table.
    text : str
        What the paper states about it, or, for a figure that it does not have, its purpose.
    claims : tuple of str
        Claims about it.
    """

    study: str
    text: str
    claims: tuple[str, ...] = ()


#: The figures of the paper, by number.
FIGURES: dict[int, Shown] = {
    1: Shown(
        "fig1",
        "An illustration: noisy, incomplete observations are samples of functions over the nodes, "
        "which side information on nodes and on observations helps to determine, and a graph is "
        "learned along with them. Nothing is claimed by it.",
    ),
    2: Shown(
        "fig2",
        "With independent data KGL-N loses little as noise grows, while GL and GL-2step, nearly "
        "equal in APS, fall fast above 0.5. With dependent data KGL does well below 0.75, KGL-O "
        "comes close to it without node-side information, and KGL-Agnostic fails at any noise.",
        _NOISE[:7],
    ),
    3: Shown(
        "fig3",
        "KGL and KGL-N still find the graph with 80 % of the entries missing, while GL and "
        "GL-2step on zero-filled data fall steeply. With dependent data all three curves are "
        "nearly flat, KGL highest, then KGL-O, then KGL-Agnostic.",
        _MISSING,
    ),
    4: Shown(
        "fig4",
        "The proposed models predict withheld entries with far smaller errors than the baselines, "
        "for both kinds of data.",
        ("Y1",),
    ),
    5: Shown(
        "fig5",
        "A hundred observations are enough for 20 nodes; the number that is needed grows roughly "
        "exponentially with the number of nodes, and the spread shrinks with more observations.",
        ("S1", "S2", "S3"),
    ),
    6: Shown(
        "fig6",
        "KGL and KGL-N, which use the altitudes, beat the others; KGL is slightly ahead when more "
        "is missing. GL and GL-2step are close with nothing missing and then fall sharply, and "
        "KGL-Agnostic is poor next to KGL-O.",
        ("W1", "W2", "W3", "W4"),
    ),
    7: Shown(
        "fig7",
        "Clusters of the graph of KGL agree best with the withheld groups of sushi, then those of "
        "KGL-N; both are well above the other models and above the attributes alone.",
        ("U1", "U2", "U3"),
    ),
    8: Shown(
        "fig8",
        "The same as figure 2 for Erdős-Rényi graphs: the proposed models are ahead of "
        "the baselines in every metric.",
        ("N1", "N5", "N6", "N7", "N8"),
    ),
    9: Shown(
        "fig9",
        "The same for Barabási-Albert graphs, which are slightly harder: the gain over the "
        "baselines is there while noise is low.",
        ("N1", "N5", "N6", "N7", "N8"),
    ),
    10: Shown(
        "fig10",
        "The same as figure 3 for Erdős-Rényi graphs: KGL does about as well as on "
        "the block model.",
        ("M1", "M4", "M5", "M7", "M8"),
    ),
    11: Shown(
        "fig11",
        "The same for Barabási-Albert graphs: KGL does about as well, and is still ahead of the "
        "baselines.",
        ("M1", "M4", "M5", "M7", "M8"),
    ),
    12: Shown(
        "fig12",
        "A small psi leaves a few edges that carry all the weight, a large one gives the complete "
        "graph with equal weights; precision is best where the learned sparsity is that of "
        "the ground truth. Twelve values of APS are printed.",
        ("H1", "H2", "H3"),
    ),
    13: Shown(
        "fig13",
        "Out-of-sample error depends on lam and rho and hardly on psi, no longer changes for lam "
        "above 100, and is least roughly where precision is greatest.",
        ("H4", "H5", "H7"),
    ),
}

#: Figures that the paper does not have, for claims that it makes in words and numbers.
FURTHER = (
    Shown("h1", "The twelve printed values of APS beside ours.", ("H1",)),
    Shown("precision", "The printed values and the precision of the weights.", ("H1",)),
    Shown("robustness", "What choices of graphs, solver and scoring change."),
    Shown("limits_psi", "psi at both ends.", ("H2", "H3")),
    Shown("limits_lam", "lam at its upper end.", ("H5",)),
    Shown("limits_rho", "rho at its upper end.", ("H6",)),
    Shown("convergence", "Outer iterations and the objective along them.", ("A1", "A2")),
    Shown("cost", "Time against the numbers of nodes and of observations.", ("A3",)),
    Shown("swiss_map", "One learned graph of the stations, on the map.", ("W1",)),
    Shown("swiss_imputed", "Temperatures that were withheld and filled in.", ("W1",)),
    Shown("swiss_specifications", "Figure 6 under other specifications.", ("W1", "W2", "W3", "W4")),
    Shown("swiss_cut", "Figure 6 with the density reached by a cut.", ("W1", "W2", "W3", "W4")),
    Shown("sushi_graph", "One learned graph of sushi.", ("U1",)),
    Shown("sushi_attributes", "Clusters from the attributes alone.", ("U2",)),
    Shown("sushi_specifications", "Figure 7 under other specifications.", ("U1", "U2")),
)

#: What the figure of the study of unstated settings shows.
CURVE = (
    "Distances of the nearest specification from the printed values and from the sentences, over "
    "the scale of the signals; the printed values beside runs; prior and posterior weights of "
    "settings; sentences that the nearest specifications miss."
)

#: Comparisons that the paper does not make.
CONTROLS = (
    Shown(
        "leak",
        "Whether the kernel K_x, which is made from the graph to be learned, explains the gain: "
        "the next two controls in one figure, under both protocols.",
        ("N1",),
    ),
    Shown(
        "control_noise",
        "Pure noise holds no graph: what a model finds there comes from the kernel K_x.",
        ("N1", "M1"),
    ),
    Shown(
        "control_kx",
        "The gain of the proposed models with a K_x made from the graph itself, and the retained "
        "share with degraded ones.",
        ("N1", "N5"),
    ),
    Shown(
        "control_kz",
        "The gain from the kernel of the observations, also a wrong one.",
        ("N5", "N7"),
    ),
    Shown(
        "cv_noise",
        "Noise again, tuned by cross-validation.",
        ("N1", "N2", "N5", "N6", "N7"),
    ),
    Shown(
        "cv_missing",
        "Missing entries again, tuned by cross-validation.",
        _MISSING,
    ),
    Shown(
        "cv_sizes",
        "Sizes again, tuned by cross-validation.",
        ("S1", "S2", "S3"),
    ),
)
