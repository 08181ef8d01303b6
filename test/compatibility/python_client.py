"""MCP clients on PyPI `mcp` (1.x or 2.x) that another program drives (serve_clients.py).

Events: "exchange", "status", "resume", "progress", "sampled", "elicited", "logged", "updated", "changed".
"""

import asyncio
import contextlib
import importlib.metadata
import json

from mcp.client.streamable_http import streamable_http_client
from serve_clients import serve

version = importlib.metadata.version("mcp")
modern_library = int(version.split(".")[0]) >= 2
if modern_library:
    import httpx2 as httpx
    import mcp_types as types
    from mcp import Client
    from mcp.client import session as session_module
    from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

    # After ten seconds it would take a server on a busy machine for one of an older version.
    session_module.DISCOVER_TIMEOUT_SECONDS = 120
else:
    import httpx
    import mcp.types as types
    from mcp import ClientSession


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

    def __init__(self, tell):
        super().__init__()
        self.tell = tell
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
        self.tell("exchange", number=number, method=request.method, url=str(request.url), lastEventId=last_event_id,
                  sessionId=headers.get("mcp-session-id"), requestIds=ids, rpcMethod=message.get("method"))
        if last_event_id is not None:
            self.allowed[number] = asyncio.Event()
            self.tell("resume", number=number, url=str(request.url), headers=headers)
            await self.allowed[number].wait()
        response = await super().handle_async_request(request)
        self.session_id = response.headers.get("mcp-session-id", self.session_id)
        self.tell("status", number=number, status=response.status_code, contentType=response.headers.get("content-type"))
        if ids and self.cut_after is not None:
            count, self.cut_after = self.cut_after, None
            stream = CutStream(response.stream, count)
            return httpx.Response(response.status_code, headers=response.headers, stream=stream)
        return response


class Driver:
    def __init__(self, tell):
        self.tell = tell
        self.stack = contextlib.AsyncExitStack()
        self.tap = WireTap(tell)
        self.client = None
        self.person = {}
        self.model = ""
        self.roots = None
        self.modern_server = False
        self.streams = set()

    async def sample(self, _context, params):
        question = params.messages[0].content
        question = question[0] if isinstance(question, list) else question
        self.tell("sampled", question=question.text)
        text = f'the answer to "{question.text}"'
        return types.CreateMessageResult(role="assistant", model=self.model, content=types.TextContent(type="text", text=text))

    async def elicit(self, _context, params):
        self.tell("elicited", question=params.message)
        return types.ElicitResult(action="accept", content=self.person)

    async def log(self, params):
        self.tell("logged", data=params.data)

    async def list_roots(self, _context):
        return types.ListRootsResult(roots=[types.Root(uri=uri, name=uri.rsplit("/", 1)[-1]) for uri in self.roots])

    async def hear(self, message):
        message = getattr(message, "root", message)
        if isinstance(message, types.ToolListChangedNotification):
            self.tell("changed", list="tools")
        if isinstance(message, types.ResourceUpdatedNotification):
            self.tell("updated", uri=str(message.params.uri))

    async def connect(self, _id, url, mode, model, person, headers, roots):
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

    async def list(self, _id):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, id, name, args):
        result = await self.call_tool(id, name, args)
        return "\n".join(block.text for block in result.content if block.type == "text")

    async def call_tool(self, id, name, args):
        async def progress(value, _total, _message):
            self.tell("progress", call=id, progress=value)

        return await self.client.call_tool(name, args, progress_callback=progress)

    async def call_fully(self, id, name, args):
        return dump(await self.call_tool(id, name, args))

    async def ask(self, _id, method, params):
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

    async def subscribe(self, _id, uri):
        if not self.modern_server:
            await self.client.subscribe_resource(uri)
        else:
            await self.listen(resource_subscriptions=[uri])

    async def watch_tools(self, _id):
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
                            self.tell("changed", list="tools")
                        if isinstance(event, ResourceUpdated):
                            self.tell("updated", uri=event.uri)
            except Exception as error:
                if not acknowledged.done():
                    acknowledged.set_exception(error)

        task = asyncio.create_task(have())
        self.streams.add(task)
        await acknowledged

    def cut(self, count):
        self.tap.cut_after = count

    def resume(self, number):
        self.tap.allowed[number].set()

    async def close(self):
        for task in self.streams:
            task.cancel()
        await asyncio.gather(*self.streams, return_exceptions=True)
        await self.stack.aclose()


def dump(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


asyncio.run(serve(Driver))
