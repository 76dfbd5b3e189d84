"""A model with a script, for agents of others: it asks for the calls of CALLS and looks at each result.

It speaks chat completions on a port of this machine, and sees what a real model would see.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# A tool, its arguments, and what the model must read in the result.
CALLS = [
    ("write", {"path": "notes.txt", "content": "one\n"}, "Created"),
    ("read", {"path": "notes.txt"}, "one"),
    # Only a session that has read the file may change it.
    ("edit", {"path": "notes.txt", "find": "one", "replace": "three"}, "Updated"),
    # Some clients end a call after five seconds unless they are configured.
    ("bash", {"cmd": "sleep 6; wc -c notes.txt"}, "6 notes.txt"),
    ("read", {"path": "/etc/passwd"}, "PATH_OUTSIDE_ROOTS"),
    # Some agents give up when a tool fails twice in a row, unless they are configured.
    ("bash", {"cmd": "exit 3"}, "exit code 3"),
    ("bash", {"cmd": "exit 4"}, "exit code 4"),
]
ANSWER = "It says three."


class PlayedModel:
    """Serves one run of an agent. `problems` has what was not as it should be."""

    def __init__(self):
        self.asked, self.problems = 0, []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(model.answer(request)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        tools = {tool["function"]["name"] for tool in request.get("tools", [])}
        if self.asked > 0:
            tool, _, expected = CALLS[self.asked - 1]
            said = last_result(request["messages"])
            if expected not in said:
                self.problems.append(f"{tool}: the model reads {said[:600]!r}, which has no {expected!r}")
        if self.asked < len(CALLS):
            name, arguments, _ = CALLS[self.asked]
            if name not in tools:
                self.problems.append(f"{name} is not among the tools: {sorted(tools)}")
            message, reason = call(self.asked, name, arguments), "tool_calls"
        elif "final_answer" in tools:
            # smolagents has a tool for the end.
            message, reason = call(self.asked, "final_answer", {"answer": ANSWER}), "tool_calls"
        else:
            message, reason = {"role": "assistant", "content": ANSWER}, "stop"
        self.asked += 1
        return {
            "id": f"answer-{self.asked}", "object": "chat.completion", "created": 0, "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }


def call(number, name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": f"call-{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def last_result(messages):
    """All text after the model's last message, in whichever role the agent gives it."""
    own = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    return json.dumps(messages[own[-1] + 1 :] if own else [], ensure_ascii=False)
