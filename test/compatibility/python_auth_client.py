"""MCP clients with OAuth on PyPI `mcp` (1.x or 2.x) that another program drives (serve_clients.py).

Events: "request", and "authorize", after which the other program tells them the "callback".
"""

import asyncio
import contextlib
import importlib.metadata
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from serve_clients import serve

modern_library = int(importlib.metadata.version("mcp").split(".")[0]) >= 2
if modern_library:
    import httpx2 as httpx
    from mcp import Client
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
else:
    import httpx
    from mcp import ClientSession
    from mcp.shared.auth import OAuthClientMetadata


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
    def __init__(self, tell):
        super().__init__()
        self.tell = tell

    async def handle_async_request(self, request):
        response = await super().handle_async_request(request)
        self.tell("request", method=request.method, url=str(request.url), status=response.status_code)
        return response


class Driver:
    def __init__(self, tell):
        self.tell = tell
        self.stack = contextlib.AsyncExitStack()
        self.memory = Memory()
        self.callbacks = asyncio.Queue()
        self.provider = None
        self.client = None

    async def redirect(self, url):
        self.tell("authorize", url=url)

    async def receive(self):
        query = parse_qs(urlsplit(await self.callbacks.get()).query)
        code, state, iss = (query.get(name, [None])[0] for name in ("code", "state", "iss"))
        if modern_library:
            return AuthorizationCodeResult(code=code, state=state, iss=iss)
        return code, state

    def callback(self, url):
        self.callbacks.put_nowait(url)

    async def connect(self, _id, url, redirect_uri, name):
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
        http = httpx.AsyncClient(transport=Tap(self.tell), auth=self.provider, timeout=httpx.Timeout(60, read=300))
        await self.stack.enter_async_context(http)
        transport = streamable_http_client(url, http_client=http)
        if modern_library:
            self.client = await self.stack.enter_async_context(Client(transport, mode="legacy"))
        else:
            read, send, _ = await self.stack.enter_async_context(transport)
            self.client = await self.stack.enter_async_context(ClientSession(read, send))
            await self.client.initialize()

    async def list(self, _id):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, _id, name, args):
        result = await self.client.call_tool(name, args)
        return "\n".join(block.text for block in result.content if block.type == "text")

    async def tokens(self, _id):
        return {"accessToken": self.memory.tokens.access_token, "saved": self.memory.saved}

    async def spoil(self, _id):
        """As if the access token had expired: this library looks at the clock, not at the answer."""
        self.provider.context.token_expiry_time = 1

    async def close(self):
        await self.stack.aclose()


asyncio.run(serve(Driver))
