"""0 is no choice: in C the default, of every enumerator and dtype that has one.

Each is set to 0 in a call that works otherwise; a child makes the calls, because they leave modes
and objects behind.
"""

import ctypes
import json
import sys

import parent
import record
import values
import worker
import working
from engine import Engine

SECONDS = 300
TRIES = 40  # variants of the other arguments until a call works


def chosen(engine, function):
    """The function's parameters with such a default, each with the options it stands in."""
    slots = [(s, None) for s in function.slots]
    slots += [(s, o) for o in function.slots for s in engine.fields(o)]
    return [
        (s, o)
        for s, o in slots
        if s.family == "enum" and s.default not in (None, "0", "FLAM_DTYPE_NONE")
    ]


def failure(engine, function, arguments):
    engine.run("flam_error_clear")
    engine.run(function.name, *(a for v in arguments.values() for a in v.arguments))
    return (engine.run("flam_error_message") or b"").decode()


def refused(device):
    """Of each such parameter what its 0 is refused with, "" where it is taken, None where no call
    of the function works."""
    ledger = record.read()
    engine = Engine(ledger, device)
    engine.tensor("FLAM_F32", (4, 4))
    working.on_a_stream(working.Maker(engine))  # reserves the simulated devices' memory
    worker.limit()
    outcome = {}
    for function in ledger.functions.values():
        for slot, options in chosen(engine, function):
            nothing = values.number(ctypes.c_int32, 0)
            outcome[f"{function.name}: {slot.name}"] = None
            for n in range(TRIES):
                plain, bare = engine.attempt(function, n), engine.attempt(function, n)
                if options:
                    plain[options.name] = engine.options(options, {})
                    bare[options.name] = engine.options(options, {slot.name: nothing})
                else:
                    bare[slot.name] = nothing
                text = failure(engine, function, bare)
                if not text or not failure(engine, function, plain):
                    outcome[f"{function.name}: {slot.name}"] = text
                    break
    return outcome


def test_no_choice_is_the_default(device, tmp_path):
    child = parent.start([sys.executable, __file__, device], str(tmp_path), timeout=SECONDS)
    assert child.returncode == 0, child.stderr[-2000:]
    outcome = json.loads(child.stdout)
    tried = [name for name, text in outcome.items() if text is not None]
    assert len(tried) > 60, f"{len(tried)} tried of {len(outcome)}"
    assert not {name: text for name, text in outcome.items() if text}


if __name__ == "__main__":
    print(json.dumps(refused(sys.argv[1])))
