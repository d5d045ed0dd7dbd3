"""What the paper printed, and what its authors' repository holds: the numbers to compare with."""

from __future__ import annotations

# Table 1 of the paper: mean true AUC of 1000 classifiers, by number of training rows; "Bayes" for the population.
TABLE1_ROWS = (20, 50, 100, 150, 200)
TABLE1 = {
    4: (0.9528, 0.9653, 0.9688, 0.9702, 0.9707),
    10: (0.9901, 0.9947, 0.9957, 0.9961, 0.9964),
    100: (1.0, 1.0, 1.0, 1.0, 1.0),
}
TABLE1_BAYES = {4: 0.9725, 10: 0.9973, 100: 1.0}

# The authors' own results for the ovarian figure (1000 splits each), from their public repository: means, and mean
# absolute errors against the test AUC, at 10, 15, .., 95 % training rows.
OVARIAN_SHARES = tuple(range(10, 100, 5))
OVARIAN_MEAN = {
    "cv-published": (
        0.6239, 0.7008, 0.7578, 0.7939, 0.8227, 0.8390, 0.8503, 0.8589, 0.8692,
        0.8765, 0.8883, 0.8994, 0.9088, 0.9169, 0.9271, 0.9343, 0.9391, 0.9435,
    ),
    "ebauc-published": (
        0.7822, 0.8553, 0.9060, 0.9290, 0.9480, 0.9582, 0.9673, 0.9727, 0.9765,
        0.9798, 0.9827, 0.9852, 0.9876, 0.9894, 0.9921, 0.9941, 0.9954, 0.9964,
    ),
    "cbauc": (1.0,) * 18,
}  # fmt: skip
OVARIAN_MAE = {
    "cv-published": (
        0.3461, 0.2830, 0.2311, 0.1977, 0.1708, 0.1555, 0.1445, 0.1364, 0.1266,
        0.1196, 0.1077, 0.0969, 0.0877, 0.0795, 0.0695, 0.0624, 0.0576, 0.0543,
    ),
    "ebauc-published": (
        0.1878, 0.1286, 0.0829, 0.0626, 0.0455, 0.0365, 0.0277, 0.0228, 0.0195,
        0.0166, 0.0140, 0.0118, 0.0099, 0.0086, 0.0067, 0.0061, 0.0063, 0.0065,
    ),
    "cbauc": (
        0.0300, 0.0162, 0.0111, 0.0084, 0.0066, 0.0055, 0.0052, 0.0047, 0.0042,
        0.0039, 0.0040, 0.0037, 0.0036, 0.0035, 0.0034, 0.0033, 0.0034, 0.0033,
    ),
}  # fmt: skip
