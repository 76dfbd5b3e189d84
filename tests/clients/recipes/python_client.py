"""A client that openapi-python-client has generated into `tools`."""

import os

from tools import AuthenticatedClient
from tools.api.tools import bash, read, write
from tools.models import BashBody, ReadBody, ToolFailure, WriteBody

url, token = os.environ["TOOLS_URL"], os.environ["TOOLS_TOKEN"]
client = AuthenticatedClient(url, token=token, headers={"X-Session-Id": "my-task"}, timeout=600)

written = write.sync(client=client, body=WriteBody(path="notes.txt", content="one\n"))
print(written.meta.data.operation, written.meta.data.bytes_after)
print(read.sync(client=client, body=ReadBody(path="notes.txt")).stdout)
print(bash.sync(client=client, body=BashBody(cmd="wc -c notes.txt")).stdout)
refused = read.sync(client=client, body=ReadBody(path="/etc/passwd"))
if isinstance(refused, ToolFailure):
    print(refused.meta.error.code, refused.meta.error.hint)
