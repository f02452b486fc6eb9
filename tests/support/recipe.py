"""The steps of docs/deploy.md for a new function, carried out on the template's text."""


def insert(text: str, lines: str, *, below: str) -> str:
    """The text with lines put below the one place that is meant."""
    assert text.count(below) == 1, f"{below!r} is not one place"
    return text.replace(below, below + lines)


def add_functions(template: str, *, resources: str, mapped: str, invoked: str) -> str:
    """Paste the resources (step 2), name them in the handler map (3) and let the poller invoke them (4)."""
    head, tail = template.split("\nOutputs:\n")
    text = f"{head}\n{resources}Outputs:\n{tail}"
    text = insert(text, mapped, below="DYNAJOBS_HANDLERS: !Sub\n            - |\n              {\n")
    head, tail = text.split("Sid: HandOver\n")
    hand_over, rest = tail.split("\n\n", 1)
    hand_over = insert(hand_over, invoked, below="Resource:\n")
    return f"{head}Sid: HandOver\n{hand_over}\n\n{rest}"
