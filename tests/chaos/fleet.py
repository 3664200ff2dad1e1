"""The services of a chaos run. What was ended is started again, as a person's supervisor would do."""

import asyncio
import random
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tests.simulation.ledger import Violation
from tests.system.site import Service, Site

# How many of each kind there are.
FLEET: Mapping[str, int] = MappingProxyType({"scheduler": 2, "worker": 2, "triggerer": 3, "dag-processor": 1})
LEASE_SEC = 2.1
HEARTBEAT_SEC = LEASE_SEC / 2.1
SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "scheduler__job_heartbeat_sec": HEARTBEAT_SEC,
        "worker__job_heartbeat_sec": HEARTBEAT_SEC,
        "dag_processor__job_heartbeat_sec": HEARTBEAT_SEC,
        "triggerer__job_heartbeat_sec": HEARTBEAT_SEC,
    }
)
LOOK_EVERY_SEC = 0.1


@dataclass
class Fleet:
    """The services that are to be at work, and what somebody has done to them."""

    here: Site
    kinds: Mapping[str, int]
    at_work: list[Service] = field(default_factory=list)
    killed: set[int] = field(default_factory=set)
    told: set[int] = field(default_factory=set)
    frozen: set[int] = field(default_factory=set)

    def start(self) -> None:
        """Start all of them."""
        self.at_work = [self._started(kind) for kind, number in self.kinds.items() for _ in range(number)]

    async def keep(self) -> None:
        """Start again what has ended, for as long as this is not cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_EVERY_SEC)

    def look(self) -> None:
        """Start again what has ended; nobody ends without having been told or killed."""
        for place, service in enumerate(self.at_work):
            code = service.process.poll()
            if code is None:
                continue
            if not self._was_meant(service, code):
                raise Violation("I9", f"a {service.kind} has ended by itself, with {code}:\n{service.log.read_text()}")
            self.frozen.discard(service.pid)
            self.at_work[place] = self._started(service.kind)

    async def is_at_work(self) -> bool:
        """Say whether all of them are registered."""
        rows = await self.here.hand.fetch("select pid from job where state = 'running'")
        return {service.pid for service in self.at_work} <= {row["pid"] for row in rows}

    def some(self, rng: random.Random) -> Service:
        """Choose one."""
        return rng.choice(self.at_work)

    def kill(self, service: Service) -> None:
        """End one at once."""
        self.killed.add(service.pid)
        service.send(signal.SIGKILL)

    def tell(self, service: Service) -> None:
        """Ask one to end. One that is frozen hears it later."""
        self.told.add(service.pid)
        service.send(signal.SIGTERM)

    def freeze(self, service: Service) -> None:
        """Let one stand still."""
        self.frozen.add(service.pid)
        service.send(signal.SIGSTOP)

    def thaw(self, service: Service) -> None:
        """Let one go on."""
        self.frozen.discard(service.pid)
        service.send(signal.SIGCONT)

    def thaw_all(self) -> None:
        """Let all go on."""
        for service in self.at_work:
            self.thaw(service)

    async def stop(self) -> None:
        """Tell all of them to end, and see that they do."""
        for service in self.at_work:
            self.tell(service)
        for service in self.at_work:
            code = await service.ended()
            if code != 0:
                raise Violation("I9", f"a {service.kind} that was told to end has ended with {code}")

    def _was_meant(self, service: Service, code: int) -> bool:
        if code == -signal.SIGKILL:
            return service.pid in self.killed
        if code in (0, -signal.SIGTERM):
            # It may have been told before it knew how to listen.
            return service.pid in self.told
        # Who finds no server when it begins says so, and whoever has started it tries again.
        return code == 1 and service.said("Error: ") == 1 and not service.said("Traceback")

    def _started(self, kind: str) -> Service:
        # Every other worker lets a child run several legs.
        legs = 10 if kind == "worker" and len(self.here.services) % 2 else 1
        return self.here.start(kind, worker__legs_per_child=legs, **SETTINGS)
