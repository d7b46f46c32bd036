"""Programs with subcommands as data: the options before the subcommand that take a value.

From the programs' manuals. An option that is missing here is read both ways, its following
word as its value and as the subcommand; a row settles which.
"""

import functools

from policy.wordlist import word_set

_AWS = "profile region endpoint-url output query color ca-bundle cli-read-timeout cli-connect-timeout"
_ROWS = {
    "git": "C c git-dir work-tree namespace exec-path config-env super-prefix attr-source list-cmds",
    "kubectl oc": "n s v namespace context kubeconfig server as as-group as-uid cluster user token "
    "request-timeout certificate-authority client-certificate client-key cache-dir password "
    "username tls-server-name profile profile-output log-flush-frequency vmodule",
    "helm": "n namespace kube-context kubeconfig kube-apiserver kube-as-user kube-as-group "
    "kube-token kube-ca-file registry-config repository-cache repository-config burst-limit qps",
    "docker docker-compose": "H c l host context config log-level tlscacert tlscert tlskey f p file "
    "project-name env-file profile project-directory ansi progress parallel",
    "podman": "c url connection root runroot log-level identity storage-driver storage-opt runtime "
    "cgroup-manager conmon events-backend module network-config-dir tmpdir volumepath f p file "
    "project-name env-file profile",
    "nerdctl crictl": "n a r i namespace address snapshotter runtime-endpoint image-endpoint",
    "aws": _AWS,
    "awslocal": _AWS,
    "gcloud bq": "project account format verbosity configuration impersonate-service-account "
    "billing-project access-token-file flags-file flatten trace-token project_id location",
    "gsutil": "o h u i",
    "az": "o subscription output query",
    "gh": "R repo hostname",
    "glab": "R repo g group",
    "terraform tofu terragrunt": "chdir terragrunt-working-dir working-dir",
    "systemctl journalctl loginctl machinectl": "H M t p n o host machine root type property lines "
    "output job-mode signal kill-who state",
    "npm": "w C workspace prefix registry loglevel userconfig globalconfig cache otp tag",
    "pnpm yarn bun": "C F dir filter filter-prod cwd config env-file registry loglevel reporter "
    "stdio store-dir modules-dir cache-folder",
    "cargo": "C Z manifest-path config color target-dir",
    "go": "C",
    "heroku": "a r app remote team",
    "fly flyctl": "t a c access-token app config",
    "pulumi": "C s stack cwd color profiling tracing v verbose",
    "pip pip3": "python proxy log cache-dir retries timeout exists-action trusted-host cert "
    "client-cert index-url keyring-provider use-feature",
    "apt apt-get aptitude": "o c t option config-file target-release default-release a",
    "dnf yum microdnf": "c x enablerepo disablerepo repo repoid releasever installroot setopt "
    "config exclude disableplugin enableplugin comment",
    "zypper apk pacman": "R p X r b root config reposd-dir repository dbpath cachedir",
    "poetry pdm hatch rye pipenv": "C P p e directory project env data-dir cache-dir config",
    "uv": "directory project cache-dir color config-file python-preference allow-insecure-host",
    "conda mamba micromamba": "n p name prefix r root-prefix",
    "redis-cli": "h p a n u i r s user pass tls cert key cacert",
    "svn": "username password config-dir config-option",
    "hg": "R repository cwd config encoding encodingmode color pager",
    "jj": "R repository at-op at-operation config config-file color",
    "vault consul nomad": "address namespace region token http-addr ca-cert ca-path client-cert "
    "client-key tls-server-name agent-address header",
    "minikube": "p v profile bootstrapper",
    "kind k3d": "v verbosity",
    "eksctl": "v C verbose color",
    "vercel now": "t S A Q token scope cwd local-config global-config",
    "netlify": "auth filter http-proxy site",
    "firebase": "P c project token account config",
    "supabase": "workdir dns-resolver network-id profile experimental",
    "wrangler": "c e config env cwd env-file",
    "rclone": "config transfers checkers bwlimit log-file log-level include exclude filter "
    "filter-from include-from exclude-from cache-dir password-command",
    "s3cmd": "c config access_key secret_key access_token region host host-bucket",
    "doctl": "t c u access-token context config output api-url",
    "argocd": "server auth-token config server-crt client-crt client-crt-key loglevel logformat "
    "argocd-context kube-context port-forward-namespace",
    "flux skaffold": "n f p m namespace context kubeconfig kube-context filename profile module "
    "timeout cluster user token server verbosity default-repo",
    "serverless sls": "s r c stage region config aws-profile app org param",
    "vagrant": "",
    "packer kustomize linkerd istioctl": "n namespace context kubeconfig",
    "ansible ansible-playbook ansible-vault": "i inventory vault-id vault-password-file",
    "make gmake": "C f I o W directory file makefile include-dir eval old-file what-if",
    "cmake ninja": "C f j k",
    "gem bundle rbenv": "config-file",
    "brew": "",
    "composer": "d working-dir",
    "mvn gradle": "f p P pl file projects settings-file build-file project-dir init-script",
    "dotnet nix op doppler": "config account session cache project token scope option",
    "tmux": "L S f c T",
    "ip": "n f b family netns batch",
    "virsh": "c connect",
    "lxc incus": "project",
    "adb": "s t H P L",
    "bazel": "bazelrc output_base output_user_root host_jvm_args",
}  # fmt: skip

# Those of them that take shortened long options.
SHORTENS = word_set("git aws gcloud gsutil npm pip pip3 conda ansible ansible-playbook hg make")


@functools.cache
def outer_values(program: str) -> tuple[str, tuple[str, ...]] | None:
    """The letters and the long names of the options that take a value; None without a row."""
    names = _values().get(program)
    if names is None:
        return None
    letters = "".join(name for name in names if len(name) == 1)
    return letters, tuple(name for name in names if len(name) > 1)


@functools.cache
def _values() -> dict[str, tuple[str, ...]]:
    return {name: tuple(row.split()) for names, row in _ROWS.items() for name in names.split()}
