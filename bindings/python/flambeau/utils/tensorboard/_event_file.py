"""Event files: a sequence of protocol-buffer messages, each framed by its length and two checksums.

Only what events need of the protocol-buffer encoding is here: numbers, texts, and messages inside
messages, as `field(number, value)`.
Sources: https://protobuf.dev/programming-guides/encoding, and tensorflow's record_writer.h for the
frame and its masked CRC-32C (Castagnoli, RFC 3720 appendix B.4)."""

import os
import socket
import struct
import threading
import time


def _table():
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        rows.append(byte)
    return tuple(rows)


_CRC = _table()


def crc32c(data):
    """The CRC-32C of bytes."""
    crc, table = 0xFFFFFFFF, _CRC
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(data):
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(message):
    """One record of the file."""
    length = struct.pack("<Q", len(message))
    return length + _masked(length) + message + _masked(message)


def varint(value):
    """A number in groups of seven bits; negative ones as 64-bit two's complement."""
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """An int as a varint, bytes or str as length and content."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def double(number, value):
    """A field of eight bytes."""
    return varint(number << 3 | 1) + struct.pack("<d", value)


def float32(number, value):
    """A field of four bytes; what float32 cannot hold becomes an infinity."""
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return varint(number << 3 | 5) + packed


class EventFile:
    """One event file in `folder`. Records are kept back until `max_queue` of them wait or
    `flush_secs` went by since the last were written; any thread may add."""

    def __init__(self, folder, max_queue, flush_secs, suffix):
        os.makedirs(folder, exist_ok=True)
        name = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{os.getpid()}"
        number = 0
        while os.path.exists(os.path.join(folder, f"{name}.{number}{suffix}")):
            number += 1
        self._file = open(os.path.join(folder, f"{name}.{number}{suffix}"), "xb")
        self._lock, self._waiting = threading.Lock(), []
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._written_at = time.monotonic()
        self.add(field(3, "brain.Event:2"), None, None)
        self.flush()

    def add(self, content, step, walltime):
        """Adds an event with the given content: fields of tensorflow's Event message."""
        event = double(1, time.time() if walltime is None else walltime)
        if step is not None:
            event += field(2, int(step))
        record = framed(event + content)
        with self._lock:
            if self._file.closed:
                raise ValueError("the SummaryWriter is closed")
            self._waiting.append(record)
            late = time.monotonic() - self._written_at > self._flush_secs
            if late or len(self._waiting) > self._max_queue:
                self._write()

    def _write(self):
        self._file.write(b"".join(self._waiting))
        self._file.flush()
        self._waiting.clear()
        self._written_at = time.monotonic()

    def flush(self):
        """Writes what waits."""
        with self._lock:
            if not self._file.closed:
                self._write()

    def close(self):
        """Writes what waits and closes the file."""
        self.flush()
        with self._lock:
            self._file.close()
