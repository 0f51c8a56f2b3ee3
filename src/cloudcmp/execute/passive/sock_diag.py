"""Asks the Linux kernel for its TCP sockets, and hears of each as it ends (netlink, sock_diag(7)).

Layouts: linux/netlink.h, linux/inet_diag.h, and struct tcp_info of linux/tcp.h, which only grows at its end.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator

from cloudcmp.model.passive import ConnectionInfo

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY = 20
_DONE, _ERROR = 3, 2
_REQUEST_DUMP = 0x301
_TCP = 6
_LISTEN_STATE = 10
_OPEN_STATES = 0b111111111110 & ~(1 << _LISTEN_STATE)
_INFO_ATTRIBUTE = 2
_ENDED_GROUPS = 0b101
"""Multicast groups 1 and 3: TCP sockets of IPv4 and of IPv6 that end."""
_HEADER = struct.Struct("=IHHII")
_MESSAGE = struct.Struct(">BBBBHH")
_QUEUES_AT, _MESSAGE_BYTES = 56, 72
_ATTRIBUTE = struct.Struct("=HH")
_INFO = struct.Struct("=8B24I4Q6I4Q2I2Q4I")
_BUFFER_BYTES = 1 << 22
_SO_RCVBUFFORCE = 33
# Places in `_INFO`.
_RTO, _LAST_SENT, _LAST_RECEIVED, _LAST_ACKED, _RTT, _RETRANSMITS = 8, 17, 19, 20, 23, 31
_RECEIVED, _MIN_RTT, _DATA_IN, _DATA_OUT, _BUSY, _SENT, _AGAIN, _NEEDLESS = 35, 39, 40, 41, 43, 48, 49, 50
_NO_MIN_RTT = 0xFFFFFFFF


class Ended:
    """Hears of each TCP connection of this network namespace as it ends; `lost` if the kernel dropped reports."""

    def __init__(self) -> None:
        """Raises PermissionError without the right (CAP_NET_ADMIN), OSError where the kernel has no such reports."""
        self.lost = False
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
            self._socket.bind((0, _ENDED_GROUPS))
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def connections(self) -> Iterator[ConnectionInfo]:
        """Those that ended since the last call."""
        while True:
            try:
                data = self._socket.recv(1 << 16)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                self.lost = True
                continue
            for _, body in _messages(data):
                if (found := _connection(body, ended=True)) is not None:
                    yield found

    def close(self) -> None:
        """Hear of no more."""
        self._socket.close()


def open_connections(port: int) -> list[tuple[bytes, ConnectionInfo]]:
    """The open connections of a local port, each with the kernel's own name for it. Raises OSError."""
    found = []
    for body in _dump(_OPEN_STATES):
        info = _connection(body, ended=False)
        if info is not None and info.port == port:
            found.append((body[_QUEUES_AT - 12 : _QUEUES_AT - 4], info))
    return found


def listen_queue(port: int) -> tuple[int, int] | None:
    """How many connections wait to be accepted at a port, and how many may; None if nothing listens there."""
    queues = []
    for body in _dump(1 << _LISTEN_STATE):
        if _MESSAGE.unpack_from(body)[4] == port:
            queues.append(struct.unpack_from("=II", body, _QUEUES_AT))
    return (sum(one for one, _ in queues), sum(most for _, most in queues)) if queues else None


def _dump(states: int) -> Iterator[bytes]:
    """The messages of all TCP sockets in some states, of IPv4 and IPv6."""
    for family in (socket.AF_INET, socket.AF_INET6):
        body = struct.pack("=BBBxI48x", family, _TCP, 1 << (_INFO_ATTRIBUTE - 1), states)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as diag:
            diag.settimeout(5)
            diag.sendall(_HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + body)
            done = False
            while not done:
                for kind, message in _messages(diag.recv(1 << 16)):
                    if kind == _ERROR:
                        number = -struct.unpack_from("=i", message)[0]
                        raise OSError(number, os.strerror(number))
                    done = kind == _DONE
                    if kind == _BY_FAMILY:
                        yield message


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of a datagram: their kinds and their bodies."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, _, _, _ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size:
            return
        yield kind, data[at + _HEADER.size : at + length]
        at += (length + 3) & ~3


def _connection(body: bytes, *, ended: bool) -> ConnectionInfo | None:
    """The connection of a message; None without its accounts, and for a socket that listened."""
    _, _, _, _, local, remote = _MESSAGE.unpack_from(body)
    at = _MESSAGE_BYTES if remote else len(body)
    while at + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, at)
        if length < _ATTRIBUTE.size:
            return None
        if kind == _INFO_ATTRIBUTE:
            raw = body[at + _ATTRIBUTE.size : at + length]
            return _info(local, raw, ended=ended)
        at += (length + 3) & ~3
    return None


def _info(port: int, raw: bytes, *, ended: bool) -> ConnectionInfo:
    """The accounts of a connection; what an older kernel does not have is zero."""
    found = _INFO.unpack(raw[: _INFO.size].ljust(_INFO.size, b"\0"))
    min_rtt = found[_RTT] if found[_MIN_RTT] in {0, _NO_MIN_RTT} else found[_MIN_RTT]
    return ConnectionInfo(
        port, found[_RTT] / 1e6, min_rtt / 1e6, found[_RTO] / 1e6, found[_LAST_RECEIVED] / 1e3,
        found[_LAST_SENT] / 1e3, found[_LAST_ACKED] / 1e3, found[_BUSY] / 1e6, found[_RECEIVED], found[_SENT],
        found[_AGAIN], found[_DATA_IN], found[_DATA_OUT], found[_RETRANSMITS], found[_NEEDLESS], ended,
    )  # fmt: skip
