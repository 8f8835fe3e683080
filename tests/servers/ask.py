"""One question to a port of this machine."""

import http.client


def ask(port: int, path: str) -> tuple[int, bytes]:
    """The status and the words; 0 and why where nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError as error:
        return 0, repr(error).encode()
    finally:
        connection.close()
