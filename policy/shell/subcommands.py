"""Programs with subcommands as data: the options before the subcommand that take a value.

From the programs' manuals. An option that is missing here is read both ways, its following
word as its value and as the subcommand; a row settles which.
"""

import functools

from policy.wordlist import word_set

# Long options that take a value wherever they are known.
_COMMON = (
    "account as cache-dir cluster config context cwd directory endpoint-url env-file file format "
    "host kubeconfig log-level loglevel manifest-path namespace output profile project region "
    "registry repo server stack stage subscription timeout token work-dir workspace"
)
_ROWS = {
    "argocd bazel doppler dotnet eksctl firebase flux gem heroku incus istioctl kustomize lxc mvn "
    "gradle minikube kind netlify nix nomad consul vault op rclone serverless sls skaffold "
    "supabase svn vagrant vercel wrangler": "",
    "redis-cli": "h p a n u",
    "go hg jj": "C R repository",
    "fly flyctl doctl pulumi": "t a c u C s app access-token stack",
    "tmux ip adb virsh": "L S f n b s t H P",
    "git": "C c git-dir work-tree exec-path config-env super-prefix attr-source",
    "kubectl oc": "n s v as-group as-uid user request-timeout certificate-authority client-key "
    "client-certificate tls-server-name username password",
    "helm": "n kube-context kube-apiserver kube-as-user kube-token registry-config",
    "docker docker-compose": "H c l f p tlscacert tlscert tlskey project-name project-directory "
    "ansi progress parallel",
    "podman nerdctl crictl": "a c f i n p r url connection root runroot identity storage-driver "
    "runtime cgroup-manager address snapshotter runtime-endpoint project-name",
    "aws awslocal": "query color ca-bundle cli-read-timeout cli-connect-timeout",
    "gcloud bq": "verbosity configuration impersonate-service-account billing-project",
    "gsutil": "o h u i",
    "az": "o query",
    "gh glab": "R hostname",
    "terraform tofu terragrunt packer": "chdir working-dir",
    "systemctl journalctl loginctl machinectl": "H M t p n o machine root type property lines "
    "job-mode signal kill-who state",
    "npm": "w C prefix userconfig globalconfig cache otp tag",
    "pnpm yarn bun": "C F dir filter filter-prod reporter stdio store-dir modules-dir",
    "cargo": "C Z color target-dir",
    "pip pip3": "python proxy log retries cert index-url trusted-host",
    "apt apt-get aptitude": "o c t option config-file target-release",
    "dnf yum zypper pacman apk": "c x R r b enablerepo disablerepo repoid releasever installroot "
    "setopt exclude root dbpath",
    "poetry pdm hatch rye pipenv uv": "C P p e data-dir color config-file",
    "conda mamba micromamba": "n p r name prefix",
    "ansible ansible-playbook ansible-vault": "i inventory vault-id vault-password-file",
    "make gmake cmake ninja": "C f I o W makefile include-dir eval",
}

# Those of them that take shortened long options.
SHORTENS = word_set("git aws gcloud gsutil npm pip pip3 conda ansible ansible-playbook hg make")


@functools.cache
def outer_values(program: str) -> tuple[str, tuple[str, ...]] | None:
    """The letters and the long names of the options that take a value; None without a row."""
    row = next((row for names, row in _ROWS.items() if program in names.split()), None)
    if row is None:
        return None
    names = f"{row} {_COMMON}".split()
    letters = "".join(name for name in names if len(name) == 1)
    return letters, tuple(name for name in names if len(name) > 1)
