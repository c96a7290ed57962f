"""What failures cost a job that goes on from its last checkpoint. Failures come at a constant rate;
writing a checkpoint stops training for `save`, and a failure costs `restart` beside the lost work.

Intervals by Young (CACM 17, 1974) and Daly (Future Generation Computer Systems 22, 2006), and the
time that a job then takes by Daly's complete model."""

from __future__ import annotations

import math


def young(save: float, between: float) -> float:
    """The first-order interval between checkpoints, with `between` seconds from failure to
    failure."""
    return math.sqrt(2 * save * between)


def daly(save: float, between: float) -> float:
    """The interval to a higher order."""
    if save >= 2 * between:
        return between
    x = save / (2 * between)
    return math.sqrt(2 * save * between) * (1 + math.sqrt(x) / 3 + x / 9) - save


def goodput(interval: float, save: float, restart: float, between: float) -> float:
    """The share of the time that makes steps which count: 0 where next to no interval ends before a
    failure."""
    exponent = (restart + interval + save) / between
    if exponent > 700:  # beyond what a float holds
        return 0.0
    spent = math.exp(restart / between) * math.expm1((interval + save) / between)
    return interval / between / spent


def best_goodput(save: float, restart: float, between: float) -> float:
    return goodput(daly(save, between), save, restart, between)
