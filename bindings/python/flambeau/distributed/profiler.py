"""One trace of all ranks. `export_chrome_trace` is called by all of them and writes it on rank 0;
or each writes its own, and this program makes one of the files:

    python -m flambeau.distributed.profiler all.json rank0.json rank1.json

Traces of one machine have one clock. Those of several have rank 0's where `align_clocks` was called
before they were written, and `export_chrome_trace` does that itself."""

import argparse
import gzip
import json
import os
import shutil
import sys
import zlib

from .._deprecated import warn
from .._errors import FileError
from .._gen import api
from .._torch import empty, tensor, uint8
from ._group import world
from ._sealed import carrier
from ._summary import reset_summary, summary

__all__ = ["align_clocks", "export_chrome_trace", "merge_traces", "reset_summary", "summary"]

_PROCESSES = 1000  # numbers of processes that each rank has in a trace
_ARROWS = 1 << 40  # and of arrows
_MAIL = 0x666C616D6D61696C  # the tag of transfers that the library counts nowhere


def align_clocks(group=None):
    """Has this process's traces tell rank 0's time, and returns by how many seconds rank 0's steady
    clock is ahead of this one's. All ranks of the group, by default of the job, call it."""
    return api.group_align_clocks((group or world())._handle)


def export_chrome_trace(profile, path, group=None):
    """Writes the profiles of all ranks as one trace on rank 0, whose clock it tells; gzipped for
    "*.gz". All ranks call it, each with its own profile; `path` is rank 0's."""
    group, path = group or world(), os.fspath(path)
    if group._rank > 0:
        api.group_export_trace(group._handle, profile._found(), path)
        _hear_of_rank_0(group)
        return
    packs = path.endswith(".gz")
    plain = f"{path}.{os.getpid()}.partial" if packs else path
    try:
        api.group_export_trace(group._handle, profile._found(), plain)
        done = False
        try:
            if packs:
                _pack(plain, f"{plain}.gz", path)
            done = True
        finally:
            _tell_others(group, done)
    finally:
        if packs:
            _remove(plain, f"{plain}.gz")


def _pack(plain, partial, path):
    with open(plain, "rb") as whole, gzip.open(partial, "wb") as packed:
        shutil.copyfileobj(whole, packed, 1 << 20)
    os.replace(partial, path)


def _remove(*paths):
    for path in paths:
        if os.path.exists(path):
            os.remove(path)


def _tell_others(group, done):
    """Only rank 0 knows whether it packs, and whether that went well."""
    told = tensor([done], dtype=uint8, device=carrier(group))
    for rank in range(1, group._size):
        api.work_wait(api.group_send(group._handle, told, rank, _MAIL))


def _hear_of_rank_0(group):
    told = empty(1, dtype=uint8, device=carrier(group))
    api.work_wait(api.group_recv(group._handle, told, 0, _MAIL))
    if not told.item():
        raise FileError("rank 0 could not write the trace of all ranks; its error says why")


def _opened(path, mode):
    return (gzip.open if path.endswith(".gz") else open)(path, mode + "t", encoding="utf-8")


def _read(path):
    with _opened(path, "r") as file:
        try:
            trace = json.load(file)
            events = trace["traceEvents"]
        except (ValueError, KeyError, TypeError, EOFError, RecursionError, zlib.error):
            events = None
    if not isinstance(events, list):
        raise ValueError(f"{path} is no trace: it has no list of traceEvents as JSON")
    if not all(isinstance(event, dict) for event in events):
        raise ValueError(f"{path} is no trace: not all of its traceEvents are objects")
    if not isinstance(trace.get("distributedInfo", {}), dict):
        raise ValueError(f"{path} is no trace: its distributedInfo is no object")
    _check_members(path, trace)
    return trace


def _check_members(path, trace):
    """Refuses what could not be placed among what other ranks did."""

    def need(values, kinds, what):
        if any(isinstance(value, bool) or not isinstance(value, kinds) for value in values):
            raise ValueError(f"{path} is no trace: {what}")

    events = trace["traceEvents"]
    need([trace.get("host_name", "")], str, "its host_name is no text")
    need([trace.get("baseTimeNanoseconds", 0)], (int, float), "its base time is no number")
    need([trace.get("distributedInfo", {}).get("rank", 0)], int, "its rank is no whole number")
    need([e["ts"] for e in events if "ts" in e], (int, float), "a time is no number")
    need([e["pid"] for e in events if "pid" in e], (int, str), "a process has no number or name")
    named = [e.get("args") for e in events if e.get("name") == "process_name"]
    need(named, dict, "a process_name has no args")
    need([args.get("name") for args in named], str, "a process_name has no name")


def _ranks(paths, traces):
    """The rank of each trace: its own, or where none says it their order."""
    told = [trace.get("distributedInfo", {}).get("rank") for trace in traces]
    if all(rank is None for rank in told):
        return list(range(len(traces)))
    for path, rank in zip(paths, told):
        if rank is None:
            raise ValueError(f"{path} does not say of which rank it is, and others do")
        if told.count(rank) > 1:
            raise ValueError(f"{path} is of rank {rank}, and so is another one")
    return told


def _host_process(events):
    """The number of the process that the trace was made by: it ran the operations."""
    placed = [e for e in events if "pid" in e]
    ran = [e["pid"] for e in placed if e.get("cat") in ("cpu_op", "user_annotation")]
    return max(set(ran), key=ran.count) if ran else next((e["pid"] for e in placed), None)


def _moved(trace, rank, base_ns):
    """The events of a trace, with numbers that no other rank has."""
    events, host = trace["traceEvents"], trace.get("host_name", "unknown host")
    shift = (trace.get("baseTimeNanoseconds", 0) - base_ns) / 1000
    own = _host_process(events)
    numbers = {own: rank * _PROCESSES}
    for event in events:
        moved = dict(event)
        if "pid" in event:
            moved["pid"] = numbers.setdefault(event["pid"], rank * _PROCESSES + len(numbers))
        if "ts" in event:
            moved["ts"] = event["ts"] + shift
        if isinstance(event.get("id"), int):
            moved["id"] = event["id"] + (rank + 1) * _ARROWS
        if event.get("name") == "process_name" and "pid" in event:
            name = event["args"]["name"]
            shown = (
                f"rank {rank} ({host}, {own})" if event["pid"] == own else f"rank {rank}: {name}"
            )
            moved["args"] = {"name": shown}
        if event.get("name") != "process_sort_index":
            yield moved
    for number in numbers.values():
        order = {"ph": "M", "name": "process_sort_index", "pid": number, "tid": 0}
        yield order | {"args": {"sort_index": number}}


def merge_traces(paths, out):
    """Makes one trace of those that ranks have written, flambeau's or PyTorch's. Paths that end
    with .gz are gzipped. Warns where they are of several machines whose clocks were not aligned."""
    paths, out = [os.fspath(path) for path in paths], os.fspath(out)
    if not paths:
        raise ValueError("merge_traces: no trace is given")
    traces = [_read(path) for path in paths]
    ranks = _ranks(paths, traces)
    hosts = {trace.get("host_name") for trace in traces}
    if len(hosts) > 1 and not all(trace.get("clockOfRank0") for trace in traces):
        warn(
            "the traces are of several machines, whose clocks may differ: call "
            "flambeau.distributed.profiler.align_clocks() on all ranks before they are written"
        )
    base_ns = traces[0].get("baseTimeNanoseconds", 0)
    ordered = sorted(zip(ranks, traces), key=lambda pair: pair[0])
    events = [event for rank, trace in ordered for event in _moved(trace, rank, base_ns)]
    merged = {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": base_ns}
    partial = f"{out.removesuffix('.gz')}.{os.getpid()}.partial" + ".gz" * out.endswith(".gz")
    try:
        with _opened(partial, "w") as file:
            json.dump(merged | {"traceEvents": events}, file)
        os.replace(partial, out)
    finally:
        _remove(partial)


def main(args=None):
    """The program: makes one trace of those named."""
    parser = argparse.ArgumentParser(
        prog="python -m flambeau.distributed.profiler", description="Makes one trace of all ranks."
    )
    parser.add_argument("out", help="the trace to write; gzipped where it ends with .gz")
    parser.add_argument("traces", nargs="+", help="what each rank has written")
    parsed = parser.parse_args(args)
    try:
        merge_traces(parsed.traces, parsed.out)
    except (OSError, ValueError) as problem:
        sys.exit(f"{parser.prog}: {problem}")


if __name__ == "__main__":
    main()
