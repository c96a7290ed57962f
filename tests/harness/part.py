"""One part of several of what takes long, so that a command may end before all of it is done:
`--part 2/4`. As a plugin of pytest (`-p tests.harness.part`) it takes every fourth test: all parts
together are the whole, and last about as long as each other.
"""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Part:
        number, count = map(int, text.split("/"))
        if not 1 <= number <= count:
            raise ValueError(f"{text} is no part")
        return cls(number, count)

    def of(self, items: list) -> list:
        return items[self.number - 1 :: self.count]


def pytest_addoption(parser):
    parser.addoption("--part", type=Part.read, default=Part(1, 1), metavar="K/N")


def pytest_collection_modifyitems(config, items):
    kept = set(config.getoption("--part").of(items))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


pytest_collection_modifyitems.trylast = True  # after what the suites themselves leave out
