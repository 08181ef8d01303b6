"""An MCP client with OAuth on PyPI `mcp` (1.x or 2.x) that another program drives: one JSON command per line in, one JSON line out.

Commands: {"id", "op": "connect" | "list" | "call" | "tokens" | "spoil" | "close", ...}, answered with {"id", "result"} or
{"id", "error"}; and {"op": "callback", "url"} without an answer. In between: {"event": "request" | "authorize", ...}.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import sys
import traceback
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client

modern_library = int(importlib.metadata.version("mcp").split(".")[0]) >= 2
if modern_library:
    import httpx2 as httpx
    from mcp import Client
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
else:
    import httpx
    from mcp import ClientSession
    from mcp.shared.auth import OAuthClientMetadata


def write(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Memory(TokenStorage):
    def __init__(self):
        self.tokens = None
        self.client = None
        self.saved = 0

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens
        self.saved += 1

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


class Tap(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request):
        response = await super().handle_async_request(request)
        write({"event": "request", "method": request.method, "url": str(request.url), "status": response.status_code})
        return response


class Driver:
    def __init__(self):
        self.stack = contextlib.AsyncExitStack()
        self.memory = Memory()
        self.callback = asyncio.Queue()
        self.provider = None
        self.client = None

    async def redirect(self, url):
        write({"event": "authorize", "url": url})

    async def receive(self):
        query = parse_qs(urlsplit(await self.callback.get()).query)
        code, state, iss = (query.get(name, [None])[0] for name in ("code", "state", "iss"))
        if modern_library:
            return AuthorizationCodeResult(code=code, state=state, iss=iss)
        return code, state

    async def connect(self, url, redirect_uri, name):
        metadata = OAuthClientMetadata.model_validate({
            "client_name": name,
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        })
        self.provider = OAuthClientProvider(
            server_url=url,
            client_metadata=metadata,
            storage=self.memory,
            redirect_handler=self.redirect,
            callback_handler=self.receive,
        )
        http = httpx.AsyncClient(transport=Tap(), auth=self.provider, timeout=httpx.Timeout(60, read=300))
        await self.stack.enter_async_context(http)
        transport = streamable_http_client(url, http_client=http)
        if modern_library:
            self.client = await self.stack.enter_async_context(Client(transport, mode="legacy"))
        else:
            read, send, _ = await self.stack.enter_async_context(transport)
            self.client = await self.stack.enter_async_context(ClientSession(read, send))
            await self.client.initialize()

    async def list(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name, args):
        result = await self.client.call_tool(name, args)
        return "\n".join(block.text for block in result.content if block.type == "text")

    async def tokens(self):
        return {"accessToken": self.memory.tokens.access_token, "saved": self.memory.saved}

    async def spoil(self):
        """As if the access token had expired: this library looks at the clock, not at the answer."""
        self.provider.context.token_expiry_time = 1


async def main():
    driver = Driver()
    reader = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    work = asyncio.Queue()

    async def read():
        while line := await reader.readline():
            command = json.loads(line)
            if command["op"] == "callback":
                driver.callback.put_nowait(command["url"])
            else:
                work.put_nowait(command)
        work.put_nowait({"op": "close", "id": 0})

    reading = asyncio.create_task(read())
    # One after the other and in this task: the task groups inside are left in the task that entered them.
    while True:
        command = await work.get()
        id, op = command.pop("id"), command.pop("op")
        try:
            if op == "close":
                await driver.stack.aclose()
                write({"id": id, "result": None})
                break
            write({"id": id, "result": await getattr(driver, op)(**command)})
        except BaseException:
            write({"id": id, "error": traceback.format_exc()})
            if op == "connect":
                break
    reading.cancel()


asyncio.run(main())
