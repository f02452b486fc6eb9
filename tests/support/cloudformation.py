"""CloudFormation templates as plain data: the short tags (`!Ref`, `!Sub`, …) become their long forms."""

import json
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PSEUDO = {f"AWS::{name}" for name in ("AccountId", "NoValue", "Partition", "Region", "StackName")}
_PLACEHOLDER = re.compile(r"\$\{([^!}]+)\}")


class _Loader(yaml.SafeLoader):
    pass


def _construct(loader: _Loader, tag: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    if tag == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {tag if tag in {"Ref", "Condition"} else f"Fn::{tag}": value}


_Loader.add_multi_constructor("!", _construct)


def parse(text: str) -> dict[str, Any]:
    """A template's text as data."""
    template = yaml.load(text, Loader=_Loader)
    assert isinstance(template, dict)
    return template


def resources(template: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The resources of one type, by logical id."""
    return {name: each for name, each in template["Resources"].items() if each["Type"] == kind}


def functions(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The properties of each function, `Globals` not merged in."""
    return {
        name: each["Properties"] for name, each in resources(template, "AWS::Serverless::Function").items()
    }


def statements(template: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """All that a function or a managed policy may do, by itself and by the policies it refers to."""
    properties = template["Resources"][name]["Properties"]
    if "PolicyDocument" in properties:
        return list(properties["PolicyDocument"]["Statement"])
    found: list[dict[str, Any]] = []
    for policy in properties["Policies"]:
        found.extend(statements(template, policy["Ref"]) if "Ref" in policy else policy["Statement"])
    return found


def handler_map(template: dict[str, Any]) -> dict[str, str]:
    """Job type to the logical id of its function, with every condition true."""
    variables = functions(template)["PollerFunction"]["Environment"]["Variables"]
    text, parts = variables["DYNAJOBS_HANDLERS"]["Fn::Sub"]
    for name, part in parts.items():
        _, if_so, _ = part["Fn::If"]
        text = text.replace(f"${{{name}}}", if_so["Fn::Sub"])
    return {job_type: target.strip("${}") for job_type, target in json.loads(text).items()}


def invocable(template: dict[str, Any]) -> set[str]:
    """The logical ids of the functions that the poller may invoke, with every condition true."""
    return {
        (resource["Fn::If"][1] if "Fn::If" in resource else resource)["Fn::GetAtt"][0]
        for statement in statements(template, "PollerFunction")
        if statement["Action"] == "lambda:InvokeFunction"
        for resource in statement["Resource"]
    }


def known(template: dict[str, Any]) -> set[str]:
    """What a template's references may name; SAM makes a role for each function."""
    roles = {f"{name}Role" for name in functions(template)}
    return {*template["Parameters"], *template["Resources"], *roles, *PSEUDO}


def references(value: Any) -> Iterator[str]:
    """Every logical id, parameter or pseudo parameter that a part of a template names."""
    if isinstance(value, list):
        for each in value:
            yield from references(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key == "Ref":
                yield inner
            elif key == "Fn::GetAtt":
                yield inner[0]
            elif key == "Fn::Sub":
                text, own = inner if isinstance(inner, list) else (inner, {})
                yield from (name.split(".")[0] for name in _PLACEHOLDER.findall(text) if name not in own)
                yield from references(own)
            else:
                yield from references(inner)


def with_defaults(template: dict[str, Any], value: Any) -> Any:
    """A part of a template with its parameters replaced by their defaults."""
    if isinstance(value, list):
        return [with_defaults(template, each) for each in value]
    if not isinstance(value, dict):
        return value
    defaults = {name: each.get("Default") for name, each in template["Parameters"].items()}
    if value.keys() == {"Ref"}:
        return defaults.get(value["Ref"], value)
    if value.keys() == {"Fn::Sub"} and isinstance(value["Fn::Sub"], str):
        return _PLACEHOLDER.sub(lambda match: str(defaults.get(match[1], match[0])), value["Fn::Sub"])
    return {key: with_defaults(template, inner) for key, inner in value.items()}


def lint(path: Path) -> str:
    """What cfn-lint has to say of a template; nothing is good."""
    command = Path(sysconfig.get_path("scripts"), "cfn-lint")
    run = subprocess.run([command, path], capture_output=True, text=True, check=False)
    return run.stdout + run.stderr
