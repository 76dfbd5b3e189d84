#!/usr/bin/env python3
"""Plays Telegram's Bot API for one bot and for people who write to it in private.

    package/played_telegram.py PORT TOKEN LOG

What people do comes on stdin, a JSON object in each line:

    {"from": 4711, "name": "Ada", "text": "hello"}
    {"from": 4711, "name": "Ada", "message": 5, "press": "the data of a button"}

What the bot does, and what becomes of the messages of people, goes to LOG, a JSON object in each line. It ends
with stdin.

It refuses what Telegram refuses (https://core.telegram.org/bots/api): a wrong token, an unknown method, a text that
is too long, a chat that has not written, a second answer to a press. It serves an update until an `offset` confirms
it, and of two requests for updates the older one gets a 409.
"""

import email.parser
import email.policy
import http.server
import json
import re
import select
import socket
import sys
import threading
import time
import urllib.parse

MAX_TEXT_UNITS = 4096
MAX_CAPTION_UNITS = 1024
MAX_DATA_BYTES = 64
MAX_ANSWER_UNITS = 200
MAX_HOLD_SECONDS = 50
BOT = {"id": 123456, "is_bot": True, "first_name": "Played", "username": "played_bot"}


class Refused(Exception):
    """What Telegram answers instead of a result."""

    def __init__(self, code, description):
        super().__init__(description)
        self.code, self.description = code, description


def bad(description):
    return Refused(400, f"Bad Request: {description}")


def units(text):
    """The length of a text as Telegram counts it."""
    return len(text.encode("utf-16-le")) // 2


class Telegram:
    """What Telegram knows. Each method of the Bot API is one of this class, with its name in lower case."""

    def __init__(self, log):
        self.log = log
        self.changed = threading.Condition()
        self.updates, self.last_update = [], 700_000
        # By chat and number, what a message says now.
        self.messages, self.last_message = {}, 0
        self.people, self.presses, self.webhook = {}, {}, ""
        # The number of the newest request for updates, and of that which waits.
        self.newest, self.waits = 0, 0

    def write(self, **row):
        self.log.write(json.dumps({"at": time.time(), **row}, ensure_ascii=False) + "\n")
        self.log.flush()

    # What people do.

    def act(self, row):
        person = {"id": row["from"], "is_bot": False, "first_name": row["name"], "language_code": "en"}
        chat = {"id": row["from"], "type": "private", "first_name": row["name"]}
        with self.changed:
            self.people[row["from"]] = chat
            if "press" in row:
                message = self.messages[row["from"], row["message"]]
                press = str(len(self.presses) + 1)
                self.presses[press] = False
                content = {"callback_query": {"id": press, "from": person, "chat_instance": "1",
                                              "data": row["press"], "message": message}}
            else:
                message = self.keep({"chat": chat, "from": person, "text": row["text"]})
                content = {"message": message}
            self.last_update += 1
            self.updates.append({"update_id": self.last_update, **content})
            self.write(did="pushed", update=self.last_update, is_awaited=self.is_awaited(), **row)
            self.changed.notify_all()

    def is_awaited(self):
        """Whether somebody asks for updates: a bot that has ended does not, before that is noticed, too."""
        return bool(self.waits and self.is_open())

    def keep(self, content):
        """Gives a message its number."""
        self.last_message += 1
        message = {"message_id": self.last_message, "date": int(time.time()), **content}
        self.messages[message["chat"]["id"], self.last_message] = message
        return message

    # What the bot does.

    def call(self, method, asked, is_open):
        if method not in METHODS:
            raise Refused(404, "Not Found")
        if method == "getupdates":
            return self.getupdates(asked, is_open)
        with self.changed:
            return getattr(self, method)(asked)

    def getme(self, _):
        return BOT | {"can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False,
                      "can_connect_to_business": False, "has_main_web_app": False}

    def getupdates(self, asked, is_open):
        with self.changed:
            if self.webhook:
                raise Refused(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook "
                                   "to delete the webhook first")
            self.confirm(number(asked, "offset"))
            limit = min(max(number(asked, "limit") or 100, 1), 100)
            end = time.monotonic() + min(max(number(asked, "timeout"), 0), MAX_HOLD_SECONDS)
            self.newest += 1
            mine = self.waits = self.newest
            self.is_open = is_open
            self.changed.notify_all()
            try:
                while not self.updates and time.monotonic() < end and self.newest == mine and is_open():
                    self.changed.wait(0.1)
                if self.newest != mine:
                    raise Refused(409, "Conflict: terminated by other getUpdates request; make sure that only one "
                                       "bot instance is running")
                return self.updates[:limit]
            finally:
                if self.waits == mine:
                    self.waits = 0

    def confirm(self, offset):
        """A negative offset confirms all but so many of the newest."""
        if offset < 0:
            offset = self.updates[offset:][0]["update_id"] if self.updates else 0
        confirmed = [update["update_id"] for update in self.updates if update["update_id"] < offset]
        self.updates = self.updates[len(confirmed):]
        if confirmed:
            self.write(did="confirmed", updates=confirmed)

    def chat(self, asked):
        chat = self.people.get(number(asked, "chat_id"))
        if not chat:
            raise bad("chat not found")
        return chat

    def message(self, asked, what):
        chat = self.chat(asked)
        message = self.messages.get((chat["id"], number(asked, "message_id")))
        if not message:
            raise bad(f"message to {what} not found")
        return message

    def sendmessage(self, asked):
        return self.send(asked, {"text": checked_text(asked)})

    def senddocument(self, asked):
        name = asked.get("document")
        if not isinstance(name, tuple):
            raise bad("there is no document in the request")
        caption = asked.get("caption") or ""
        if units(caption) > MAX_CAPTION_UNITS:
            raise bad("message caption is too long")
        document = {"file_id": name[0], "file_unique_id": name[0], "file_name": name[0], "file_size": name[1]}
        return self.send(asked, {"caption": caption, "document": document})

    def send(self, asked, content):
        chat, markup = self.chat(asked), checked_markup(asked)
        answers = (asked.get("reply_parameters") or {}).get("message_id")
        may_lack = (asked.get("reply_parameters") or {}).get("allow_sending_without_reply")
        if answers and (chat["id"], answers) not in self.messages and not may_lack:
            raise bad("message to be replied not found")
        message = self.keep({"chat": chat, "from": BOT, **content})
        if markup:
            message["reply_markup"] = markup
        is_silent = asked.get("disable_notification") is True
        self.write(did="sent", chat=chat["id"], message=message["message_id"], markup=markup, is_silent=is_silent,
                   **content)
        return message

    def editmessagetext(self, asked):
        text, markup, message = checked_text(asked), checked_markup(asked), self.message(asked, "edit")
        return self.edit(message, text, markup)

    def editmessagereplymarkup(self, asked):
        markup, message = checked_markup(asked), self.message(asked, "edit")
        return self.edit(message, message.get("text", ""), markup)

    def edit(self, message, text, markup):
        if not message["from"]["is_bot"]:
            raise bad("message can't be edited")
        if message.get("text", "") == text and message.get("reply_markup") == markup:
            raise bad("message is not modified: specified new message content and reply markup are exactly the same "
                      "as a current content and reply markup of the message")
        message.pop("reply_markup", None)
        message |= {"text": text, "edit_date": int(time.time())} | ({"reply_markup": markup} if markup else {})
        self.write(did="edited", chat=message["chat"]["id"], message=message["message_id"], text=text, markup=markup)
        return message

    def deletemessage(self, asked):
        message = self.message(asked, "delete")
        del self.messages[message["chat"]["id"], message["message_id"]]
        self.write(did="deleted", chat=message["chat"]["id"], message=message["message_id"])
        return True

    def setmessagereaction(self, asked):
        self.message(asked, "react")
        if len(asked.get("reaction") or []) > 1:
            raise bad("REACTIONS_TOO_MANY")
        return True

    def sendchataction(self, asked):
        self.chat(asked)
        if asked.get("action") != "typing":
            raise bad("wrong parameter action in request")
        return True

    def sendmessagedraft(self, asked):
        self.chat(asked)
        checked_text(asked)
        if not asked.get("draft_id"):
            raise bad("invalid draft identifier specified")
        return True

    def answercallbackquery(self, asked):
        press, text = asked.get("callback_query_id"), asked.get("text") or ""
        if self.presses.get(press) is not False or units(text) > MAX_ANSWER_UNITS:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        self.presses[press] = True
        self.write(did="answered", press=press, text=text)
        return True

    def setmycommands(self, asked):
        scope = asked.get("scope") or {}
        if "chat_id" in scope:
            self.chat(scope)
        return True

    deletemycommands = setmycommands

    def getchat(self, asked):
        return self.chat(asked) | {"accent_color_id": 0, "max_reaction_count": 11}

    def getwebhookinfo(self, _):
        return {"url": self.webhook, "has_custom_certificate": False, "pending_update_count": len(self.updates)}

    def deletewebhook(self, _):
        self.webhook = ""
        return True


METHODS = {name for name in vars(Telegram) if re.match("(get|send|edit|delete|set|answer)[a-z]{2}", name)}


def number(asked, name):
    try:
        return int(asked.get(name) or 0)
    except (TypeError, ValueError):
        raise bad(f"invalid {name} specified") from None


def checked_text(asked):
    text = asked.get("text") or ""
    if not text.strip():
        raise bad("message text is empty")
    if units(text) > MAX_TEXT_UNITS:
        raise bad("message is too long")
    for entity in asked.get("entities") or []:
        if entity["length"] < 1 or entity["offset"] < 0 or entity["offset"] + entity["length"] > units(text):
            raise bad("entity beginning or length is out of the text")
    return text


def checked_markup(asked):
    markup = asked.get("reply_markup") or None
    for button in [button for row in (markup or {}).get("inline_keyboard", []) for button in row]:
        if not button.get("text") or not 1 <= len(button.get("callback_data", "").encode()) <= MAX_DATA_BYTES:
            raise bad("BUTTON_DATA_INVALID")
    return markup if markup and any(markup.get("inline_keyboard", [])) else None


def parameters(kind, body):
    """Of JSON, of a form, or of a form with files: (name, size) of each."""
    if kind.startswith("application/json"):
        try:
            return json.loads(body or b"{}")
        except ValueError:
            raise bad("can't parse parameters JSON object") from None
    if kind.startswith("multipart/form-data"):
        parser = email.parser.BytesParser(policy=email.policy.HTTP)
        parts = parser.parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        return {part.get_param("name", header="content-disposition"): of_part(part) for part in parts.iter_parts()}
    return {name: of_text(values[-1]) for name, values in urllib.parse.parse_qs(body.decode()).items()}


def of_part(part):
    content = part.get_payload(decode=True)
    return (part.get_filename(), len(content)) if part.get_filename() else of_text(content.decode())


def of_text(text):
    """In forms, lists and objects are JSON; numbers and texts look like themselves."""
    try:
        return json.loads(text) if text[:1] in "[{" or text in ["true", "false"] else text
    except ValueError:
        return text


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    telegram, token = None, ""

    def do_POST(self):
        address = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        named = re.fullmatch(r"/bot([^/]+)/(\w+)", address.path)
        bot, method = named.groups() if named else (self.token, "")
        method = method.lower()
        try:
            if bot != self.token:
                raise Refused(401, "Unauthorized")
            asked = parameters(self.headers.get("Content-Type") or "", body or address.query.encode())
            code, answer = 200, {"ok": True, "result": self.telegram.call(method, asked, self.is_open)}
        except Refused as refused:
            code, answer = refused.code, {"ok": False, "error_code": refused.code, "description": refused.description}
        if code != 200:
            self.telegram.write(did="refused", method=method, code=code, description=answer["description"])
        content = json.dumps(answer).encode()
        try:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True

    do_GET = do_POST

    def is_open(self):
        """Whether the client still waits for its answer."""
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return not readable or bool(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: package/played_telegram.py PORT TOKEN LOG")
    port, token, log = sys.argv[1:]
    telegram = Telegram(open(log, "a", encoding="utf-8"))
    Handler.telegram, Handler.token = telegram, token
    server = Server(("127.0.0.1", int(port)), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    telegram.write(did="started", port=int(port))
    for line in sys.stdin:
        telegram.act(json.loads(line))


if __name__ == "__main__":
    main()
