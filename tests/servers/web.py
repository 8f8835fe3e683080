"""Git over http and https, as servers do it: nginx, fcgiwrap and git's own http-backend."""

import os
import pwd
import subprocess
from pathlib import Path

from tests.servers.certificates import Authority
from tests.servers.process import Process, free_port, started
from tests.tools import missing, tool

USER, TOKEN = "publisher", "not-a-real-token-4711"

NGINX = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log warn;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  fastcgi_temp_path {folder}/fastcgi;
  proxy_temp_path {folder}/proxy;
  scgi_temp_path {folder}/scgi;
  uwsgi_temp_path {folder}/uwsgi;
  client_max_body_size 0;
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    listen 127.0.0.1:{tls_port} ssl backlog=1024;
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.key;
    location / {{
      auth_basic "git";
      auth_basic_user_file {folder}/users;
      fastcgi_pass unix:{folder}/cgi.sock;
      fastcgi_read_timeout 300;
      fastcgi_param SCRIPT_FILENAME {backend};
      fastcgi_param GIT_PROJECT_ROOT {repositories};
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param PATH_INFO $uri;
      fastcgi_param REMOTE_USER $remote_user;
      fastcgi_param REMOTE_ADDR $remote_addr;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
      fastcgi_param HTTP_GIT_PROTOCOL $http_git_protocol;
    }}
  }}
}}
"""


class Web:
    """A web server for all repositories in a folder; every request needs USER and TOKEN."""

    def __init__(
        self,
        folder: Path,
        repositories: Path,
        authority: Authority,
        ports: tuple[int, int] | None = None,
    ) -> None:
        """The ports are any that are free, unless they are given."""
        self.folder = folder
        self.repositories = repositories
        self.authority = authority
        self._ports = ports
        folder.mkdir(parents=True)
        (folder / "users").write_text(f"{USER}:{{PLAIN}}{TOKEN}\n")
        authority.issue("127.0.0.1", folder / "server.pem", folder / "server.key")
        self._cgi = started(1, self._start_cgi)
        self.go()

    def url(self, name: str, *, tls: bool = False) -> str:
        return (
            f"https://127.0.0.1:{self.tls_port}/{name}"
            if tls
            else f"http://127.0.0.1:{self.port}/{name}"
        )

    def go(self) -> None:
        """Listen, as at the beginning and after `stop`."""
        self._nginx = started(5, self._start_nginx)

    def stop(self) -> None:
        """Nobody is heard any more."""
        self._nginx.end()

    def end(self) -> None:
        self.stop()
        self._cgi.end()

    def _start_cgi(self):
        path = str(self.folder / "cgi.sock")
        process = Process(
            [tool("fcgiwrap"), "-c", "8", "-s", f"unix:{path}"], self.folder / "cgi.log"
        )
        return process if process.answers(path) else None

    def _start_nginx(self):
        self.port, self.tls_port = self._ports or (free_port(), free_port())
        config = self.folder / "nginx.conf"
        me = pwd.getpwuid(os.getuid()).pw_name
        config.write_text(
            NGINX.format(
                user=f"user {me};" if os.getuid() == 0 else "",
                folder=self.folder,
                port=self.port,
                tls_port=self.tls_port,
                backend=http_backend(),
                repositories=self.repositories,
            )
        )
        process = Process(
            [tool("nginx"), "-c", config, "-p", self.folder, "-e", self.folder / "nginx.log"],
            self.folder / "nginx.out",
        )
        return process if process.answers(("127.0.0.1", self.port)) else None


def http_backend() -> Path:
    found = subprocess.run(
        [tool("git"), "--exec-path"], capture_output=True, text=True, check=True
    ).stdout.strip()
    program = Path(found, "git-http-backend")
    return program if program.is_file() else missing("git-http-backend")
