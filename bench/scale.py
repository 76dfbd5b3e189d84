#!/usr/bin/env python3
"""What many chats cost, and which wall comes next: docs/scale.md explains the lines.

    bench/scale.py                       the table of docs/scale.md
    bench/scale.py --messages 50 ...     with other assumptions; --help lists them

A constant was measured on two cores of a cloud machine; the comment says how. Each can be replaced by an option.
"""

import argparse

CHATS = (1_000, 10_000, 100_000, 1_000_000)

# Name, value, meaning.
ASSUMED = (
    ("messages", 10, "messages of a chat on a day"),
    ("peak", 3.0, "messages of the busiest hour against those of an average one"),
    ("calls", 4, "tool calls of a task"),
    ("commands", 1, "commands among these"),
    ("command_seconds", 2.0, "seconds of a core that a command takes"),
    ("task_seconds", 30.0, "seconds of a task, most of them the model's"),
    ("parts", 2, "messages that Telegram gets for a task: progress and answer"),
    ("retention_days", 30, "days that ended tasks are kept"),
    ("cores", 8, "cores of a node"),
    ("node_gb", 32, "gigabytes of memory of a node"),
)
MEASURED = (
    # `make bench`, the queue: 64 people at once.
    ("sqlite_tasks", 1800, "tasks that a SQLite file stores, claims and ends in a second, on a busy machine"),
    # The queue on PostgreSQL: the slowest of six runs with two nodes.
    ("postgres_tasks", 577, "the same on a PostgreSQL server of that machine, all nodes together"),
    # The growth of a database, indexes included, in 400 tasks with one `ls` each: 14 events a task.
    ("kb_task", 6.8, "kilobytes of the database that a task with one call takes"),
    # Four of those events come again with each further call.
    ("kb_call", 1.9, "kilobytes that each further call takes"),
    # docs/benchmarks.md: `true` in a sandbox against the same without one.
    ("sandbox_ms", 5.6, "milliseconds of a core that a sandbox takes"),
    # docs/benchmarks.md: a worker with a task in hand.
    ("worker_mb", 30.0, "megabytes of a worker with a task"),
)
# Telegram's FAQ for bots: about 30 messages a second in all, one a second in a chat.
SENDS = 30
# A node's: the writer, the node's own, and four that read.
CONNECTIONS = 6


def options():
    parser = argparse.ArgumentParser(description="What many chats cost, and which wall comes next.")
    for name, value, meaning in ASSUMED + MEASURED:
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, help=meaning)
    return parser.parse_args()


def cost(chats, given):
    """The load of the busiest hour, and what it needs."""
    daily = chats * given.messages
    a_second = daily / 86_400 * given.peak
    busy = a_second * given.task_seconds
    cores = a_second * given.commands * (given.command_seconds + given.sandbox_ms / 1000)
    by_cores = cores / (given.cores * 0.7)
    by_memory = busy * given.worker_mb / (given.node_gb * 1000 * 0.7)
    nodes = max(1, round(max(by_cores, by_memory) + 0.499))
    return {
        "tasks a second": a_second,
        "tasks at once": busy,
        "cores for commands": cores,
        "nodes": nodes,
        "gigabytes in the database": daily * given.retention_days * (given.kb_task + given.kb_call * (given.calls - 1)) / 1e6,
        "bots for Telegram": a_second * given.parts / SENDS,
        "of what SQLite commits": a_second / given.sqlite_tasks,
        "of what PostgreSQL commits": a_second / given.postgres_tasks if given.postgres_tasks else float("nan"),
        "connections to the database": nodes * CONNECTIONS,
    }


def walls(load, given):
    """What is full at this load, the first first."""
    found = []
    if load["bots for Telegram"] > 1:
        found.append(f"Telegram: {load['bots for Telegram']:.0f} bots, or paid broadcasts")
    if load["nodes"] > 1:
        found.append(f"commands: {load['nodes']} nodes")
    if load["of what PostgreSQL commits"] > 1:
        found.append(f"commits: {load['of what PostgreSQL commits'] + 0.5:.0f} databases, by chat")
    elif load["of what SQLite commits"] > 1:
        found.append("commits: a server")
    return "; ".join(found) or "none"


def shown(name, value):
    if name.startswith("of what"):
        return f"{value:.1%}"
    return f"{value:,.0f}" if value >= 10 or isinstance(value, int) else f"{value:.2g}"


def main():
    given = options()
    loads = [cost(chats, given) for chats in CHATS]
    print("| chats | " + " | ".join(f"{chats:,}" for chats in CHATS) + " |")
    print("|---|" + "--:|" * len(CHATS))
    for name in loads[0]:
        print(f"| {name} | " + " | ".join(shown(name, load[name]) for load in loads) + " |")
    print("| the next wall | " + " | ".join(walls(load, given) for load in loads) + " |")


if __name__ == "__main__":
    main()
