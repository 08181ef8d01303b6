"""Lets another program drive MCP clients in this process: one JSON command per line in, one JSON line out.

{"client", "id", "op", ...} is a method of the client's driver, answered with {"id", "result"} or {"id", "error"}. The first
one of a client is "connect", the last one "close". {"client", "op", ...} is not answered; "abandon" gives the command `call`
up. In between: {"client", "event", ...}.
"""

import asyncio
import json
import sys
import traceback


def write(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def answer(id, work):
    """Says whether it went well."""
    try:
        write({"id": id, "result": await work})
        return True
    except asyncio.CancelledError:
        write({"id": id, "error": "given up"})
    except BaseException:
        write({"id": id, "error": traceback.format_exc()})
    return False


class ServedClient:
    """One client: its driver, and what it is working on."""

    def __init__(self, driver):
        self.driver = driver
        self.life = None
        self.leaving = asyncio.Event()
        self.leaving_id = None
        self.failure = "the connection has ended"
        self.tasks = {}

    def take(self, id, op, details):
        if op == "connect":
            self.life = asyncio.create_task(self.live(id, details))
        elif self.life.done():
            if id is not None:
                write({"id": id, "error": self.failure})
        elif op == "close":
            self.leaving_id = id
            self.leaving.set()
        elif op == "abandon":
            if details["call"] in self.tasks:
                self.tasks[details["call"]].cancel()
        elif id is None:
            getattr(self.driver, op)(**details)
        else:
            self.tasks[id] = asyncio.create_task(answer(id, getattr(self.driver, op)(id, **details)))
            self.tasks[id].add_done_callback(lambda _task: self.tasks.pop(id))

    async def live(self, id, details):
        """Enters and leaves the connection in one task, as the task groups inside demand."""
        if await answer(id, self.driver.connect(id, **details)):
            try:
                await self.leaving.wait()
            except asyncio.CancelledError:
                # A task group inside has failed; leaving it says why.
                pass
        if self.leaving_id is not None:
            await answer(self.leaving_id, self.driver.close())
            return
        try:
            await self.driver.close()
        except BaseException:
            self.failure = traceback.format_exc()


async def serve(create_driver):
    """`create_driver` gets a function that tells of an event of its client."""
    reader = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    clients = {}

    def create_client(number):
        return ServedClient(create_driver(lambda event, **details: write({"client": number, "event": event, **details})))

    while line := await reader.readline():
        command = json.loads(line)
        number, id, op = command.pop("client"), command.pop("id", None), command.pop("op")
        if op == "connect":
            clients[number] = create_client(number)
        clients[number].take(id, op, command)
