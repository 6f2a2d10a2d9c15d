"""A WebSocket client, and a browser that is driven by it (Chromium's DevTools protocol)."""
import atexit
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import urllib.parse
import urllib.request

sys.path.append(os.path.dirname(sys.path[0]))
from harness import expect, wait_for


class WebSocket:
    """The client's side, for messages of any length."""

    def __init__(self, address, unix="", **headers):
        parts = urllib.parse.urlsplit(address)
        self.socket = socket.create_connection((parts.hostname, parts.port)) if not unix else socket.socket(socket.AF_UNIX)
        if unix:
            self.socket.connect(unix)
        self.socket.settimeout(60)
        lines = {"Host": parts.netloc, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), **headers}
        self.socket.sendall((f"GET {parts.path} HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in lines.items()) + "\r\n").encode())
        self.stream = self.socket.makefile("rb")
        self.status = int(self.stream.readline().split()[1])
        while self.stream.readline().strip():
            pass

    def send(self, text, opcode=1):
        data, mask = text.encode(), os.urandom(4)
        size = struct.pack("!B", 0x80 | len(data)) if len(data) < 126 else struct.pack("!BH", 0xFE, len(data)) if len(data) < 65536 else struct.pack("!BQ", 0xFF, len(data))
        self.socket.sendall(bytes([0x80 | opcode]) + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        """The next message; None: the other side has closed."""
        message = b""
        while True:
            head = self.stream.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                return None
            length = head[1] & 127
            if length > 125:
                length = int.from_bytes(self.stream.read(2 if length == 126 else 8), "big")
            data = self.stream.read(length)
            if head[0] & 15 == 9:
                continue  # a ping
            message += data
            if head[0] & 128:
                return message.decode()

    def close(self):
        self.stream.close()
        self.socket.close()


class Browser:
    """Chromium without a screen, which shows one page."""

    def __init__(self, address, width=1200, height=1000, dark=False):
        program = shutil.which("chromium")
        if not program:
            print("SKIPPED: there is no chromium (Debian's package chromium)")
            sys.exit(77)
        shutil.rmtree("browser", ignore_errors=True)
        self.errors = open("browser.log", "w")
        self.process = subprocess.Popen([program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + os.path.abspath("browser"),
                                         "--remote-debugging-port=0", f"--window-size={width},{height}", "about:blank"], stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        atexit.register(self.process.kill)
        port = wait_for(lambda: os.path.exists("browser/DevToolsActivePort") and open("browser/DevToolsActivePort").read().split(), "the browser")[0]
        pages = wait_for(lambda: [page for page in json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json")) if page["type"] == "page"], "its page")
        self.line, self.number, self.problems = WebSocket(pages[0]["webSocketDebuggerUrl"]), 0, []
        self.ask("Runtime.enable")
        self.ask("Log.enable")
        self.ask("Page.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Page.navigate", url=address)

    def ask(self, method, **parameters):
        self.number += 1
        self.line.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.line.receive())
            if answer.get("method") == "Runtime.exceptionThrown" or answer.get("params", {}).get("entry", {}).get("level") == "error":
                self.problems.append(json.dumps(answer["params"])[:600])
            if answer.get("id") == self.number:
                expect("error" not in answer, f"{method}: {answer}")
                return answer["result"]

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        expect("exceptionDetails" not in result, f"{expression}: {result}")
        return result["result"].get("value")

    def drawn(self):
        """What the plot shows: file, variable, form, size, least and greatest value."""
        return (self.value("(document.getElementById('canvas') || {dataset: {}}).dataset.drawn") or "").split()

    def press(self, key):
        for kind in "keyDown", "keyUp":
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, text=key if len(key) == 1 and kind == "keyDown" else "")

    def screenshot(self, path, whole=False):
        data = base64.b64decode(self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])
        with open(path, "wb") as file:
            file.write(data)
        return data

    def close(self):
        self.process.kill()
        self.process.wait()
        self.line.close()
        self.errors.close()
