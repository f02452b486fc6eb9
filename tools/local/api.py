"""The stack's API as it is reached on this machine: its URL, and the tokens from their secrets."""

import re
from collections.abc import Mapping

from tools.local.emulator import Emulator
from tools.local.trouble import Trouble

_ID = re.compile(r"[a-z0-9]{32}")


def access(emulator: Emulator, outputs: Mapping[str, str]) -> dict[str, str]:
    """`url`, `token` and `read_token`."""
    found = _ID.search(outputs["ApiUrl"])
    if found is None:
        raise Trouble(f"The emulator named {outputs['ApiUrl']!r} as the API's URL, which has no id in it.")
    secrets = emulator.client("secretsmanager")

    def value(output: str) -> str:
        text: str = secrets.get_secret_value(SecretId=outputs[output])["SecretString"]
        return text

    return {
        "url": f"{emulator.endpoint}/_aws/lambda-url/{found[0]}/",
        "token": value("OperateTokenSecret"),
        "read_token": value("ReadTokenSecret"),
    }
