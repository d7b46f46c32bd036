"""The page as a browser asks for it, without a network."""

import trio

from ctxmode.insight.site import Gate, Site

HOST = "127.0.0.1:4711"


class Browser:
    """Asks the gate and the site behind it as a browser does."""

    def __init__(self, config):
        self.asked = 0
        self.gate = Gate(Site(config), HOST, self._count)
        self.cookie = ""

    def _count(self):
        self.asked += 1

    def ask(self, target, method="GET", **headers):
        """Return the status, the headers and the text. A header that is None is left out."""
        sent = {"host": HOST, "cookie": self.cookie or None, "sec-fetch-site": "none"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        pairs = []
        for name, value in sent.items():
            values = value if isinstance(value, list) else [value]
            pairs += [(name.encode(), one.encode()) for one in values if one is not None]
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": pairs,
        }
        return trio.run(self._converse, scope)

    async def _converse(self, scope):
        messages = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            messages.append(message)

        await self.gate(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in messages[1:])
        return messages[0]["status"], headers, body.decode()

    def enter(self):
        """Spend the key, and keep the cookie."""
        answer = self.ask(f"/enter?key={self.gate.key}")
        self.cookie = answer[1].get("set-cookie", "").partition(";")[0]
        return answer
