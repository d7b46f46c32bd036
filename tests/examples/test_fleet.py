"""The files of `examples/fleet` are what Kubernetes and this release read."""

from __future__ import annotations

import argparse
import copy
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ctxmode.commands import worker
from ctxmode.config.cluster import load_cluster
from ctxmode.config.locations import Config
from ctxmode.mcp.http.serving import GAUGES
from fleet.seal import load_served_keys
from fleet.slot import load_operator_rules

EXAMPLES = Path(__file__).parents[2] / "examples/fleet"
SCHEMAS = json.loads(Path(__file__).with_name("kubernetes.json").read_text())
# As keda.sh/docs/latest/reference/scaledobject-spec and …/scalers/prometheus tell; strict.
SCALED_OBJECT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "keda.sh/v1alpha1"},
        "kind": {"const": "ScaledObject"},
        "metadata": {"type": "object", "required": ["name"]},
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["scaleTargetRef", "triggers"],
            "properties": {
                "scaleTargetRef": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name"],
                    "properties": {
                        name: {"type": "string"} for name in ("apiVersion", "kind", "name")
                    },
                },
                **{
                    name: {"type": "integer", "minimum": 0}
                    for name in (
                        *("pollingInterval", "cooldownPeriod", "initialCooldownPeriod"),
                        *("idleReplicaCount", "minReplicaCount", "maxReplicaCount"),
                    )
                },
                "triggers": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["type", "metadata"],
                        "properties": {
                            "type": {"const": "prometheus"},
                            "metadata": {
                                "type": "object",
                                "additionalProperties": {"type": "string"},
                                "required": ["serverAddress", "query", "threshold"],
                            },
                        },
                    },
                },
            },
        },
    },
}
KINDS = (*SCHEMAS["kinds"], "ScaledObject")


def check(manifest: dict[str, Any]) -> None:
    """Check a manifest against the schema of its kind.

    Raises:
        jsonschema.ValidationError: it does not hold.
    """
    kind = manifest["kind"]
    if kind == "ScaledObject":
        schema = SCALED_OBJECT
    else:
        schema = {"$ref": SCHEMAS["kinds"][kind], "$defs": SCHEMAS["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(manifest)


def manifests() -> dict[str, dict[str, Any]]:
    """All manifests by kind."""
    found = {}
    for file in sorted((EXAMPLES / "kubernetes").glob("*.yaml")):
        for manifest in yaml.safe_load_all(file.read_text()):
            assert manifest["kind"] not in found
            found[manifest["kind"]] = manifest
    return found


@pytest.fixture
def pod() -> dict[str, Any]:
    return manifests()["Deployment"]["spec"]["template"]["spec"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_manifest_is_as_its_schema_says(kind: str):
    assert manifests().keys() == set(KINDS)
    check(manifests()[kind])


def change(manifest: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy in which what lies at a path is another; None removes it."""
    changed = copy.deepcopy(manifest)
    *above, last = path.split(".")
    at: Any = changed
    for name in above:
        at = at[int(name) if isinstance(at, list) else name]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return changed


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", "spec.selector", None),
        ("Deployment", "spec.replicas", "some"),
        ("Deployment", "spec.template.spec.hostUser", False),
        ("Deployment", "spec.template.spec.containers", None),
        ("Deployment", "spec.template.spec.containers.0.name", None),
        ("Deployment", "spec.template.spec.containers.0.securityContext.procmount", "Unmasked"),
        ("Deployment", "spec.template.spec.containers.0.readinessProbe.exec.command", "doctor"),
        ("Deployment", "spec.template.spec.volumes.0.secrets", {}),
        ("NetworkPolicy", "spec.egresses", []),
        ("NetworkPolicy", "spec.egress.0.ports.0.port", True),
        ("Secret", "stringdata", {}),
        ("ConfigMap", "data", ["fronts.toml"]),
        ("ConfigMap", "kind", None),
        ("ScaledObject", "spec.scaleTargetRef", None),
        ("ScaledObject", "spec.maxReplicas", 3),
        ("ScaledObject", "spec.triggers.0.metadata.threshold", 4),
    ],
)
def test_a_broken_manifest_fails(kind: str, path: str, value: object):
    broken = change(manifests()[kind], path, value)
    with pytest.raises((jsonschema.ValidationError, KeyError)):
        check(broken)


def test_all_of_it_is_about_the_same_pods(pod: dict[str, Any]):
    found = manifests()
    deployment = found["Deployment"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    assert found["ScaledObject"]["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["secret"]["secret"]["secretName"] == found["Secret"]["metadata"]["name"]
    assert volumes["settings"]["configMap"]["name"] == found["ConfigMap"]["metadata"]["name"]
    for item in volumes["settings"]["configMap"]["items"]:
        assert item["key"] in found["ConfigMap"]["data"]
    for container in (*pod["initContainers"], *pod["containers"]):
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes.keys()
    (keys,) = pod["initContainers"]
    assert {Path(path).name for path in keys["args"]} == found["Secret"]["stringData"].keys()


def test_a_worker_has_no_rights_but_to_make_namespaces(pod: dict[str, Any]):
    assert (pod["hostUsers"], pod["automountServiceAccountToken"]) == (False, False)
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"]["type"] == "Localhost"
    for container in (*pod["initContainers"], *pod["containers"]):
        rights = container["securityContext"]
        assert not rights["allowPrivilegeEscalation"]
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]
    policy = manifests()["NetworkPolicy"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert all(rule["to"] and rule["ports"] for rule in policy["egress"])


def test_the_worker_is_started_with_options_that_there_are(pod: dict[str, Any], tmp_path: Path):
    (container,) = pod["containers"]
    group, verb, *words = container["args"]
    parser = argparse.ArgumentParser(exit_on_error=False)
    worker.add_arguments(parser)
    args = parser.parse_args(words)
    assert (group, verb, args.at_once) == ("serve", "worker", 4)
    env = {one["name"]: one["value"] for one in container["env"]}
    settings = {one["path"]: one["key"] for one in pod["volumes"][2]["configMap"]["items"]}
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    for path, key in settings.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(manifests()["ConfigMap"]["data"][key])
    here = {
        path: path.replace(mounted["settings"], str(tmp_path)) for path in (args.keys, args.rules)
    }
    ((_, owners),) = load_served_keys(Path(here[args.keys])).values()
    assert owners == {"*"}
    load_operator_rules(Path(here[args.rules]), tmp_path, tmp_path)
    config_home = Path(env["XDG_CONFIG_HOME"].replace(mounted["settings"], str(tmp_path)))
    project = tmp_path / "project"
    config = Config(project=project, home=project, data_dir=project, config_home=config_home)
    found = load_cluster(config, args.cluster)
    assert str(found.credentials.key) == f"{mounted['keys']}/worker.key"


def test_scaling_asks_for_figures_that_fronts_tell():
    (trigger,) = manifests()["ScaledObject"]["spec"]["triggers"]
    named = set(re.findall(r"ctxmode_\w+", trigger["metadata"]["query"]))
    assert named == {f"ctxmode_fleet_{name}" for name in ("waiting", "running")}
    assert named <= {f"ctxmode_fleet_{name}" for name in GAUGES}


def test_the_image_has_what_a_worker_needs():
    text = (EXAMPLES / "Dockerfile").read_text()
    assert "ctxmode[dask]" in text
    assert "USER 65432" in text
    project = tomllib.loads((EXAMPLES.parents[1] / "pyproject.toml").read_text())
    assert "dask" in project["project"]["optional-dependencies"]
