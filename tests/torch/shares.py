"""How many calls of PyTorch's operator samples agree, by what a program wants of them: results,
other spellings (method, in-place, out=, operator), gradients, and errors of the right type. Below
its bar a share fails the run.

A call that needs a feature which is left out on purpose (an entry of differences.py with `feature`:
transforms of complex numbers, sparse tensors) is counted nowhere: no share says how well it works.
Every other call that differs counts against its share, whether or not differences.py names it: a
reason excuses a difference and does not make it agree. Of what differs, only FORM does not count,
where the numbers are right nevertheless.
"""

from __future__ import annotations

import collections
import re

from .differences import needs_feature

BARS = {"forward": 0.97, "spellings": 0.98, "gradients": 0.95, "errors": 0.95}
FORM = ("stride", "memory", "history", "version", "base")  # the numbers are right nevertheless
WORST = 8  # rows that lose most of a share, shown on demand
GRADIENT = ("gradient", "second backward")
BACKWARD = re.compile(r"in backward|PyTorch backward$")


class Shares:
    """Calls that agree, and all of them, by sort."""

    def __init__(self):
        self.agree, self.total = collections.Counter(), collections.Counter()
        self.lost = collections.Counter()  # by (sort, row)

    def call(self, sort, row, found, slopes):
        """Counts one call of a sort, and with slopes its gradients, by its Differences."""
        if any(needs_feature(d) for d in found):
            return
        wrong = [d for d in found if d.kind not in FORM]
        backward = [d for d in wrong if d.kind in GRADIENT or BACKWARD.search(d.text)]
        self.one(sort, row, len(wrong) == len(backward))
        if slopes and len(wrong) == len(backward):
            self.one("gradients", row, not backward)

    def one(self, sort, row, agrees):
        self.total[sort] += 1
        self.agree[sort] += agrees
        self.lost[sort, row] += not agrees

    def add(self, more):
        self.total += more.total
        self.agree += more.agree
        self.lost += more.lost

    def shown(self, worst=0):
        """Prints, with the rows that lose most; returns whether every share is above its bar."""
        for sort, bar in BARS.items():
            if self.total[sort]:
                print(
                    f"  {'samples: ' + sort:30} {self.share(sort):8.2%}  "
                    f"{self.agree[sort]} of {self.total[sort]}, at least {bar:.0%}"
                )
                for row, n in self.losers(sort)[:worst]:
                    print(f"    {n:6} {row}")
        return all(self.share(sort) >= bar for sort, bar in BARS.items() if self.total[sort])

    def losers(self, sort):
        lost = [(row, n) for (of, row), n in self.lost.items() if of == sort and n]
        return sorted(lost, key=lambda each: -each[1])

    def share(self, sort):
        return self.agree[sort] / self.total[sort]
