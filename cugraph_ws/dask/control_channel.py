"""Connections of the control channel: their authentication, and sending and receiving bytes.

Two ranks that open a connection prove to each other that they take part in the same run.  Each rank
sends a public key over Dask's connections, and each pair of ranks derives a shared key from the two
(X25519, RFC 7748, and HKDF, RFC 5869).  So no secret is ever sent, not even
in a cluster without TLS.  The proofs are HMACs of fresh random numbers of both sides, bound to the
run, the two ranks, the purpose of the connection and the direction; a recorded proof is useless.
Every message of the handshake has a fixed length.  If the Dask cluster has TLS, the connection
uses TLS with the same certificates, and the handshake takes place within it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import select
import socket
import ssl
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from distributed.comm.addressing import get_address_host

from cugraph_ws.errors import EngineError

__all__ = ["Channel", "Door", "HandshakeError", "PairKeys", "Transport", "call", "listen"]

HANDSHAKE = 10.0  # seconds in which a caller must prove its rank
PENDING = 64  # most pending handshakes; if there are more, the oldest is ended
CHUNK = 1 << 16  # bytes that are read at a time
NONCE = 32  # bytes
MAGIC = b"cugraph_ws 1"
HELLO = struct.Struct(f"{len(MAGIC)}sIB{NONCE}s")  # magic, caller's rank, purpose, random number
PROOF = hashlib.sha256().digest_size
WILDCARDS = ("", "0.0.0.0", "::", "*")  # noqa: S104 - hosts that are refused
PUBLIC = 32  # bytes of a public key
KEY = 32  # bytes of a shared key


class HandshakeError(OSError):
    """The other side of a connection has not proved to be the expected rank."""


@dataclass(frozen=True)
class Transport:
    """How one rank opens connections of the control channel.

    Attributes
    ----------
    run : str
        The name of the run, the same on all ranks.
    hosts : sequence of str
        Candidates to listen at; the first that is an address of this machine is used, never all
        interfaces.
    server, client : SSLContext or None
        The cluster's TLS contexts, where it has any.
    """

    run: str
    hosts: Sequence[str]
    server: ssl.SSLContext | None = None
    client: ssl.SSLContext | None = None

    @property
    def encrypts(self) -> bool:
        """Whether there are TLS contexts for both sides of a connection."""
        return self.server is not None and self.client is not None


# --------------------------------------------------------------------------------------- keys


class PairKeys:
    """The keys that one rank shares with each other rank; no secret is sent to agree on them.

    Attributes
    ----------
    public : bytes
        The public key to send to the other ranks.
    """

    def __init__(self) -> None:
        self._secret = X25519PrivateKey.generate()
        self.public = self._secret.public_key().public_bytes_raw()
        self._keys: list[bytes] = []

    def learn(self, run: str, shown: Sequence[bytes]) -> None:
        """Derive the shared keys from the public keys of all ranks of a run.

        Parameters
        ----------
        run : str
        shown : sequence of bytes
            By rank.

        Raises
        ------
        HandshakeError
            If one is not a valid public key, or one of those whose shared secret everybody knows.
        """
        context = b"".join([MAGIC, hashlib.sha256(run.encode()).digest(), *shown])
        try:
            shared = [
                self._secret.exchange(X25519PublicKey.from_public_bytes(public)) for public in shown
            ]
        except ValueError as error:
            raise HandshakeError("a rank has sent an invalid public key") from error
        self._keys = [
            HKDF(hashes.SHA256(), KEY, salt=None, info=context).derive(secret) for secret in shared
        ]

    def has(self, rank: int) -> bool:
        """Return whether there is such a rank."""
        return rank < len(self._keys)

    def key(self, rank: int) -> bytes:
        """Return the key shared with another rank."""
        return self._keys[rank]


def _proof(key: bytes, side: bytes, caller: int, called: int, what: int, nonces: bytes) -> bytes:
    """Return a proof that only a holder of the key can make; it is valid for these nonces only."""
    message = MAGIC + side + struct.pack("<IIB", caller, called, what) + nonces
    return hmac.digest(key, message, "sha256")


# -------------------------------------------------------------------------------- connections


class Channel:
    """A non-blocking connection, encrypted or not; any thread may use it.

    Parameters
    ----------
    line : socket
        Connected, after its handshakes.
    """

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._line = line
        self._using = threading.Lock()  # OpenSSL's connections are not thread-safe

    def fileno(self) -> int:
        """Return the descriptor, for `poll`; -1 once it is closed."""
        return self._line.fileno()

    def notice_silence(self, seconds: int, questions: int) -> None:
        """Set keep-alive probes, so that a dead connection breaks; turn off delays of small messages.

        Parameters
        ----------
        seconds : int
            Seconds without traffic until the first probe, and between two probes.
        questions : int
            Number of unanswered probes after which the connection breaks.
        """
        for level, option, value in (
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds),
            (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, seconds),
            (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, questions),
            (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        ):
            self._line.setsockopt(level, option, value)

    def send(self, data: memoryview | bytes) -> int:
        """Send what can be sent without blocking; the next call must begin with the unsent rest.

        Returns
        -------
        int
            Bytes sent, perhaps 0.

        Raises
        ------
        OSError
            If the connection is broken.
        """
        with self._using:
            try:
                return self._line.send(data)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return 0

    def send_all(self, data: bytes, seconds: float) -> None:
        """Send everything; raise TimeoutError, an OSError, if that takes too long."""
        rest = memoryview(data)
        until = time.monotonic() + seconds
        while rest := rest[self.send(rest) :]:
            poller = select.poll()
            poller.register(self.fileno(), select.POLLOUT)
            remaining = until - time.monotonic()
            if remaining <= 0 or not poller.poll(remaining * 1e3):
                raise TimeoutError(f"nothing could be sent for {seconds} s")

    def receive(self) -> bytes | None:
        """Return received bytes: None if there are none yet, `b""` if the other side has closed.

        Poll only after None: bytes may already have been decrypted, and `poll` does not see these.

        Raises
        ------
        OSError
            If the connection is broken.
        """
        with self._using:
            try:
                return self._line.recv(CHUNK)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return None

    def shut(self) -> None:
        """End the connection for both sides, but keep the descriptor, which other threads may use."""
        with self._using, suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        with self._using:
            self._line.close()


def listen(transport: Transport) -> socket.socket:
    """Listen at a free port of the worker's address only.

    Parameters
    ----------
    transport : Transport

    Returns
    -------
    socket

    Raises
    ------
    EngineError
        If none of the addresses is one of this machine's.
    """
    for host in transport.hosts:
        if host in WILDCARDS:
            continue
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with suppress(OSError):
            return socket.create_server((host, 0), family=family)
    tried = ", ".join(repr(host) for host in transport.hosts)
    raise EngineError(
        f"a worker cannot listen at {tried}: it is not an address of this machine, and "
        "GPU workers never listen on all interfaces; start the worker with an address of the machine, for "
        "example `dask worker --listen-address tcp://10.0.0.5:0`"
    )


class _Deadline:
    """Reads and writes exact numbers of bytes on a socket, all within one time limit."""

    def __init__(self, line: socket.socket, seconds: float) -> None:
        self.line, self._until = line, time.monotonic() + seconds
        self._ended = False

    def limit(self) -> None:
        """Set the time limit of the next operation to what is left."""
        remaining = self._until - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("the handshake takes too long")
        self.line.settimeout(remaining)

    def send(self, data: bytes) -> None:
        self.limit()
        self.line.sendall(data)

    def read(self, number: int) -> bytes:
        data = b""
        while len(data) < number:
            self.limit()
            some = self.line.recv(number - len(data))
            if not some:
                raise HandshakeError("the other side has closed the connection")
            data += some
        return data

    def end(self) -> None:
        """Wake the thread that waits for the other side; called from another thread."""
        self._ended = True  # first: `encrypt` may be about to replace `line`
        with suppress(OSError):
            # Not `SSLSocket.shutdown`, which takes the TLS state from the thread that uses it.
            socket.socket.shutdown(self.line, socket.SHUT_RDWR)

    def encrypt(self, context: ssl.SSLContext, *, server: bool) -> None:
        """Continue within TLS."""
        self.limit()
        self.line = context.wrap_socket(
            self.line, server_side=server, do_handshake_on_connect=False
        )
        if self._ended:
            raise HandshakeError("the handshake was ended")
        self.limit()
        self.line.do_handshake()


def call(
    transport: Transport, keys: PairKeys, address: str, port: int, which: tuple[int, int, int],
    seconds: float,
) -> Channel:  # fmt: skip
    """Connect to another rank; both prove which rank they are.

    Parameters
    ----------
    transport : Transport
    keys : PairKeys
        With the public keys of all ranks.
    address : str
        The address of the other rank's worker.
    port : int
        The port at which the other rank listens.
    which : tuple of int
        This rank, the other rank, and the purpose of the connection.
    seconds : float
        The time limit.

    Returns
    -------
    Channel

    Raises
    ------
    OSError
        If the connection or a proof fails, or the limit passes.
    """
    rank, peer, what = which
    line = socket.create_connection((get_address_host(address), port), seconds)
    talk = _Deadline(line, seconds)
    try:
        if transport.client is not None:
            talk.encrypt(transport.client, server=False)
        own_nonce = secrets.token_bytes(NONCE)
        talk.send(HELLO.pack(MAGIC, rank, what, own_nonce))
        nonces = own_nonce + talk.read(NONCE)
        key = keys.key(peer)
        talk.send(_proof(key, b"caller", rank, peer, what, nonces))
        if not hmac.compare_digest(
            talk.read(PROOF), _proof(key, b"called", rank, peer, what, nonces)
        ):
            raise HandshakeError("the listener has not proved to be that rank")
    except BaseException:
        talk.line.close()
        raise
    return Channel(talk.line)


class Door:
    """Accepts connections from other ranks, in threads of its own, and closes all others.

    Each connection has its own thread and its own time limit, so a silent one delays no other.  If
    too many handshakes are pending, the oldest is ended.

    Parameters
    ----------
    server : socket
        The listening socket; `close` closes it.
    transport : Transport
    keys : PairKeys
        With the public keys of all ranks.
    rank : int
        This rank.
    take : callable
        Takes the caller's rank, the purpose of the connection, and the `Channel`; returns False to
        refuse the connection.  Called in another thread.
    """

    def __init__(
        self,
        server: socket.socket,
        transport: Transport,
        keys: PairKeys,
        rank: int,
        take: Callable[[int, int, Channel], bool],
    ) -> None:
        self._server, self._transport, self._keys, self._rank = server, transport, keys, rank
        self._take = take
        self._lock = threading.Lock()
        self._pending: OrderedDict[int, _Deadline] = OrderedDict()
        self._accepted = 0
        self._open = True
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(
            target=self._accept, name="cugraph_ws control channel", daemon=True
        )
        self._thread.start()

    def _accept(self) -> None:
        """Begin a handshake for each incoming connection."""
        self._server.setblocking(False)
        poller = select.poll()
        for waitable in (self._server, self._woken):
            poller.register(waitable, select.POLLIN)
        while self._open:
            poller.poll()
            with suppress(OSError):  # the caller may have closed its side again
                line, _ = self._server.accept()
                line.setblocking(True)
                self._begin(line)

    def _begin(self, line: socket.socket) -> None:
        """Begin a handshake; if too many are pending, end the oldest."""
        talk = _Deadline(line, HANDSHAKE)
        with self._lock:
            self._accepted += 1
            number = self._accepted
            self._pending[number] = talk
            oldest = self._pending.popitem(last=False)[1] if len(self._pending) > PENDING else None
        if oldest is not None:
            oldest.end()
        threading.Thread(target=self._handshake, args=(number, talk), daemon=True).start()

    def _handshake(self, number: int, talk: _Deadline) -> None:
        """Keep a connection whose caller proves to be a rank of the run; close any other."""
        is_taken = False
        with suppress(OSError):
            proved = self._proved(talk)
            if self._is_pending(number) and proved is not None:
                is_taken = self._take(*proved, Channel(talk.line))
        self._is_pending(number)
        if not is_taken:
            talk.line.close()

    def _is_pending(self, number: int) -> bool:
        """Return whether a handshake was still pending, and remove it."""
        with self._lock:
            return self._pending.pop(number, None) is not None

    def _proved(self, talk: _Deadline) -> tuple[int, int] | None:
        """Return the rank that the caller has proved and its purpose; None if the proof fails."""
        if self._transport.server is not None:
            talk.encrypt(self._transport.server, server=True)
        magic, caller, what, theirs = HELLO.unpack(talk.read(HELLO.size))
        if magic != MAGIC or not self._keys.has(caller) or caller == self._rank:
            return None
        own_nonce = secrets.token_bytes(NONCE)
        talk.send(own_nonce)
        key, nonces = self._keys.key(caller), theirs + own_nonce
        shown = talk.read(PROOF)
        if not hmac.compare_digest(shown, _proof(key, b"caller", caller, self._rank, what, nonces)):
            return None
        # Answer only a holder of the key.
        talk.send(_proof(key, b"called", caller, self._rank, what, nonces))
        return caller, what

    def close(self) -> None:
        """Accept no more connections, and end pending handshakes."""
        self._open = False
        self._wake.close()
        self._thread.join()
        with self._lock:
            for talk in self._pending.values():
                talk.end()
        self._server.close()
        self._woken.close()
