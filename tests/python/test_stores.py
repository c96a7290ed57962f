"""torch.distributed's stores: names and answers as in torch, two processes, another job's key, a
port that is taken, and Ctrl-C."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import warnings
from datetime import timedelta

import flambeau.distributed as dist
import pytest
from flambeau import _deprecated

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHORT = timedelta(milliseconds=60)


def master(**options):
    return dist.TCPStore("localhost", 0, is_master=True, timeout=timedelta(seconds=20), **options)


@pytest.fixture(params=["hash", "tcp", "file", "prefix"])
def store(request, tmp_path):
    return {
        "hash": dist.HashStore,
        "tcp": master,
        "file": lambda: dist.FileStore(tmp_path / "store"),
        "prefix": lambda: dist.PrefixStore("part", dist.HashStore()),
    }[request.param]()


def run(text, **environment):
    """A process that has `dist` and `timedelta`; killed after 20 seconds, or with the test."""
    head = "import sys, time\nfrom datetime import timedelta\nimport flambeau.distributed as dist\n"
    environment = {**os.environ, "PYTHONPATH": ROOT + "/bindings/python", **environment}
    return subprocess.Popen([sys.executable, "-c", head + text], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def ended(process):
    try:
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    return process.returncode, out, err


def test_values(store):
    assert store.set("a", "1") is None and store.get("a") == b"1"
    assert store.add("a", 2) == 3 and store.get("a") == b"3"
    store.set("b", b"\x00\xff")
    assert store.get("b") == b"\x00\xff"
    store.append("b", "!")
    assert store.get("b") == b"\x00\xff!"
    assert store.check(["a", "b"]) and not store.check(["a", "c"]) and store.check([])
    assert store.num_keys() == 2
    assert store.delete_key("a") is True and store.delete_key("a") is False
    store.multi_set(["x", "y"], ["1", b"2"])
    assert store.multi_get(["x", "y"]) == [b"1", b"2"]
    assert store.has_extended_api()


def test_compare_set(store):
    assert store.compare_set("q", "x", "w") == b"x" and not store.check(["q"])
    assert store.compare_set("k", "", "v") == b"v"
    assert store.compare_set("k", "x", "w") == b"v"
    assert store.compare_set("k", b"v", b"w") == b"w" == store.get("k")


def test_deadlines(store):
    store.set("there", "1")
    assert store.wait(["there"], SHORT) is None and store.wait(["there"]) is None
    begun = time.monotonic()
    with pytest.raises(dist.DistStoreError, match=r'wait timeout after 60ms, keys: .*absent"'):
        store.wait(["there", "absent"], SHORT)
    assert 0.05 < time.monotonic() - begun < 3
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    with pytest.raises(dist.DistStoreError, match="after 60ms"):
        store.get("absent")
    with pytest.raises(dist.DistError, match="after 60ms"):
        store.wait(["absent"])
    with pytest.raises(TimeoutError, match="after 700ms"):  # of two parts
        store.wait(["absent"], timedelta(seconds=0.7))


def test_clone_waits_for_itself(store):
    other, found = store.clone(), []
    thread = threading.Thread(target=lambda: found.append(store.get("late")))
    thread.start()
    time.sleep(0.05)
    other.set("late", "1")
    thread.join(10)
    assert found == [b"1"] and other.timeout == store.timeout and type(other) is type(store)


def test_refusals(store):
    for call in (
        lambda: store.set(1, "x"),
        lambda: store.set("k", 1),
        lambda: store.get(None),
        lambda: store.wait("key"),
        lambda: store.check([b"k"]),
        lambda: store.wait(["k"], 1.0),
        lambda: store.set_timeout(5),
        lambda: store.append("k", None),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        store.multi_set(["a", "b"], ["1"])
    store.set("word", "seven")
    with pytest.raises(ValueError, match="no number"):
        store.add("word", 1)
    with pytest.raises(ValueError, match="4096"):
        store.set("k" * 5000, "")
    with pytest.raises(ValueError, match="above 0"):
        store.set_timeout(timedelta(0))
    assert store.num_keys() == 1


def test_classes(tmp_path):
    tcp = master(use_libuv=False)
    assert tcp.host == "localhost" and tcp.port > 0 and isinstance(tcp, dist.Store)
    inner = dist.PrefixStore("a", tcp)
    outer = dist.PrefixStore("b", inner)
    outer.set("k", "1")
    assert tcp.get("a/b/k") == b"1"
    assert outer.underlying_store is inner and outer._underlying_non_prefix_store is tcp
    path = tmp_path / "store"
    file = dist.FileStore(str(path), 1)
    assert file.path == str(path) and path.exists()
    del file
    assert not path.exists()
    with pytest.raises(TypeError):
        dist.PrefixStore("p", None)
    with pytest.raises(NotImplementedError):
        dist.Store().get("k")
    with pytest.raises(OSError):
        dist.FileStore("/nowhere/at/all")


def test_two_processes():
    store = master(wait_for_workers=False)
    process = run(
        f"store = dist.TCPStore('localhost', {store.port}, 2, False, timedelta(seconds=10))\n"
        "store.set('child', 'there')\nprint(store.get('parent').decode())"
    )
    assert store.get("child") == b"there"
    store.set("parent", "here too")
    assert ended(process) == (0, "here too\n", "")


def test_master_waits_for_workers():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        process = run(
            f"store = dist.TCPStore('127.0.0.1', {port}, 2, False, timedelta(seconds=10))\n"
            "print(store.get('k').decode())"
        )
        fd = listener.detach()
    store = dist.TCPStore("127.0.0.1", port, 2, True, timedelta(seconds=20), master_listen_fd=fd)
    store.set("k", "1")
    assert ended(process) == (0, "1\n", "") and store.port == port
    with pytest.raises(dist.DistStoreError, match="0.2 seconds waiting for clients. 1/3"):
        dist.TCPStore("127.0.0.1", 0, 3, True, timedelta(seconds=0.2))


def test_port_that_is_taken():
    store = master()
    with pytest.raises(dist.DistNetworkError, match="already in use"):
        dist.TCPStore("localhost", store.port, is_master=True, timeout=SHORT)
    first = master(multi_tenant=True)
    second = dist.TCPStore("localhost", first.port, is_master=True, multi_tenant=True)
    first.set("k", "1")
    port = first.port
    del first
    assert second.get("k") == b"1" and second.port == port


def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        port = taken.getsockname()[1]
        text = f"timed out after 60ms while trying to connect to 127.0.0.1:{port}"
        with pytest.raises(dist.DistNetworkError, match=text):
            dist.TCPStore("127.0.0.1", port, timeout=SHORT)


def test_another_jobs_key(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_JOB_KEY", "of this job")
    store = master()
    text = f"dist.TCPStore('localhost', {store.port}, timeout=timedelta(seconds=9)).set('k', '1')"
    assert ended(run(text))[0] == 0
    code, _, err = ended(run(text, FLAMBEAU_JOB_KEY="of another one"))
    assert code == 1 and "belongs to another job" in err
    assert store.num_keys() == 1


def test_end_of_the_master_is_told():
    process = run(
        "store = dist.TCPStore('localhost', 0, is_master=True)\n"
        "print(store.port, flush=True)\ntime.sleep(20)"
    )
    store = dist.TCPStore("localhost", int(process.stdout.readline()))
    store.set("k", "1")
    threading.Timer(0.2, process.kill).start()
    begun = time.monotonic()
    with pytest.raises(dist.DistNetworkError, match="is lost"):
        store.wait(["never"])
    assert time.monotonic() - begun < 5
    ended(process)


@pytest.mark.parametrize(
    "waits",
    [
        "dist.HashStore().get('never')",
        "dist.TCPStore('localhost', 0, is_master=True).wait(['never'])",
        "dist.TCPStore('localhost', 0, 2, True)",
        "dist.TCPStore('localhost', 1)",
    ],
)
def test_interrupt(waits):
    process = run(f"print('begun', flush=True)\n{waits}")
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.2)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert code == -signal.SIGINT and "KeyboardInterrupt" in err
    assert time.monotonic() - begun < 4


LOOPBACK = (
    "0x7f000001"  # a name of 127.0.0.1 that is not written as one, as many a machine's own is
)


def listening(port):
    """The addresses of this machine's IPv4 sockets that listen there."""
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file][1:]
    found = [row[1].split(":") for row in rows if row[3] == "0A"]
    return [socket.inet_ntoa(bytes.fromhex(a)[::-1]) for a, p in found if int(p, 16) == port]


def test_a_name_of_this_machine_is_listened_at_for_others_only_where_there_are_any():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = dist.TCPStore(LOOPBACK, 0, 1, True)
        both = dist.TCPStore(LOOPBACK, 0, 2, True, wait_for_workers=False)
        told = dist.TCPStore("0.0.0.0", 0, 2, True, wait_for_workers=False, listen=LOOPBACK)
    assert listening(alone.port) == ["127.0.0.1"] and listening(both.port) == ["0.0.0.0"]
    assert listening(told.port) == ["127.0.0.1"]


def test_a_store_beyond_this_machine_without_a_key_is_warned_of_once(monkeypatch):
    def warned(host, size, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dist.TCPStore(host, 0, size, True, wait_for_workers=False, **options)
        return [str(one.message) for one in caught]

    monkeypatch.setattr(_deprecated, "_told", set())
    monkeypatch.setenv("FLAMBEAU_JOB_KEY", "secret")
    assert warned("0.0.0.0", 2) == []
    monkeypatch.delenv("FLAMBEAU_JOB_KEY")
    assert warned("127.0.0.1", 2) == warned("localhost", 2) == warned(LOOPBACK, 1) == []
    assert warned("0.0.0.0", 2, listen=LOOPBACK) == []
    (text,) = warned("0.0.0.0", 2)
    assert "whoever reaches its port is taken in" in text and "set FLAMBEAU_JOB_KEY" in text
    assert warned(LOOPBACK, 2) == []


@pytest.mark.parametrize("host", ["[::1]", "LOCALHOST", LOOPBACK])
def test_a_store_of_this_machine_is_known_however_its_host_is_written(host):
    from flambeau.distributed import _start

    assert _start._on_this_machine("", types.SimpleNamespace(_host=host))


@pytest.mark.parametrize("size", [1, 2])
def test_a_backend_that_is_not_there_is_refused_for_any_number_of_ranks(size):
    for name in ("ucc", "xccl"):
        with pytest.raises(NotImplementedError, match=f"backend {name} is unsupported"):
            dist.init_process_group(name, store=dist.HashStore(), rank=0, world_size=size)
    assert not dist.is_initialized()
