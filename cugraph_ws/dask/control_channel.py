"""Connections of the control channel: who may open one, and how bytes go over it.

Two ranks that open a connection prove to each other that they take part in the same run.  Each rank
shows a public number over Dask's connections; each pair of ranks derives a key from the two numbers
(Diffie-Hellman over the 2048-bit group of RFC 3526), so that no secret is ever sent, not even in a
cluster without TLS.  The proofs are HMACs of fresh random numbers of both sides, bound to the run, the
two ranks, the purpose of the connection and the direction: a recorded proof is worth nothing.  Every
message of the handshake has a fixed length.  Where the Dask cluster has TLS, the connection is TLS with
the same certificates, and the handshake takes place within it.
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

from distributed.comm.addressing import get_address_host

from cugraph_ws.errors import EngineError

__all__ = ["Channel", "Door", "HandshakeError", "PairKeys", "Transport", "call", "listen"]

HANDSHAKE = 10.0  # seconds that one who has connected has to prove which rank it is
PENDING = 64  # connections that may be in a handshake at once; then the oldest is closed
CHUNK = 1 << 16  # bytes that are read at a time
NONCE = 32  # bytes
MAGIC = b"cugraph_ws 1"
HELLO = struct.Struct(f"{len(MAGIC)}sIB{NONCE}s")  # who connects, for what, and a fresh number
PROOF = hashlib.sha256().digest_size
WILDCARDS = ("", "0.0.0.0", "::", "*")  # noqa: S104 - what is refused
PUBLIC = 256  # bytes of a public number
SECRET = 256  # bits of a secret one

# The prime of RFC 3526's group 14, and a generator
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F"
    "83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B"
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510"
    "15728E5A8AACAA68FFFFFFFFFFFFFFFF",
    16,
)
GENERATOR = 2


class HandshakeError(OSError):
    """The other side of a connection has not proved that it is the rank that it is taken for."""


@dataclass(frozen=True)
class Transport:
    """How one rank opens connections of the control channel.

    Attributes
    ----------
    run : str
        Names the run, the same for all ranks.
    hosts : sequence of str
        Where to listen, the first one that is an address of this machine; never all interfaces.
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
    """Keys that one rank shares with each of the others; no secret is sent to agree on them.

    Attributes
    ----------
    public : bytes
        The number that the other ranks must see.
    """

    def __init__(self) -> None:
        self._secret = secrets.randbits(SECRET) | 1
        self.public = pow(GENERATOR, self._secret, PRIME).to_bytes(PUBLIC, "big")
        self._context = b""
        self._shown: list[bytes] = []
        self._keys: dict[int, bytes] = {}

    def learn(self, run: str, shown: Sequence[bytes]) -> None:
        """Learn the public numbers of all ranks of a run.

        Parameters
        ----------
        run : str
        shown : sequence of bytes
            By rank.

        Raises
        ------
        HandshakeError
            If one is no public number.
        """
        for one in shown:
            if len(one) != PUBLIC or not 1 < int.from_bytes(one, "big") < PRIME - 1:
                raise HandshakeError("a rank has shown a public number that cannot be one")
        self._shown, self._keys = list(shown), {}
        self._context = b"".join([MAGIC, hashlib.sha256(run.encode()).digest(), *shown])

    def has(self, rank: int) -> bool:
        """Tell whether there is such a rank."""
        return rank < len(self._shown)

    def key(self, rank: int) -> bytes:
        """Return the key that is shared with another rank; computed once."""
        if rank not in self._keys:
            shared = pow(int.from_bytes(self._shown[rank], "big"), self._secret, PRIME)
            told = shared.to_bytes(PUBLIC, "big")
            self._keys[rank] = hmac.digest(told, self._context, "sha256")
        return self._keys[rank]


def _proof(key: bytes, side: bytes, caller: int, called: int, what: int, nonces: bytes) -> bytes:
    """Return what only a holder of the key can say, and nobody twice."""
    told = MAGIC + side + struct.pack("<IIB", caller, called, what) + nonces
    return hmac.digest(key, told, "sha256")


# -------------------------------------------------------------------------------- connections


class Channel:
    """A connection that does not block, encrypted or not; any thread may use it.

    Parameters
    ----------
    line : socket
        Connected; its handshakes are over.
    """

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._line = line
        self._using = threading.Lock()  # OpenSSL's connections are not safe to share

    def fileno(self) -> int:
        """Return the descriptor, for `poll`; -1 once it is closed."""
        return self._line.fileno()

    def notice_silence(self, seconds: int, questions: int) -> None:
        """Have the connection break when the other machine is cut off; send small messages at once.

        Parameters
        ----------
        seconds : int
            After which the other machine is asked whether it is there, and between questions.
        questions : int
            That go without an answer.
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
        """Send what goes at once; what was not sent must come first the next time.

        Returns
        -------
        int
            Bytes that have gone, perhaps 0.

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
        """Send everything; raises TimeoutError, an OSError, if that takes too long."""
        rest = memoryview(data)
        until = time.monotonic() + seconds
        while rest := rest[self.send(rest) :]:
            poller = select.poll()
            poller.register(self.fileno(), select.POLLOUT)
            left = until - time.monotonic()
            if left <= 0 or not poller.poll(left * 1e3):
                raise TimeoutError(f"nothing could be sent for {seconds} s")

    def receive(self) -> bytes | None:
        """Return what has come; None if nothing is here, nothing (`b""`) if the other side has left.

        Who polls for more must have got None first: some may be here, decrypted.

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
        """End the connection for both sides, without closing it under another thread's hands."""
        with self._using, suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it."""
        with self._using:
            self._line.close()


def listen(transport: Transport) -> socket.socket:
    """Listen at a port of one's own, at the worker's address alone.

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
    tried = ", ".join(repr(one) for one in transport.hosts)
    raise EngineError(
        f"a worker cannot listen at {tried}: that is no address of one of this machine's interfaces, and "
        "connections between GPU workers are never opened on all of them; start the worker with an address "
        "of its own, for example `dask worker --listen-address tcp://10.0.0.5:0`"
    )


class _Deadline:
    """Reads and writes exactly so many bytes of a socket, all within one limit of time."""

    def __init__(self, line: socket.socket, seconds: float) -> None:
        self.line, self._until = line, time.monotonic() + seconds

    def limit(self) -> None:
        """Have the next operation end in time."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the handshake takes too long")
        self.line.settimeout(left)

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
        """Have whoever waits for the other side wait no longer; called in another thread."""
        with suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)

    def encrypt(self, context: ssl.SSLContext, *, server: bool) -> None:
        """Go on within TLS."""
        self.limit()
        self.line = context.wrap_socket(
            self.line, server_side=server, do_handshake_on_connect=False
        )
        self.limit()
        self.line.do_handshake()


def call(
    transport: Transport, keys: PairKeys, address: str, port: int, who: tuple[int, int, int],
    seconds: float,
) -> Channel:  # fmt: skip
    """Connect to another rank; both prove which rank they are.

    Parameters
    ----------
    transport : Transport
    keys : PairKeys
        That have learned the public numbers of all ranks.
    address : str
        Of the other rank's worker.
    port : int
        Where the other rank listens.
    who : tuple of int
        The own rank, the other one, and for what the connection is.
    seconds : float
        In which all of that must happen.

    Returns
    -------
    Channel

    Raises
    ------
    OSError
        If it does not.
    """
    rank, other, what = who
    line = socket.create_connection((get_address_host(address), port), seconds)
    talk = _Deadline(line, seconds)
    try:
        if transport.client is not None:
            talk.encrypt(transport.client, server=False)
        own = secrets.token_bytes(NONCE)
        talk.send(HELLO.pack(MAGIC, rank, what, own))
        nonces = own + talk.read(NONCE)
        key = keys.key(other)
        talk.send(_proof(key, b"caller", rank, other, what, nonces))
        if not hmac.compare_digest(
            talk.read(PROOF), _proof(key, b"called", rank, other, what, nonces)
        ):
            raise HandshakeError("whoever listens there has not proved to be that rank")
    except BaseException:
        talk.line.close()
        raise
    return Channel(talk.line)


class Door:
    """Takes connections from other ranks, in threads of its own; strangers are turned away.

    Each connection has its own thread and its own limit of time, so that one that says nothing holds
    nobody up.  If very many are pending, the oldest is closed.

    Parameters
    ----------
    server : socket
        That listens; closed with the door.
    transport : Transport
    keys : PairKeys
        That have learned the public numbers of all ranks.
    rank : int
        The own one.
    take : callable
        Takes the rank of who has connected, for what, and the `Channel`; returns False where such a
        connection is not wanted.  Called in another thread.
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
        """Begin a handshake with everyone who connects."""
        self._server.setblocking(False)
        poller = select.poll()
        for one in (self._server, self._woken):
            poller.register(one, select.POLLIN)
        while self._open:
            poller.poll()
            with suppress(OSError):  # who connected may have gone again
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
        """Let one in who proves to be a rank of the run; turn any other away."""
        taken = False
        with suppress(OSError):
            proved = self._proved(talk)
            if self._is_pending(number) and proved is not None:
                taken = self._take(*proved, Channel(talk.line))
        self._is_pending(number)
        if not taken:
            talk.line.close()

    def _is_pending(self, number: int) -> bool:
        """Tell whether nobody has ended a handshake, which nobody can any more."""
        with self._lock:
            return self._pending.pop(number, None) is not None

    def _proved(self, talk: _Deadline) -> tuple[int, int] | None:
        """Return which rank the other side has proved to be, and for what it calls; None if none."""
        if self._transport.server is not None:
            talk.encrypt(self._transport.server, server=True)
        magic, caller, what, theirs = HELLO.unpack(talk.read(HELLO.size))
        if magic != MAGIC or not self._keys.has(caller) or caller == self._rank:
            return None
        own = secrets.token_bytes(NONCE)
        talk.send(own)
        key, nonces = self._keys.key(caller), theirs + own
        shown = talk.read(PROOF)
        if not hmac.compare_digest(shown, _proof(key, b"caller", caller, self._rank, what, nonces)):
            return None
        # Only one who holds the key gets an answer.
        talk.send(_proof(key, b"called", caller, self._rank, what, nonces))
        return caller, what

    def close(self) -> None:
        """Take no more connections, and end those that are still in a handshake."""
        self._open = False
        self._wake.close()
        self._thread.join()
        with self._lock:
            for talk in self._pending.values():
                talk.end()
        self._server.close()
        self._woken.close()
