"""An MCP client on PyPI `mcp` (1.x or 2.x) that another program drives: one JSON command per line in, one JSON line out.

Commands: {"id", "op": "connect" | "list" | "call" | "close", ...}, answered with {"id", "result"} or {"id", "error"};
and {"op": "cut" | "resume", ...} without an answer. In between: {"event": "exchange" | "status" | "resume" | "progress" |
"sampled" | "elicited" | "logged", ...}.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import sys
import traceback

from mcp.client.streamable_http import streamable_http_client

version = importlib.metadata.version("mcp")
modern_library = int(version.split(".")[0]) >= 2
if modern_library:
    import httpx2 as httpx
    import mcp_types as types
    from mcp import Client
else:
    import httpx
    import mcp.types as types
    from mcp import ClientSession


def write(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class CutStream(httpx.AsyncByteStream):
    """Passes on whole events up to the last one wanted, then fails as a broken connection does."""

    def __init__(self, source, count):
        self.source = source
        self.count = count

    async def __aiter__(self):
        buffered = b""
        seen = 0
        async for piece in self.source:
            buffered += piece
            while (end := buffered.find(b"\n\n")) != -1:
                event, buffered = buffered[: end + 2], buffered[end + 2 :]
                yield event
                if b'"notifications/progress"' in event:
                    seen += 1
                if seen == self.count:
                    await self.source.aclose()
                    raise httpx.ReadError("The test cut this stream.")
        raise RuntimeError(f"The stream ended after {seen} progress notifications, before the cut.")

    async def aclose(self):
        await self.source.aclose()


class WireTap(httpx.AsyncHTTPTransport):
    """Notes what goes over the wire, holds resumptions back until they are allowed, and cuts a stream on demand."""

    def __init__(self):
        super().__init__()
        self.cut_after = None
        self.count = 0
        self.session_id = None
        self.allowed = {}

    async def handle_async_request(self, request):
        self.count += 1
        number = self.count
        ids = []
        if request.method == "POST":
            message = json.loads(await request.aread())
            if "id" in message and "method" in message:
                ids = [message["id"]]
        headers = dict(request.headers)
        last_event_id = headers.get("last-event-id")
        write({"event": "exchange", "number": number, "method": request.method, "url": str(request.url),
               "lastEventId": last_event_id, "sessionId": headers.get("mcp-session-id"), "requestIds": ids})
        if last_event_id is not None:
            self.allowed[number] = asyncio.Event()
            write({"event": "resume", "number": number, "url": str(request.url), "headers": headers})
            await self.allowed[number].wait()
        response = await super().handle_async_request(request)
        self.session_id = response.headers.get("mcp-session-id", self.session_id)
        write({"event": "status", "number": number, "status": response.status_code,
               "contentType": response.headers.get("content-type")})
        if ids and self.cut_after is not None:
            count, self.cut_after = self.cut_after, None
            stream = CutStream(response.stream, count)
            return httpx.Response(response.status_code, headers=response.headers, stream=stream)
        return response


class Driver:
    def __init__(self):
        self.stack = contextlib.AsyncExitStack()
        self.tap = WireTap()
        self.client = None
        self.person = {}
        self.model = ""

    async def sample(self, _context, params):
        question = params.messages[0].content
        question = question[0] if isinstance(question, list) else question
        write({"event": "sampled", "question": question.text})
        text = f'the answer to "{question.text}"'
        return types.CreateMessageResult(role="assistant", model=self.model, content=types.TextContent(type="text", text=text))

    async def elicit(self, _context, params):
        write({"event": "elicited", "question": params.message})
        return types.ElicitResult(action="accept", content=self.person)

    async def log(self, params):
        write({"event": "logged", "data": params.data})

    async def connect(self, url, mode, model, person):
        self.model, self.person = model, person
        http = await self.stack.enter_async_context(httpx.AsyncClient(transport=self.tap, timeout=httpx.Timeout(30, read=300)))
        transport = streamable_http_client(url, http_client=http)
        callbacks = {"sampling_callback": self.sample, "elicitation_callback": self.elicit, "logging_callback": self.log}
        if modern_library:
            self.client = await self.stack.enter_async_context(Client(transport, mode=mode, **callbacks))
            name, protocol = self.client.server_info, self.client.protocol_version
            return {"serverName": name.name if name else "", "protocolVersion": protocol, "sessionId": self.tap.session_id}
        read, send, _ = await self.stack.enter_async_context(transport)
        self.client = await self.stack.enter_async_context(ClientSession(read, send, **callbacks))
        result = await self.client.initialize()
        return {"serverName": result.serverInfo.name, "protocolVersion": result.protocolVersion, "sessionId": self.tap.session_id}

    async def list(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, id, name, args):
        async def progress(value, _total, _message):
            write({"event": "progress", "call": id, "progress": value})

        result = await self.client.call_tool(name, args, progress_callback=progress)
        return "\n".join(block.text for block in result.content if block.type == "text")


async def main():
    driver = Driver()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = set()

    async def answer(id, work):
        try:
            write({"id": id, "result": await work})
        except Exception:
            write({"id": id, "error": traceback.format_exc()})

    while line := await reader.readline():
        command = json.loads(line)
        id, op = command.get("id"), command["op"]
        if op == "connect":
            # Entered and left in this same task, as the task groups inside demand.
            await answer(id, driver.connect(command["url"], command["mode"], command["model"], command["person"]))
        elif op == "close":
            await answer(id, driver.stack.aclose())
            break
        elif op == "cut":
            driver.tap.cut_after = command["count"]
        elif op == "resume":
            driver.tap.allowed[command["number"]].set()
        else:
            work = driver.list() if op == "list" else driver.call(id, command["name"], command["args"])
            task = asyncio.create_task(answer(id, work))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


asyncio.run(main())
