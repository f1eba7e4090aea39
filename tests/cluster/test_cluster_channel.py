"""The control channel under attack: sniffing, impersonating, garbage, silence; and where it listens."""

from __future__ import annotations

import pickle
import queue
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from clusters import certificates
from emulator.device import emulated

from cugraph_ws.dask import control_channel as channel
from cugraph_ws.dask.control_channel import (
    Channel,
    Door,
    HandshakeError,
    PairKeys,
    Transport,
    call,
    listen,
)
from cugraph_ws.dask.nccl import _Incoming, _Outgoing
from cugraph_ws.errors import EngineError, WorkerLostError

WAIT = 30.0
HOST = "127.0.0.1"
ADDRESS = f"tcp://{HOST}:1"
PLAIN = Transport("run", [HOST])


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: Any) -> Transport:
    security = certificates(tmp_path_factory.mktemp("certificates"))
    return Transport(
        "run",
        [HOST],
        security.get_listen_args("worker")["ssl_context"],
        security.get_connection_args("worker")["ssl_context"],
    )


@pytest.fixture(params=["plain", "TLS"])
def transport(request: Any, encrypted: Transport) -> Transport:
    return encrypted if request.param == "TLS" else PLAIN


def agreed(number: int = 2, run: str = "run") -> list[PairKeys]:
    """Return the keys of all ranks of a run."""
    keys = [PairKeys() for _ in range(number)]
    for one in keys:
        one.learn(run, [other.public for other in keys])
    return keys


class Opened:
    """The listener of rank 0, and the accepted connections."""

    def __init__(self, transport: Transport, keys: PairKeys) -> None:
        server = listen(transport)
        self.address = server.getsockname()
        self.taken: queue.Queue[tuple[int, int, Channel]] = queue.Queue()
        self.lines: list[Channel] = []
        self.door = Door(server, transport, keys, 0, self._take)

    def _take(self, rank: int, what: int, line: Channel) -> bool:
        self.lines.append(line)
        self.taken.put((rank, what, line))
        return True


@contextmanager
def opened(transport: Transport, keys: PairKeys) -> Iterator[Opened]:
    made = Opened(transport, keys)
    try:
        yield made
    finally:
        made.door.close()
        for line in made.lines:
            line.close()


class Wire:
    """What goes between two ranks passes here, and is written down."""

    def __init__(self, to: tuple[str, int]) -> None:
        self._server = socket.create_server((HOST, 0))
        self.port = self._server.getsockname()[1]
        self.said: list[bytearray] = [bytearray(), bytearray()]  # by the caller, by the called
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._join, args=(to,), daemon=True).start()

    def _join(self, to: tuple[str, int]) -> None:
        caller, _ = self._server.accept()
        called = socket.create_connection(to, WAIT)
        self._ends += [caller, called]
        for which, (one, other) in enumerate([(caller, called), (called, caller)]):
            threading.Thread(target=self._copy, args=(one, other, which), daemon=True).start()

    def _copy(self, one: socket.socket, other: socket.socket, which: int) -> None:
        with suppress(OSError):
            while some := one.recv(1 << 16):
                self.said[which] += some
                other.sendall(some)
        with suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for one in (self._server, *self._ends):
            one.close()


def answer_of(address: tuple[str, int], said: bytes) -> bytes:
    """Send bytes to a listener; return all bytes received until it closes the connection."""
    with socket.create_connection(address, WAIT) as line:
        with suppress(OSError):
            line.sendall(said)
            line.shutdown(socket.SHUT_WR)
        came = b""
        with suppress(ConnectionError):
            while some := line.recv(1 << 16):
                came += some
        return came


def read(line: Channel, number: int) -> bytes:
    """Return so many bytes of what comes."""
    came = b""
    waiter = threading.Event()
    while len(came) < number:
        some = line.receive()
        assert some != b"", "the other side has left"
        came += some or b""
        waiter.wait(0.001)
    return came


def test_two_ranks_connect_and_exchange_messages(transport: Transport) -> None:
    keys = agreed(3)
    with opened(transport, keys[0]) as own:
        line = call(transport, keys[2], ADDRESS, own.address[1], (2, 0, 1), WAIT)
        rank, what, other = own.taken.get(timeout=WAIT)
        assert (rank, what) == (2, 1)
        assert isinstance(line._line, ssl.SSLSocket) == transport.encrypts
        line.send_all(b"to 0", WAIT)
        other.send_all(b"to 2", WAIT)
        assert (read(other, 4), read(line, 4)) == (b"to 0", b"to 2")
        line.close()
        other.close()


def sniffed(transport: Transport, keys: list[PairKeys], own: Opened) -> Wire:
    """Let rank 1 connect and say something, and write all bytes down."""
    wire = Wire(own.address)
    line = call(transport, keys[1], ADDRESS, wire.port, (1, 0, 0), WAIT)
    _, _, other = own.taken.get(timeout=WAIT)
    line.send_all(b"what only the peer may read", WAIT)
    assert read(other, 27) == b"what only the peer may read"
    line.close()
    other.close()
    return wire


class TestSniffing:
    def test_no_sent_message_authenticates_a_stranger(self, transport):
        """A recorded handshake is said again, to both sides."""
        keys = agreed()
        with opened(transport, keys[0]) as own:
            wire = sniffed(transport, keys, own)
            for one, other in ((0, 1), (1, 0)):
                assert keys[one].key(other) not in b"".join(wire.said)
                assert keys[one]._secret.private_bytes_raw() not in b"".join(wire.said)
            answer_of(own.address, bytes(wire.said[0]))
            assert own.taken.empty()
            with socket.create_server((HOST, 0)) as server:

                def parrot() -> None:
                    line, _ = server.accept()
                    with suppress(OSError):
                        line.sendall(wire.said[1])
                        line.recv(1 << 16)
                    line.close()

                thread = threading.Thread(target=parrot)
                thread.start()
                with pytest.raises(OSError, match=r"."):
                    call(transport, keys[1], ADDRESS, server.getsockname()[1], (1, 0, 0), WAIT)
                thread.join(WAIT)
            wire.close()

    def test_bytes_of_an_encrypted_channel_reveal_nothing(self, encrypted):
        keys = agreed()
        with opened(encrypted, keys[0]) as own:
            wire = sniffed(encrypted, keys, own)
        for said in wire.said:
            assert said[:2] == b"\x16\x03", "a handshake of TLS"
            assert channel.MAGIC not in said
            assert b"what only the peer may read" not in said
        wire.close()

    def test_a_rank_that_expects_encryption_accepts_nothing_else(self, encrypted):
        keys = agreed()
        with opened(encrypted, keys[0]) as own:
            with pytest.raises(OSError, match=r"."):
                call(PLAIN, keys[1], ADDRESS, own.address[1], (1, 0, 0), WAIT)
            assert own.taken.empty()
        with opened(PLAIN, keys[0]) as own, pytest.raises(OSError, match=r"."):
            call(encrypted, keys[1], ADDRESS, own.address[1], (1, 0, 0), WAIT)

    def test_a_stranger_without_a_certificate_is_turned_away(self, encrypted):
        """Though it holds the keys, and speaks TLS."""
        keys = agreed()
        stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
        with opened(encrypted, keys[0]) as own:
            with pytest.raises(OSError, match=r"."):
                call(
                    replace(encrypted, client=stranger), keys[1], ADDRESS, own.address[1],
                    (1, 0, 0), WAIT,
                )  # fmt: skip
            assert own.taken.empty()


class TestImpersonating:
    def test_a_rank_without_its_key(self, transport):
        keys, stranger = agreed(3), PairKeys()
        stranger.learn("run", [one.public for one in keys])  # all of that can be sniffed
        with opened(transport, keys[0]) as own:
            for rank in (1, 2):
                with pytest.raises(OSError, match="closed the connection"):
                    call(transport, stranger, ADDRESS, own.address[1], (rank, 0, 0), WAIT)
            with pytest.raises(OSError, match="closed the connection"):
                call(transport, keys[1], ADDRESS, own.address[1], (2, 0, 0), WAIT)
            assert own.taken.empty()
            call(transport, keys[1], ADDRESS, own.address[1], (1, 0, 0), WAIT).close()
            assert own.taken.get(timeout=WAIT)[0] == 1

    def test_the_listener_must_authenticate_too(self, transport):
        """Its keys are its own: it cannot say what only the rank could."""
        keys, stranger = agreed(), PairKeys()
        stranger.learn("run", [stranger.public, keys[1].public])

        with opened(transport, stranger) as own, pytest.raises(OSError, match="closed"):
            call(transport, keys[1], ADDRESS, own.address[1], (1, 0, 0), WAIT)

    def test_a_listener_that_answers_with_a_proof_of_its_own(self):
        keys = agreed()
        with socket.create_server((HOST, 0)) as server:

            def pretend() -> None:
                line, _ = server.accept()
                line.recv(channel.HELLO.size, socket.MSG_WAITALL)
                line.sendall(bytes(channel.NONCE))
                shown = line.recv(channel.PROOF, socket.MSG_WAITALL)
                line.sendall(shown)  # what it has just heard
                line.close()

            thread = threading.Thread(target=pretend)
            thread.start()
            with pytest.raises(HandshakeError, match="has not proved to be that rank"):
                call(PLAIN, keys[1], ADDRESS, server.getsockname()[1], (1, 0, 0), WAIT)
            thread.join(WAIT)

    @pytest.mark.parametrize("who", [(0, 0, 0), (2, 0, 0), (1 << 31, 0, 0)])
    def test_ranks_that_cannot_call(self, who):
        keys = agreed()
        with opened(PLAIN, keys[0]) as own:
            with pytest.raises(OSError, match="closed the connection"):
                call(PLAIN, keys[1], ADDRESS, own.address[1], who, WAIT)
            assert own.taken.empty()

    def test_keys_are_those_of_one_run(self):
        keys = agreed()
        told = [one.public for one in keys]
        before = keys[0].key(1)
        assert before == keys[1].key(0)
        keys[1].learn("another run", told)
        assert keys[1].key(0) != before
        with opened(PLAIN, keys[0]) as own, pytest.raises(OSError, match="closed"):
            call(PLAIN, keys[1], ADDRESS, own.address[1], (1, 0, 0), WAIT)

    # Points of low order: 0 and 1, and p - 1, p and p + 1, where p is the field's prime.
    @pytest.mark.parametrize("point", [0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18])
    def test_public_keys_of_which_all_know_the_secret(self, point):
        own = PairKeys()
        with pytest.raises(HandshakeError, match="invalid public key"):
            own.learn("run", [own.public, point.to_bytes(channel.PUBLIC, "little")])
        with pytest.raises(HandshakeError, match="invalid public key"):
            own.learn("run", [own.public, b"2"])


class Ran(Exception):
    """Code of the attacker's has run."""


def run_here() -> None:
    raise Ran


class Bomb:
    """What runs code when it is unpickled."""

    def __reduce__(self) -> Any:
        return run_here, ()


GARBAGE = {
    "nothing": b"",
    "zeros": bytes(4096),
    "ones": b"\xff" * 4096,
    "a huge length": struct.pack("<QQ", 2**63, 2**63) * 8,
    "a pickle": pickle.dumps(Bomb()),
    "HTTP": b"GET / HTTP/1.1\r\nHost: worker\r\n\r\n",
    "half a hello": channel.HELLO.pack(channel.MAGIC, 1, 0, bytes(32))[:20],
    "a hello, and no proof": channel.HELLO.pack(channel.MAGIC, 1, 0, bytes(32)) + bytes(32),
}


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_is_turned_away(transport: Transport, what: str) -> None:
    keys = agreed()
    with opened(transport, keys[0]) as own:
        came = answer_of(own.address, GARBAGE[what])
        assert own.taken.empty()
        assert transport.encrypts or len(came) in (0, channel.NONCE), "no proof for anybody"
        line = call(transport, keys[1], ADDRESS, own.address[1], (1, 0, 0), WAIT)
        assert own.taken.get(timeout=WAIT)[0] == 1
        line.close()


@pytest.mark.parametrize(
    "text",
    [
        *GARBAGE.values(),
        pickle.dumps((Bomb(), [])),
        b"\x92\xc0\x91\x93\xa1O\x91\x01\xc3",  # an array of objects
        b"\x92\xc0\x91\x93\xa3<f8\x91\xff\xc3",  # of length -1
        b"\x92\xc0\x91\x93\xa3<f8\x91\x02\xc4\x01a",  # two numbers in one byte
        b"\x92\xc0\xdd\xff\xff\xff\xff",  # four thousand million arrays
        b"\xc6\xff\xff\xff\xff",  # four thousand million bytes
        b"\x91" * 5000,  # a list in a list in a list
    ],
)
def test_letters_run_no_code(text: bytes) -> None:
    with pytest.raises(WorkerLostError, match="has sent an invalid message"):
        _Incoming(text)


def test_letters_come_as_they_are_sent() -> None:
    value = (None, True, -5, 2**64 - 1, 0.1, float("inf"), "text", b"bytes", (), {"a": (1, {2: 3})})
    arrays = [np.arange(5), np.zeros((2, 0), np.float32), np.array([True, False])]
    with emulated():
        letter = _Outgoing(value, arrays)
        reply = _Incoming(letter.text)
        for into, given in zip(reply.contents, letter.contents, strict=True):
            into[...] = given
        came, held = reply.unpack()
        assert came == value
        for one, other in zip(held, arrays, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


class TestSilence:
    def test_the_handshake_of_a_stranger_has_a_time_limit(self, transport, monkeypatch):
        monkeypatch.setattr(channel, "HANDSHAKE", 0.1)
        keys = agreed()
        with (
            opened(transport, keys[0]) as own,
            socket.create_connection(own.address, WAIT) as line,
        ):
            assert line.recv(1) == b"", "turned away"
            line = call(transport, keys[1], ADDRESS, own.address[1], (1, 0, 0), WAIT)
            assert own.taken.get(timeout=WAIT)[0] == 1
            line.close()

    def test_the_oldest_of_very_many_strangers_are_dropped(self, transport, monkeypatch):
        monkeypatch.setattr(channel, "HANDSHAKE", 3600.0)
        monkeypatch.setattr(channel, "PENDING", 4)
        keys = agreed()
        with opened(transport, keys[0]) as own:
            strangers = [socket.create_connection(own.address, WAIT) for _ in range(12)]
            line = call(transport, keys[1], ADDRESS, own.address[1], (1, 0, 0), WAIT)
            assert own.taken.get(timeout=WAIT)[0] == 1
            assert [one.recv(1) for one in strangers[:8]] == [b""] * 8
            line.close()
        assert [one.recv(1) for one in strangers[8:]] == [b""] * 4, "the door is closed"
        for one in strangers:
            one.close()

    def test_a_handshake_that_is_ended_while_tls_begins_stays_ended(self, encrypted):
        one, other = socket.socketpair()
        talk = channel._Deadline(one, WAIT)

        class Ends:
            """Ends the handshake while the plain socket is no more and the encrypted is not yet."""

            def wrap_socket(self, line: socket.socket, **options: Any) -> ssl.SSLSocket:
                wrapped = encrypted.server.wrap_socket(line, **options)
                talk.end()
                return wrapped

        with pytest.raises(HandshakeError, match="was ended"):
            talk.encrypt(Ends(), server=True)
        talk.line.close()
        other.settimeout(WAIT)
        assert other.recv(1) == b""
        other.close()

    def test_the_called_rank_has_a_time_limit_to_answer(self):
        keys = agreed()
        with socket.create_server((HOST, 0)) as server, pytest.raises(TimeoutError):
            call(PLAIN, keys[1], ADDRESS, server.getsockname()[1], (1, 0, 0), 0.1)

    def test_the_limit_is_for_all_that_is_said(self):
        one, other = socket.socketpair()
        talk = channel._Deadline(one, 0.0)
        with pytest.raises(TimeoutError, match="takes too long"):
            talk.read(1)
        one.close()
        other.close()

    def test_a_send_to_a_peer_that_reads_nothing_has_a_time_limit(self):
        one, other = map(Channel, socket.socketpair())
        with pytest.raises(TimeoutError, match="nothing could be sent"):
            one.send_all(bytes(1 << 24), 0.05)
        one.close()
        other.close()


def named(*hosts: str) -> Callable[[], socket.socket]:
    return lambda: listen(Transport("run", hosts))


class TestWhereItListens:
    def test_at_the_workers_own_address_alone(self):
        with named(HOST)() as server:
            assert server.getsockname()[0] == HOST

    def test_where_the_worker_listens_if_others_know_it_by_another_address(self):
        with named("192.0.2.1", HOST)() as server:
            assert server.getsockname()[0] == HOST

    @pytest.mark.parametrize("listens", ["0.0.0.0", "", "::", "192.0.2.1"])
    def test_never_on_all_interfaces(self, listens):
        with pytest.raises(EngineError, match=r"'192\.0\.2\.1'.*--listen-address"):
            named("192.0.2.1", listens)()


def test_a_handshake_reads_no_more_than_its_bytes() -> None:
    """What comes in pieces is put together, and what follows is left for the next to read."""
    near, far = socket.socketpair()
    with near, far:
        far.sendall(b"abc")
        later = threading.Timer(0.1, far.sendall, [b"defgh"])
        later.start()
        assert channel._Deadline(near, 10.0).read(6) == b"abcdef"
        later.join()
        assert near.recv(9) == b"gh"
