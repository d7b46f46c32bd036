"""Programs with subcommands as data: the options before the subcommand that take a value.

From the programs' manuals. An option that is missing here is read both ways, its following
word as its value and as the subcommand; a row settles which.
"""

import functools

from policy.shell.options import parse
from policy.wordlist import word_set

# Long options that take a value wherever they are known.
_COMMON = (
    "account address as cache-dir cluster config configuration context cwd directory endpoint-url "
    "env env-file exclude file format hostname kubeconfig log-level loglevel manifest-path "
    "namespace output profile project project-directory project-name region registry repo server "
    "stack stage subscription target-dir timeout token verbosity workdir workspace"
)
_ROWS = {
    "git": "C c git-dir work-tree exec-path config-env super-prefix attr-source",
    "kubectl oc": "n s v user request-timeout username password certificate-authority client-key",
    "helm": "n kube-context kube-apiserver kube-token",
    "docker docker-compose": "H c l f p host tlscacert tlscert tlskey ansi progress parallel",
    "podman nerdctl crictl": "a c f i n p r url connection root runroot identity storage-driver",
    "aws awslocal": "query color ca-bundle cli-read-timeout cli-connect-timeout",
    "terraform tofu terragrunt packer": "chdir working-dir",
    "systemctl journalctl loginctl machinectl": "H M t p n o host machine root type property "
    "lines job-mode signal kill-who state",
    "npm": "w C prefix userconfig globalconfig otp tag",
    "pnpm yarn bun": "C F dir filter filter-prod reporter stdio store-dir modules-dir",
    "cargo go hg jj bazel": "C R Z color repository",
    "gsutil az": "o h u i query",
    "heroku fly flyctl doctl pulumi": "a r t u c C s app remote access-token",
    "gh glab gcloud bq rclone svn vault consul nomad kustomize flux skaffold minikube kind eksctl "
    "vercel netlify firebase supabase wrangler serverless nix op doppler lxc incus": "R n p P S",
    "pip pip3": "python proxy log retries cert index-url trusted-host",
    "apt apt-get aptitude dnf yum zypper pacman": "o c t x R r b option enablerepo disablerepo "
    "releasever installroot setopt",
    "poetry pdm hatch rye pipenv uv composer mvn gradle": "C P p d e f color working-dir",
    "conda mamba micromamba": "n p name prefix",
    "redis-cli": "h p a n u",
    "make gmake cmake ninja": "C f I o W makefile include-dir eval",
    "tmux ip adb virsh": "L S f n b s t H P",
}

# Those of them that take shortened long options.
SHORTENS = word_set("git aws gcloud gsutil npm pip pip3 conda ansible ansible-playbook hg make")
_BY_PROGRAM = {name: row for names, row in _ROWS.items() for name in names.split()}


# Commands that have another name, by which rules may speak of them.
_SAME = {
    "docker container": "docker", "podman container": "podman", "docker-compose": "docker compose",
    "docker image rm": "docker rmi", "docker image push": "docker push", "git stage": "git add",
    "docker image pull": "docker pull", "docker image build": "docker build",
    "npm i": "npm install",
    "docker buildx build": "docker build", "git subtree push": "git push", "npm add": "npm install",
    "npm un": "npm uninstall", "npm rm": "npm uninstall", "npm remove": "npm uninstall",
    "brew rm": "brew uninstall", "helm del": "helm uninstall", "helm delete": "helm uninstall",
    "helm un": "helm uninstall", "terragrunt": "terraform", "terragrunt run-all": "terraform",
    "terragrunt run": "terraform", "terraform apply -destroy": "terraform destroy",
}  # fmt: skip
_RENAMED = frozenset(name.split()[0] for name in _SAME)


def same_command(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command line by the name that rules use; empty where it has no other."""
    if words[0] not in _RENAMED:
        return ()
    parsed = parse(words, *(outer_values(words[0]) or ("", ())), permutes=False)
    start = parsed.operands[0][0] if parsed.operands else len(words)
    option = " -destroy" if "-destroy" in words else ""
    for end in (start + 2, start + 1, start):
        name = " ".join((words[0], *words[start:end]))
        if same := _SAME.get(name + option) or _SAME.get(name):
            return (*same.split(), *words[end:])
    return ()


@functools.lru_cache(maxsize=1024)
def outer_values(program: str) -> tuple[str, tuple[str, ...]] | None:
    """The letters and the long names of the options that take a value; None without a row."""
    row = _BY_PROGRAM.get(program)
    if row is None:
        return None
    names = f"{row} {_COMMON}".split()
    letters = "".join(name for name in names if len(name) == 1)
    return letters, tuple(name for name in names if len(name) > 1)
