"""A real Chromium, driven over the pipe of its DevTools protocol: no port, no dependency.

    with Browser(program) as browser:
        page = browser.open(path)
        assert page.js("document.title") == "…"

Everything that a page logs, throws or is refused by its policy is kept in ``page.said``; requests
that left the page in ``page.requests``.
"""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path

_FLAGS = (
    "--headless",
    "--no-sandbox",  # CI runs as root, and the page under test is ours.
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--mute-audio",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
    "about:blank",
)
# Runs before the page's own program: whatever a hostile text would do, it does through these.
_WATCH = """
globalThis.__seen = [];
document.addEventListener("securitypolicyviolation", (event) =>
  __seen.push(`policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
for (const name of ["alert", "confirm", "prompt", "open", "fetch", "pwned"])
  Object.defineProperty(globalThis, name, {value: (...given) => void __seen.push(`${name}: ${given}`)});
"""


class Browser:
    def __init__(self, program: Path, *, timeout: float = 60):
        self._timeout = timeout
        self._home = tempfile.mkdtemp(prefix="gati-browser-")
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        # Above the numbers that the child wants them at, so that neither overwrites the other.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_child, from_child)]
        quiet = os.open(os.devnull, os.O_RDWR)
        self._pid = os.posix_spawn(
            program,
            [str(program), f"--user-data-dir={self._home}", *_FLAGS],
            os.environ | {"HOME": self._home},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, quiet, 1),
                (os.POSIX_SPAWN_DUP2, quiet, 2),
                (os.POSIX_SPAWN_DUP2, ends[0], 3),
                (os.POSIX_SPAWN_DUP2, ends[1], 4),
            ],
            setpgroup=0,
        )
        for end in (to_child, from_child, quiet, *ends):
            os.close(end)
        self._rest = b""
        self._number = 0
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.send("Browser.close", wait=False)
        for _ in range(50):
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                break
            time.sleep(0.1)
        else:
            os.killpg(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._home, ignore_errors=True)

    def send(self, method, session=None, wait=True, **params):
        """One command; returns its result."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while wait:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)
        return None

    def pump(self, until, timeout=None):
        """Read events until something holds."""
        end = time.monotonic() + (timeout or self._timeout)
        while not until():
            if time.monotonic() > end:
                raise TimeoutError
            self._note(self._read())

    def _read(self):
        end = time.monotonic() + self._timeout
        while b"\0" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise TimeoutError("the browser says nothing")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("the browser is gone")
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        page = self.pages.get(event.get("sessionId"))
        if page:
            page.note(event.get("method"), event.get("params") or {})

    def open(self, path, *, dark=False, width=1360, height=860, fragment=""):
        """A new tab with a file in it, loaded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self.pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        page.media(dark=dark)
        page.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        page.send("Page.navigate", url=Path(path).as_uri() + fragment)
        self.pump(lambda: page.loaded)
        return page


class Page:
    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self.loaded = False
        self.said = []
        self.requests = []

    def send(self, method, **params):
        return self._browser.send(method, self._session, **params)

    def note(self, method, params):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Page.javascriptDialogOpening":
            self.said.append(f"dialog: {params['message']}")
            self._browser.send(
                "Page.handleJavaScriptDialog", self._session, wait=False, accept=False
            )
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            told = details.get("exception", {}).get("description", details["text"])
            self.said.append(f"exception: {told}")
        elif method == "Runtime.consoleAPICalled":
            self.said.append(f"console: {[arg.get('value') for arg in params['args']]}")
        elif method == "Log.entryAdded":
            self.said.append(f"log: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"].partition("#")[0])

    def js(self, expression):
        """The value of an expression, awaited."""
        found = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def seen(self):
        """What tried to run or was refused."""
        return self.js("__seen")

    def wait(self, expression):
        """Until an expression holds in the page, frame by frame."""
        return self.js(
            f"""new Promise((resolve, reject) => {{
                const end = performance.now() + 10000;
                const look = () => {{
                    const value = {expression};
                    if (value) resolve(value);
                    else if (performance.now() > end) reject(new Error({json.dumps(expression)}));
                    else setTimeout(look, 5);
                }};
                look();
            }})"""
        )

    def media(self, *, dark, kind="screen"):
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", media=kind, features=scheme)

    def key(self, key, code=""):
        """A key goes down and up, as a person's would."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        number = {"Tab": 9, "Enter": 13, "Escape": 27}.get(key, 0)
        given = {"key": key, "code": code or key, "windowsVirtualKeyCode": number}
        self.send("Input.dispatchKeyEvent", type="keyDown", **given, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **given)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def click(self, selector):
        """With the mouse, where the element is."""
        self.mouse(selector, "mousePressed", "mouseReleased")

    def hover(self, selector):
        self.mouse(selector, "mouseMoved")

    def mouse(self, selector, *kinds):
        x, y = self.js(
            f"""(() => {{
                const node = document.querySelector({json.dumps(selector)});
                node.scrollIntoView({{block: "nearest"}});
                const box = node.getBoundingClientRect();
                return [box.x + Math.min(box.width / 2, 60), box.y + box.height / 2];
            }})()"""
        )
        for kind in kinds:
            pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def text(self, selector="main"):
        return self.js(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector):
        return self.js(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText)"
        )

    def screenshot(self, path):
        data = self.send("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.send("Page.printToPDF")["data"])

    def close(self):
        self._browser.send("Target.closeTarget", targetId=self._target)
        self._browser.pages.pop(self._session, None)
