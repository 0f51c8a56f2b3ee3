"""The lives of emulated servers: when they are told of, run, stand still and end, and the machine behind each."""

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping

from tests.emulated.boot import Boot, Boots, Machine
from tests.emulated.nova_state import Faults, Region, Server


class Forward:
    """Keeps a server's address when its machine boots anew at another one: port 22 is handed on, until it is closed."""

    def __init__(self, address: str, to: Machine) -> None:
        self.to = to
        self._listener = socket.create_server((address, 22))
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection((self.to.address, 22), 5)
                for one, other in ((near, far), (far, near)):
                    thread = threading.Thread(target=self._copy, args=(one, other), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    @staticmethod
    def _copy(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """Take no more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(2)


class Lives:
    """All servers of one cloud; `clock` gives seconds of any origin."""

    def __init__(self, regions: Mapping[str, Region], boot: Boot | None, clock: Callable[[], float]) -> None:
        self.faults = Faults()
        self.clock = clock
        self._regions, self._boots = regions, Boots(boot)
        self._forwards: dict[str, Forward] = {}
        self._lock = threading.RLock()

    def power_on(self, server: Server) -> None:
        """The machine behind a server starts in the background."""
        server.off = False
        before = server.machine
        self._boots.begin(server, server.user_data, server.id, lambda machine: self._up(server, before, machine))

    def _up(self, server: Server, before: Machine | None, machine: Machine) -> None:
        with self._lock:
            if server.ends_at is not None:
                machine.kill()
            elif before is None:
                server.outside = machine.address
                inside = getattr(machine, "inside", server.address)  # where its neighbours see it, if a test says so
                server.address = inside if self.faults.network == "tenant" else machine.address
            elif machine.address != server.outside:
                self._forwards[server.id] = Forward(server.outside, machine)
            server.machine, server.booting = machine, False

    def power_off(self, server: Server) -> None:
        """It stands still, and keeps all that it has."""
        with self._lock:
            server.off = True
            self._kill(server)

    def _kill(self, server: Server) -> None:
        forward = self._forwards.pop(server.id, None)
        if forward is not None:
            forward.close()
        if server.machine is not None:
            server.machine.kill()

    def reboot_as_resized(self, server: Server) -> None:
        """A machine that is resized goes down and comes up again, by itself."""
        with self._lock:
            self._kill(server)
        self.power_on(server)

    def state(self, server: Server) -> str:
        """A server's status now, in Nova's words."""
        if server.soft:
            return "SOFT_DELETED"
        if server.error:
            return "ERROR"
        if server.resize_at is not None:
            moving = self.clock() < server.resize_at + self.faults.resize_s or server.booting
            return "RESIZE" if moving else "VERIFY_RESIZE"
        if server.off:
            return "SHUTOFF"
        if self.clock() < server.began + self.faults.pending_s or server.booting:
            return "BUILD"
        return "ACTIVE"

    def visible(self, server: Server) -> bool:
        """Whether reads tell of it already."""
        return self.clock() >= server.began + self.faults.read_lag_s

    def end(self, server: Server) -> None:
        """It ends after the cloud's delay; its machine at once."""
        with self._lock:
            if server.ends_at is None:
                server.ends_at = self.clock() + self.faults.delete_s
            self._kill(server)
        self.settle()

    def settle(self) -> None:
        """What had to end by now has ended; a machine that switched itself off is a server that stands still."""
        for region in self._regions.values():
            for server in list(region.servers.values()):
                gone = server.machine is not None and not server.booting and not server.machine.alive()
                if gone and not server.off and server.ends_at is None:
                    self.power_off(server)
                if server.ends_at is not None and self.clock() >= server.ends_at:
                    self._forget(region, server)

    def _forget(self, region: Region, server: Server) -> None:
        """It is gone, with its port and the volumes that end with it; a floating address stays, bound to nothing."""
        region.servers.pop(server.id, None)
        bound = region.bound_to(server.port)
        if bound is not None:
            bound.port = ""
        for id, ends in server.volumes.items():
            volume = region.volumes.get(id)
            if volume is None:
                continue
            volume.server = ""
            if ends and self.faults.volumes != "stays":
                del region.volumes[id]

    def close(self) -> None:
        """Kill every machine and wait for those that are starting."""
        self._boots.wait()
        for region in self._regions.values():
            for server in region.servers.values():
                self._kill(server)
