"""The work of `dispatch` in autogen-core: messages to an agent that does nothing, one after the other, without a model.

Prints one line of JSON: the version, the units of one run, and the median of the microseconds that a unit takes.
"""

import asyncio
import json
import statistics
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version

from autogen_core import AgentId, MessageContext, RoutedAgent, SingleThreadedAgentRuntime, message_handler

UNITS = 10_000


@dataclass
class Nothing:
    text: str


class Idle(RoutedAgent):
    def __init__(self) -> None:
        super().__init__("does nothing")

    @message_handler
    async def on_nothing(self, message: Nothing, ctx: MessageContext) -> None:
        return None


async def once(units: int) -> float:
    runtime = SingleThreadedAgentRuntime()
    await Idle.register(runtime, "idle", Idle)
    runtime.start()
    agent = AgentId("idle", "default")
    message = Nothing("nothing")
    started = time.perf_counter()
    for _ in range(units):
        await runtime.send_message(message, agent)
    took = time.perf_counter() - started
    await runtime.stop()
    return took * 1e6 / units


def main() -> None:
    runs = int(sys.argv[1])
    asyncio.run(once(UNITS // 10))
    micros = statistics.median(asyncio.run(once(UNITS)) for _ in range(runs))
    print(json.dumps({"version": version("autogen-core"), "units": UNITS, "micros": micros}))


main()
