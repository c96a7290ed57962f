"""The list of differences that stay. An entry names rows (or "*"), the kind, a part of the text,
and the reason: `differs`. A feature that flambeau leaves out is said by `lacks`, as calls that need
it are counted nowhere (shares.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KNOWN = []


@dataclass(frozen=True)
class Known:
    rows: tuple
    kind: str
    text: str
    because: str
    always: bool = True  # False: what PyTorch returns is chance, and may agree
    feature: bool = False  # it needs one that is left out on purpose

    def covers(self, difference):
        return (
            self.kind == difference.kind
            and (difference.row in self.rows or "*" in self.rows)
            and re.search(self.text, difference.text) is not None
        )


def differs(rows, kind, text, because, always=True):
    KNOWN.append(Known(tuple(rows.split()), kind, text, because, always))


def lacks(rows, kind, text, feature):
    """These rows differ because they need a feature that flambeau leaves out."""
    KNOWN.append(Known(tuple(rows.split()), kind, text, feature, feature=True))
