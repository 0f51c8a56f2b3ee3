"""When bytes arrived at this machine, which may be long before a busy process comes to read them."""

import socket
import struct
import sys
import time

_STAMPS = 35  # SO_TIMESTAMPNS of Linux, which Python does not name
_TIMESPEC = struct.Struct("@ll")
_AGE_MAX_S = 10.0


class ArrivalSocket(socket.socket):
    """A TCP socket that knows when what it last read had arrived, as far as the system says so.

    `arrived_s` maps the descriptors of accepted sockets to that moment on the clock of `time.monotonic`, in seconds.
    """

    arrived_s: dict[int, float]

    @classmethod
    def listening(cls, host: str, port: int) -> "ArrivalSocket":
        """A bound socket whose accepted sockets enter their arrivals in its `arrived_s`."""
        made = cls(socket.AF_INET, socket.SOCK_STREAM)
        made.arrived_s = {}
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":
            made.setsockopt(socket.SOL_SOCKET, _STAMPS, 1)  # accepted sockets have it too
        made.bind((host, port))
        return made

    def accept(self) -> "tuple[ArrivalSocket, tuple[str, int]]":
        """The next connection, whose arrivals are entered with those of the others."""
        plain, address = super().accept()
        made = ArrivalSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
        made.arrived_s = self.arrived_s
        return made, address

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Reads bytes, and enters when the last of them arrived."""
        data, notes, _, _ = self.recvmsg(bufsize, socket.CMSG_SPACE(_TIMESPEC.size), flags)
        # In this order: an interruption between the two lets bytes arrive later than they did, never earlier.
        unix_s, now_s = time.time(), time.monotonic()
        age_s = 0.0
        for level, kind, stamp in notes:
            if (level, kind) == (socket.SOL_SOCKET, _STAMPS) and len(stamp) == _TIMESPEC.size:
                seconds, nanoseconds = _TIMESPEC.unpack(stamp)
                age_s = unix_s - seconds - nanoseconds * 1e-9
        # A clock that was set meanwhile must not plant an answer into the past or the future.
        self.arrived_s[self.fileno()] = now_s - (age_s if 0 < age_s < _AGE_MAX_S else 0.0)
        return data

    def close(self) -> None:
        """Closes the socket and forgets its arrivals."""
        self.arrived_s.pop(self.fileno(), None)
        super().close()
