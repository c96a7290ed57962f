"""How many calls of PyTorch's operator samples agree, by what a program wants of them: results,
other spellings (method, in-place, out=, operator), gradients, and errors of the right type. Below
its bar a share fails the run.
"""

from __future__ import annotations

import collections
import re

BARS = {"forward": 0.97, "spellings": 0.98, "gradients": 0.95, "errors": 0.95}
FORM = ("stride", "memory", "history", "version", "base")  # the numbers are right nevertheless
BACKWARD = re.compile(r"in backward|PyTorch backward$")


class Shares:
    """Calls that agree, and all of them, by sort."""

    def __init__(self):
        self.agree, self.total = collections.Counter(), collections.Counter()

    def call(self, sort, found, slopes):
        """Counts one call of a sort, and with slopes its gradients, by its Differences."""
        wrong = [d for d in found if d.kind not in FORM]
        backward = [d for d in wrong if d.kind == "gradient" or BACKWARD.search(d.text)]
        self.one(sort, len(wrong) == len(backward))
        if slopes and len(wrong) == len(backward):
            self.one("gradients", not backward)

    def one(self, sort, agrees):
        self.total[sort] += 1
        self.agree[sort] += agrees

    def add(self, more):
        self.total += more.total
        self.agree += more.agree

    def shown(self):
        """Prints; returns whether every share is above its bar."""
        for sort, bar in BARS.items():
            if self.total[sort]:
                print(
                    f"  {'samples: ' + sort:30} {self.share(sort):8.2%}  "
                    f"{self.agree[sort]} of {self.total[sort]}, at least {bar:.0%}"
                )
        return all(self.share(sort) >= bar for sort, bar in BARS.items() if self.total[sort])

    def share(self, sort):
        return self.agree[sort] / self.total[sort]
