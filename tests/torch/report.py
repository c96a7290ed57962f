"""The table at the end of `make test-torch`: how much was compared, what differs, what is new."""

from __future__ import annotations

import collections
import textwrap

from .compare import KINDS
from .differences import KNOWN
from .shares import WORST

EXAMPLES = 3


def shown(found, version, every=False, whole=True):
    """Prints; returns the exit status."""
    reasons = {d: next((k for k in KNOWN if k.covers(d)), None) for d in found.differences}
    new = [d for d in found.differences if reasons[d] is None]
    gone = no_longer(reasons) if whole else []
    for d in found.differences if every else ():
        print(f"{'known' if reasons[d] else 'NEW  '} {d.row} [{d.kind}] {d.text}")
    if not every:
        examples(new)
    table(found, reasons, version)
    enough = found.shares.shown(worst=WORST if every else 0)
    for row, k in gone:
        print(f"no longer differs, remove it: {row} [{k.kind}] {k.text}")
    total = sum(found.calls.values())
    print(f"{len(found.calls)} rows and {total} calls compared, {len(new)} new differences")
    return 1 if new or gone or not enough else 0


def no_longer(reasons):
    """(row, entry) of the list where nothing was found."""
    used = {(r, k) for d in reasons for k in KNOWN if k.covers(d) for r in (d.row, "*")}
    return [(row, k) for k in KNOWN for row in k.rows if k.always and (row, k) not in used]


def examples(new):
    groups = collections.defaultdict(list)
    for d in new:
        groups[d.row, d.kind].append(d.text)
    for (row, kind), texts in sorted(groups.items()):
        print(f"{row}: {kind}, {len(texts)} times")
        for text in texts[:EXAMPLES]:
            print(textwrap.indent(textwrap.shorten(text, 400), "    "))


def table(found, reasons, version):
    differing = {d.row for d in found.differences}
    total = sum(found.calls.values())
    agreeing = len(found.calls) - len(differing & set(found.calls))
    print(f"\nflambeau beside PyTorch {version}")
    print(f"  {'rows compared':30} {len(found.calls):8}")
    print(f"  {'rows that agree in everything':30} {agreeing:8}")
    print(f"  {'rows compared elsewhere':30} {len(found.alone):8}  {' '.join(found.alone)}")
    print(f"  {'calls compared':30} {total:8}")
    print(f"  {'results PyTorch rounds more':30} {found.rounded:8}")
    print(f"  {'differences by kind':30} {'known':>8} {'new':>8}")
    for kind in KINDS:
        all_of_it = [d for d in found.differences if d.kind == kind]
        known = sum(reasons[d] is not None for d in all_of_it)
        print(f"    {kind:28} {known:8} {len(all_of_it) - known:8}")
