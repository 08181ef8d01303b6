"""An MCP client on PyPI `mcp` (1.x or 2.x) that another program drives: one JSON command per line in, one JSON line out.

Commands: {"id", "op": "connect" | "list" | "call" | "callFully" | "ask" | "subscribe" | "watchTools" | "close", ...}, answered
with {"id", "result"} or {"id", "error"}; and {"op": "cut" | "resume" | "abandon", ...} without an answer. In between:
{"event": "exchange" | "status" | "resume" | "progress" | "sampled" | "elicited" | "logged" | "updated" | "changed", ...}.
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
    from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
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
        message = {}
        if request.method == "POST":
            message = json.loads(await request.aread())
            if "id" in message and "method" in message:
                ids = [message["id"]]
        headers = dict(request.headers)
        last_event_id = headers.get("last-event-id")
        write({"event": "exchange", "number": number, "method": request.method, "url": str(request.url),
               "lastEventId": last_event_id, "sessionId": headers.get("mcp-session-id"), "requestIds": ids,
               "rpcMethod": message.get("method")})
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
        self.roots = None
        self.modern_server = False
        self.streams = set()

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

    async def list_roots(self, _context):
        return types.ListRootsResult(roots=[types.Root(uri=uri, name=uri.rsplit("/", 1)[-1]) for uri in self.roots])

    async def hear(self, message):
        message = getattr(message, "root", message)
        if isinstance(message, types.ToolListChangedNotification):
            write({"event": "changed", "list": "tools"})
        if isinstance(message, types.ResourceUpdatedNotification):
            write({"event": "updated", "uri": str(message.params.uri)})

    async def connect(self, url, mode, model, person, headers, roots):
        self.model, self.person, self.roots = model, person, roots
        http = await self.stack.enter_async_context(httpx.AsyncClient(transport=self.tap, headers=headers, timeout=httpx.Timeout(30, read=300)))
        transport = streamable_http_client(url, http_client=http)
        callbacks = {"sampling_callback": self.sample, "elicitation_callback": self.elicit, "logging_callback": self.log,
                     "message_handler": self.hear}
        if roots is not None:
            callbacks["list_roots_callback"] = self.list_roots
        if modern_library:
            self.client = await self.stack.enter_async_context(Client(transport, mode=mode, **callbacks))
            name, protocol = self.client.server_info, self.client.protocol_version
            self.modern_server = protocol >= "2026"
            return {"serverName": name.name if name else "", "protocolVersion": protocol, "sessionId": self.tap.session_id}
        read, send, _ = await self.stack.enter_async_context(transport)
        self.client = await self.stack.enter_async_context(ClientSession(read, send, **callbacks))
        result = await self.client.initialize()
        return {"serverName": result.serverInfo.name, "protocolVersion": result.protocolVersion, "sessionId": self.tap.session_id}

    async def list(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, id, name, args):
        result = await self.call_tool(id, name, args)
        return "\n".join(block.text for block in result.content if block.type == "text")

    async def call_tool(self, id, name, args):
        async def progress(value, _total, _message):
            write({"event": "progress", "call": id, "progress": value})

        return await self.client.call_tool(name, args, progress_callback=progress)

    async def call_fully(self, id, name, args):
        return dump(await self.call_tool(id, name, args))

    async def ask(self, method, params):
        client = self.client
        # What the library has kept would hide what the server says now.
        fresh = {"cache_mode": "refresh"} if modern_library else {}
        match method:
            case "ping":
                return dump(await client.send_ping())
            case "tools/list":
                return dump(await client.list_tools(**fresh))
            case "prompts/list":
                return dump(await client.list_prompts(**fresh))
            case "prompts/get":
                return dump(await client.get_prompt(params["name"], params.get("arguments")))
            case "resources/list":
                page = {} if "cursor" not in params else {"cursor": params["cursor"]}
                if modern_library:
                    return dump(await client.list_resources(**page, **fresh))
                return dump(await client.list_resources(params=types.PaginatedRequestParams(**page)))
            case "resources/templates/list":
                page = {} if "cursor" not in params else {"cursor": params["cursor"]}
                if modern_library:
                    return dump(await client.list_resource_templates(**page, **fresh))
                return dump(await client.list_resource_templates(params=types.PaginatedRequestParams(**page)))
            case "resources/read":
                return dump(await client.read_resource(params["uri"], **fresh))
            case "completion/complete":
                kinds = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
                ref = kinds[params["ref"]["type"]](**params["ref"])
                return dump(await client.complete(ref, params["argument"]))
            case "logging/setLevel":
                return dump(await client.set_logging_level(params["level"]))
        raise ValueError(f"the library has no method for {method}")

    async def subscribe(self, uri):
        if not self.modern_server:
            await self.client.subscribe_resource(uri)
        else:
            await self.listen(resource_subscriptions=[uri])

    async def watch_tools(self):
        if self.modern_server:
            await self.listen(tools_list_changed=True)

    async def listen(self, **wishes):
        """Has the stream in a task of its own, which enters and leaves it; returns when the server has acknowledged it."""
        acknowledged = asyncio.get_running_loop().create_future()

        async def have():
            try:
                async with self.client.listen(**wishes) as events:
                    acknowledged.set_result(None)
                    async for event in events:
                        if isinstance(event, ToolsListChanged):
                            write({"event": "changed", "list": "tools"})
                        if isinstance(event, ResourceUpdated):
                            write({"event": "updated", "uri": event.uri})
            except Exception as error:
                if not acknowledged.done():
                    acknowledged.set_exception(error)

        task = asyncio.create_task(have())
        self.streams.add(task)
        await acknowledged

    async def close(self):
        for task in self.streams:
            task.cancel()
        await asyncio.gather(*self.streams, return_exceptions=True)
        await self.stack.aclose()


def dump(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main():
    driver = Driver()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = {}

    async def answer(id, work):
        try:
            write({"id": id, "result": await work})
        except asyncio.CancelledError:
            write({"id": id, "error": "given up"})
        except Exception:
            write({"id": id, "error": traceback.format_exc()})

    def work_on(op, id, command):
        match op:
            case "list":
                return driver.list()
            case "call":
                return driver.call(id, command["name"], command["args"])
            case "callFully":
                return driver.call_fully(id, command["name"], command["args"])
            case "ask":
                return driver.ask(command["method"], command["params"])
            case "subscribe":
                return driver.subscribe(command["uri"])
            case "watchTools":
                return driver.watch_tools()

    while line := await reader.readline():
        command = json.loads(line)
        id, op = command.get("id"), command["op"]
        if op == "connect":
            # Entered and left in this same task, as the task groups inside demand.
            await answer(id, driver.connect(*(command[each] for each in ("url", "mode", "model", "person", "headers", "roots"))))
        elif op == "close":
            await answer(id, driver.close())
            break
        elif op == "cut":
            driver.tap.cut_after = command["count"]
        elif op == "resume":
            driver.tap.allowed[command["number"]].set()
        elif op == "abandon":
            tasks[command["call"]].cancel()
        else:
            tasks[id] = asyncio.create_task(answer(id, work_on(op, id, command)))
            tasks[id].add_done_callback(lambda _task, id=id: tasks.pop(id))


asyncio.run(main())
