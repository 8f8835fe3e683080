"""How a cluster is reached: kubeconfigs, programs for credentials, service accounts, TLS."""

import base64
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from gati_gitops.observe.kube import Access, Kube, KubeError, Patience, Timeouts
from tests.observe.kube_api import TOKEN, KubeApi, kubeconfig
from tests.servers.certificates import Authority

QUICK = {"timeouts": Timeouts(2, 2, 5, 5), "patience": Patience(1, 1)}


@pytest.fixture
def api():
    server = KubeApi()
    yield server
    server.end()


@pytest.fixture
def secure(tmp_path):
    """The same over TLS, and the authority that signed it."""
    authority = Authority(tmp_path / "authority")
    files = (tmp_path / "server.pem", tmp_path / "server.key")
    authority.issue("127.0.0.1", *files)
    server = KubeApi(certificate=files)
    yield server, authority.file
    server.end()


@pytest.fixture
def asked():
    """Clients that are closed again."""
    opened = []

    def ask(access: Access) -> list:
        kube = Kube(access, **QUICK)
        opened.append(kube)
        return kube.list("v1", "ConfigMap")

    yield ask
    for kube in opened:
        kube.close()


def config(folder: Path, text: str, name: str = "kubeconfig") -> str:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return str(file)


class TestKubeconfig:
    def test_the_current_context_is_taken(self, api, asked, tmp_path):
        assert asked(Access(config(tmp_path, kubeconfig(api.url, {"token": TOKEN})))) == []

    def test_as_kubectl_reads_it_from_the_environment(self, api, asked, tmp_path, monkeypatch):
        monkeypatch.setenv("KUBECONFIG", config(tmp_path, kubeconfig(api.url, {"token": TOKEN})))
        assert asked(Access()) == []

    def test_a_context_is_chosen_by_name(self, api, asked, tmp_path):
        data = json.loads(kubeconfig(api.url, {"token": TOKEN}))
        data["contexts"].append({"name": "bad", "context": {"cluster": "it"}})
        data["current-context"] = "bad"
        file = config(tmp_path, json.dumps(data))
        assert asked(Access(file, "it")) == []
        with pytest.raises(KubeError, match="401"):
            asked(Access(file))

    def test_a_context_that_is_not_there_is_told_with_those_that_are(self, api, asked, tmp_path):
        file = config(tmp_path, kubeconfig(api.url, {"token": TOKEN}))
        with pytest.raises(KubeError, match="no context 'prod'; it has it") as caught:
            asked(Access(file, "prod"))
        assert "--context" in caught.value.remedy

    def test_several_files_are_one(self, api, asked, tmp_path):
        first = json.loads(kubeconfig(api.url, {"tokenFile": "token"}))
        users = first.pop("users")
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / "token").write_text(TOKEN)
        one = config(tmp_path / "a", json.dumps(first))
        two = config(tmp_path / "b", json.dumps({"users": users, "current-context": "other"}))
        missing = str(tmp_path / "nowhere")
        # the first that says something counts, and a path leads from the file that names it
        assert asked(Access(os.pathsep.join((missing, one, two)))) == []

    @pytest.mark.parametrize(
        "text, words",
        [
            ("", "is no kubeconfig"),
            ("- a\n", "is no kubeconfig"),
            ("a: [\n", "can't be reached by the current context"),
            ("contexts: 3\n", "can't be reached by the current context"),
            ("current-context: x\n", "no context 'x'; it has none"),
            ("contexts: []\n", "no current context"),
            (
                "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n",
                "names a cluster or user that the kubeconfig lacks",
            ),
        ],
    )
    def test_a_bad_file_is_explained(self, asked, tmp_path, text, words):
        with pytest.raises(KubeError, match=words) as caught:
            asked(Access(config(tmp_path, text)))
        assert caught.value.remedy

    def test_no_file_is_explained(self, asked, tmp_path):
        with pytest.raises(KubeError, match="there is no kubeconfig"):
            asked(Access(str(tmp_path / "nowhere")))

    def test_credentials_are_not_sent_in_the_clear(self, asked, tmp_path):
        text = kubeconfig("http://cluster.example.com", {"token": TOKEN})
        with pytest.raises(KubeError, match="is not https") as caught:
            asked(Access(config(tmp_path, text)))
        assert TOKEN not in str(caught.value)

    def test_a_loopback_server_needs_no_proxy(self, api, asked, tmp_path, monkeypatch):
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
        assert asked(Access(config(tmp_path, kubeconfig(api.url, {"token": TOKEN})))) == []

    def test_a_proxy_of_the_kubeconfig_is_used(self, api, asked, tmp_path):
        text = kubeconfig("http://cluster.example.com", {}, {"proxy-url": api.url})
        with pytest.raises(KubeError, match="401"):  # the proxy was asked, and wants a token
            asked(Access(config(tmp_path, text)))
        assert api.requests


class TestTls:
    def test_the_server_is_checked_by_the_authority(self, secure, asked, tmp_path):
        api, authority = secure
        data = base64.b64encode(authority.read_bytes()).decode()
        for said in (
            {"certificate-authority": str(authority)},
            {"certificate-authority-data": data},
            {"insecure-skip-tls-verify": True},
        ):
            file = config(tmp_path, kubeconfig(api.url, {"token": TOKEN}, said))
            assert asked(Access(file)) == []

    @pytest.mark.parametrize("more", [{}, {"certificate-authority": "other.pem"}])
    def test_another_authority_is_refused(self, secure, asked, tmp_path, more):
        api, _ = secure
        Authority(tmp_path / "other").file.rename(tmp_path / "other.pem")
        file = config(tmp_path, kubeconfig(api.url, {"token": TOKEN}, more))
        with pytest.raises(KubeError, match="CERTIFICATE_VERIFY_FAILED") as caught:
            asked(Access(file))
        assert "certificate-authority" in caught.value.remedy
        assert not api.requests

    def test_the_name_that_is_checked_can_be_another(self, secure, asked, tmp_path):
        api, authority = secure
        said = {"certificate-authority": str(authority), "tls-server-name": "other.example.com"}
        with pytest.raises(KubeError, match="CERTIFICATE_VERIFY_FAILED"):
            asked(Access(config(tmp_path, kubeconfig(api.url, {"token": TOKEN}, said))))


class TestTokens:
    def test_a_token_that_rotates_is_read_again(self, api, tmp_path):
        token = tmp_path / "token"
        token.write_text("old")
        api.token = "old"
        file = config(tmp_path, kubeconfig(api.url, {"tokenFile": "token"}))
        kube = Kube(Access(file), **QUICK)
        assert kube.list("v1", "ConfigMap") == []
        token.write_text("new\n")
        api.token = "new"
        assert kube.list("v1", "ConfigMap") == []
        kube.close()

    def test_inside_a_cluster(self, secure, tmp_path, monkeypatch):
        api, authority = secure
        account = tmp_path / "account"
        account.mkdir()
        for name, text in {"token": "old", "namespace": "gati-system"}.items():
            (account / name).write_text(text)
        (account / "ca.crt").write_bytes(authority.read_bytes())
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", api.url.rpartition(":")[2])
        kube = Kube(Access(in_cluster=True, service_account=str(account)), **QUICK)
        assert (kube.server, kube.namespace) == (api.url, "gati-system")
        for token in ("old", "new"):  # the kubelet rotates it
            (account / "token").write_text(token)
            api.token = token
            assert kube.list("v1", "ConfigMap") == []
        kube.close()

    def test_outside_of_one_that_is_said(self, asked, monkeypatch):
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        with pytest.raises(KubeError, match="does not run inside a cluster"):
            asked(Access(in_cluster=True))

    def test_an_account_without_a_token_is_told(self, asked, tmp_path, monkeypatch):
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
        with pytest.raises(KubeError, match="the pod's own service account"):
            asked(Access(in_cluster=True, service_account=str(tmp_path)))


class TestPrograms:
    """Credentials from a program that the kubeconfig names."""

    @pytest.fixture
    def program(self, api, tmp_path):
        """A kubeconfig whose program is this script."""

        def write(script: str, **more) -> Access:
            file = tmp_path / "bin" / "creds"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"#!{sys.executable}\n{script}")
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
            said = {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "./bin/creds",  # leads from the kubeconfig
                "interactiveMode": "Never",
                **more,
            }
            text = kubeconfig(api.url, {"exec": said}, {"tls-server-name": "here"})
            return Access(config(tmp_path, text))

        return write

    TOKEN_OF = (
        "import json, os\n"
        "n = len(open('{log}', 'a+').write('x') and open('{log}').read())\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "print(json.dumps({{'kind': 'ExecCredential', 'apiVersion': info['apiVersion'],\n"
        "  'status': {{'token': os.environ['T'], 'expirationTimestamp': {ends!r}}}}}))\n"
    )

    def script(self, folder: Path, ends: str | None = None) -> str:
        return self.TOKEN_OF.format(log=folder / "runs", ends=ends)

    def runs(self, folder: Path) -> int:
        return len((folder / "runs").read_text())

    @pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
    def test_its_token_is_used_for_all_requests(self, api, program, tmp_path, version):
        env = [{"name": "T", "value": TOKEN}]
        api_version = f"client.authentication.k8s.io/{version}"
        kube = Kube(program(self.script(tmp_path), env=env, apiVersion=api_version), **QUICK)
        for _ in range(3):
            assert kube.list("v1", "ConfigMap") == []
        assert self.runs(tmp_path) == 1
        kube.close()

    def test_a_token_that_expires_is_renewed(self, api, program, tmp_path):
        env = [{"name": "T", "value": TOKEN}]
        kube = Kube(program(self.script(tmp_path, "2020-01-01T00:00:00Z"), env=env), **QUICK)
        kube.list("v1", "ConfigMap")
        kube.list("v1", "ConfigMap")
        assert self.runs(tmp_path) > 1
        kube.close()

    def test_a_token_that_is_refused_is_renewed_once(self, api, asked, program, tmp_path):
        with pytest.raises(KubeError, match="401"):
            asked(program(self.script(tmp_path), env=[{"name": "T", "value": "wrong"}]))
        assert self.runs(tmp_path) == 2

    def test_it_is_told_of_the_cluster_where_it_asks(self, api, asked, program, tmp_path):
        script = (
            "import json, os\n"
            "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']\n"
            f"assert info['interactive'] is False and info['cluster']['server'] == '{api.url}', info\n"
            f"print(json.dumps({{'status': {{'token': '{TOKEN}'}}}}))\n"
        )
        assert asked(program(script, provideClusterInfo=True)) == []

    @pytest.mark.parametrize(
        "script, words",
        [
            ("import sys; sys.exit('please log in')", "it ended with 1: please log in"),
            ("print('secret-garbage')", "it printed no ExecCredential"),
            ("print('{}')", "it printed no ExecCredential"),
            ('print(\'{"status": {"token": ""}}\')', "it gave no token"),
            (
                'print(\'{"status": {"clientCertificateData": "x"}}\')',
                "but a client certificate, and that is not supported",
            ),
            ("import time; time.sleep(60)", "it took longer than 5 s"),
        ],
    )
    def test_what_goes_wrong_is_told(self, asked, program, script, words):
        with pytest.raises(KubeError, match=words) as caught:
            asked(program(script, installHint="ask the platform team"))
        assert caught.value.remedy == "ask the platform team"
        assert "secret-garbage" not in str(caught.value)

    def test_a_program_that_is_not_there_is_told(self, asked, program):
        with pytest.raises(KubeError, match="No such file") as caught:
            asked(program("", command="/nowhere/creds"))
        assert "run it by hand" in caught.value.remedy

    def test_another_protocol_is_told(self, asked, program):
        with pytest.raises(KubeError, match="speaks acme/v9"):
            asked(program("", apiVersion="acme/v9"))
