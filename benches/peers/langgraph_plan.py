"""The plans of `plan` in langgraph: nodes that do nothing, in a chain or all at once, without a model.

Prints one line of JSON: the version, the units of one run, and the median of the microseconds that a unit takes.
Arguments: the shape (chain or wide), the checkpoints (none, memory or sqlite), the units and the runs.
"""

import json
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    nothing: int


def graph(shape: str, units: int) -> StateGraph:
    made = StateGraph(State)
    for step in range(units):
        made.add_node(f"s{step}", lambda state: {})
    for step in range(units):
        before = START if shape == "wide" or step == 0 else f"s{step - 1}"
        made.add_edge(before, f"s{step}")
        if shape == "wide" or step + 1 == units:
            made.add_edge(f"s{step}", END)
    return made


def once(shape: str, units: int, saver) -> float:
    compiled = graph(shape, units).compile(checkpointer=saver)
    config = {"recursion_limit": units + 10, "max_concurrency": 64, "configurable": {"thread_id": "nothing"}}
    started = time.perf_counter()
    compiled.invoke({"nothing": 0}, config)
    return (time.perf_counter() - started) * 1e6 / units


def measured(shape: str, checkpoints: str, units: int) -> float:
    if checkpoints == "none":
        return once(shape, units, None)
    if checkpoints == "memory":
        return once(shape, units, InMemorySaver())
    with tempfile.TemporaryDirectory() as folder, SqliteSaver.from_conn_string(f"{folder}/nothing.sqlite") as saver:
        return once(shape, units, saver)


def main() -> None:
    shape, checkpoints, units, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    measured(shape, checkpoints, units)
    micros = statistics.median(measured(shape, checkpoints, units) for _ in range(runs))
    print(json.dumps({"version": version("langgraph"), "units": units, "micros": micros}))


main()
