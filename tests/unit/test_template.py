"""The template grants what is needed and no more, and agrees with the library about names and defaults."""

import json
import re
from typing import Any

import pytest

from dynajobs import InvalidSettings, JobQueue, Settings, housekeeping
from dynajobs.installing import HOUSEKEEPING
from dynajobs.item import decode
from dynajobs.settings import API_AUTHS
from dynajobs.testing import create_table
from functions.demo import app as demo
from functions.example import app as example
from tests.support import cloudformation
from tests.support.cloudformation import ROOT

TEMPLATE = cloudformation.parse((ROOT / "template.yaml").read_text())
FUNCTIONS = cloudformation.functions(TEMPLATE)
VARIABLES = TEMPLATE["Globals"]["Function"]["Environment"]["Variables"]

WRITES = {f"dynamodb:{verb}Item" for verb in ("Get", "Put", "Update", "Delete", "ConditionCheck")}
JOB_KEYS = {"job", "job#*", "job-id#*", "scheduled-job#*", "control"}
OURS = JOB_KEYS | {"schedule", "template", "audit#*"}
GRANTS: dict[str, list[tuple[set[str], str, set[str]]]] = {
    "PollerFunction": [
        ({"dynamodb:Query"}, "table", {"job", "job#*", "job-id#*", "scheduled-job#schedule#*", "control"}),
        ({"dynamodb:Query"}, "index", {"schedule-due"}),
        ({"dynamodb:BatchGetItem", "dynamodb:GetItem"}, "table", {"schedule", "template"}),
        (WRITES, "table", JOB_KEYS | {"schedule"}),
    ],
    "ExampleFunction": [
        (WRITES, "table", JOB_KEYS),
        ({"dynamodb:Query"}, "table", {"job-id#*", "scheduled-job#schedule#*"}),
        ({"dynamodb:Query"}, "index", {"job-id#*"}),
        ({"dynamodb:PutItem", "dynamodb:UpdateItem"}, "table", {"user#*"}),
    ],
    "DemoFunction": [
        (WRITES, "table", JOB_KEYS),
        ({"dynamodb:Query"}, "table", {"job-id#*", "scheduled-job#schedule#*"}),
        ({"dynamodb:Query"}, "index", {"job-id#*"}),
    ],
    "HousekeepingFunction": [
        (WRITES, "table", JOB_KEYS),
        ({"dynamodb:Query"}, "table", {"job-id#*", "scheduled-job#schedule#*"}),
        ({"dynamodb:Query"}, "index", {"job-id#*"}),
        ({"dynamodb:Query"}, "table", JOB_KEYS | {"schedule"}),
        ({"dynamodb:Query"}, "index", {"done#*"}),
        ({"dynamodb:BatchGetItem"}, "table", {"job-id#*"}),
    ],
    "ApiFunction": [
        ({"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"}, "table", OURS),
        ({"dynamodb:Query"}, "index", {"job-id#*", "done#*"}),
        (WRITES - {"dynamodb:GetItem", "dynamodb:ConditionCheckItem"}, "table", OURS - {"audit#*"}),
        ({"dynamodb:PutItem"}, "table", {"audit#*"}),
    ],
    "ProducerPolicy": [
        ((WRITES | {"dynamodb:Query"}) - {"dynamodb:DeleteItem"}, "table", JOB_KEYS),
        ({"dynamodb:Query"}, "index", {"job-id#*"}),
    ],
}
TABLE_ARN = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Table}"
THIS_TABLE = {"Table": {"Fn::If": ["CreateTable", {"Ref": "JobTable"}, {"Ref": "TableName"}]}}
RESOURCES = {
    "table": {"Fn::Sub": [TABLE_ARN, THIS_TABLE]},
    "index": {"Fn::Sub": [TABLE_ARN + "/index/${IndexName}", THIS_TABLE]},
}


def actions(statement: dict[str, Any]) -> set[str]:
    action = statement["Action"]
    return {action} if isinstance(action, str) else set(action)


def keys(statement: dict[str, Any]) -> set[str]:
    return set(statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"])


def policies() -> list[tuple[str, dict[str, Any]]]:
    holders = [*FUNCTIONS, *cloudformation.resources(TEMPLATE, "AWS::IAM::ManagedPolicy")]
    return [(name, each) for name in holders for each in cloudformation.statements(TEMPLATE, name)]


def test_cfn_lint_finds_nothing() -> None:
    assert cloudformation.lint(ROOT / "template.yaml") == ""


def test_every_reference_names_something_that_exists() -> None:
    """cfn-lint does not look into SAM resources for this."""
    parts = [TEMPLATE[part] for part in ("Conditions", "Globals", "Resources", "Outputs")]
    named = set(cloudformation.references(parts))

    assert named <= cloudformation.known(TEMPLATE)
    assert set(TEMPLATE["Parameters"]) <= named, "a parameter that nothing uses"


@pytest.mark.parametrize("holder", GRANTS)
def test_each_is_granted_exactly_what_it_needs_of_the_table(holder: str) -> None:
    granted = [
        (actions(each), each["Resource"], keys(each))
        for each in cloudformation.statements(TEMPLATE, holder)
        if each["Action"] != "lambda:InvokeFunction"
    ]

    assert granted == [(verbs, RESOURCES[where], prefixes) for verbs, where, prefixes in GRANTS[holder]]


@pytest.mark.parametrize(("holder", "statement"), policies())
def test_no_statement_is_wider_than_its_keys(holder: str, statement: dict[str, Any]) -> None:
    assert statement["Effect"] == "Allow"
    assert not any("*" in action or action.endswith("Scan") for action in actions(statement)), holder
    assert "*" not in json.dumps(statement["Resource"]), holder
    if statement["Action"] == "lambda:InvokeFunction":
        return
    condition = statement["Condition"]
    assert set(condition) == {"ForAllValues:StringLike", "Null"}
    assert condition["Null"] == {"dynamodb:LeadingKeys": "false"}, "without it a request without keys passes"
    for key in keys(statement):
        assert re.fullmatch(r"[a-z-]+(#schedule)?(#\*)?", key), f"{key} would match other people's items"


def test_only_the_poller_hands_jobs_over_and_the_api_invokes_only_the_poller() -> None:
    mapped = set(cloudformation.handler_map(TEMPLATE).values())

    assert cloudformation.invocable(TEMPLATE) == mapped
    assert mapped < set(FUNCTIONS)
    invokers = {name for name, each in policies() if each["Action"] == "lambda:InvokeFunction"}
    assert invokers == {"PollerFunction", "ApiFunction"}
    [poll] = [
        each for each in cloudformation.statements(TEMPLATE, "ApiFunction") if each["Sid"] == "PollWhenAsked"
    ]
    assert poll["Resource"] == [{"Fn::GetAtt": ["PollerFunction", "Arn"]}]


def test_the_api_reads_its_own_secrets_only_and_only_with_tokens_is_it_public() -> None:
    resources = TEMPLATE["Resources"]
    [read] = resources["TokenPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    secrets = [{"Fn::GetAtt": [name, "Id"]} for name in ("OperateToken", "ReadToken")]

    assert (read["Action"], read["Resource"]) == ("secretsmanager:GetSecretValue", secrets)
    assert resources["TokenPolicy"]["Properties"]["Roles"] == [{"Ref": "ApiFunctionRole"}]
    assert resources["ApiUrl"]["Properties"]["AuthType"] == {"Fn::If": ["WithTokens", "NONE", "AWS_IAM"]}
    for name in ("TokenPolicy", "OperateToken", "ReadToken", "ApiUrlIsPublic", "ApiIsInvokedByItsUrl"):
        assert resources[name]["Condition"] == "WithTokens", name
    variables = FUNCTIONS["ApiFunction"]["Environment"]["Variables"]
    assert variables["DYNAJOBS_API_SECRETS"]["Fn::If"][::2] == ["WithTokens", "{}"]


def test_the_auths_to_choose_from_are_the_librarys() -> None:
    assert TEMPLATE["Parameters"]["ApiAuth"]["AllowedValues"] == list(API_AUTHS)


def test_the_handler_map_covers_exactly_what_the_functions_handle() -> None:
    handled = dict.fromkeys(example.jobs.handlers, "ExampleFunction")
    tried = dict.fromkeys(demo.jobs.handlers, "DemoFunction")
    own = dict.fromkeys(housekeeping.registry(JobQueue("jobs")).handlers, "HousekeepingFunction")

    assert cloudformation.handler_map(TEMPLATE) == handled | tried | own
    assert set(own) == set(HOUSEKEEPING)
    assert set(handled) == {"daily_summary", "user_sync"}
    assert set(tried) == {"demo.slow", "demo.fail"}


def test_a_deployment_has_nothing_of_the_demo_unless_it_asks_for_it() -> None:
    variables = FUNCTIONS["PollerFunction"]["Environment"]["Variables"]
    text, parts = variables["DYNAJOBS_HANDLERS"]["Fn::Sub"]
    [hand_over] = [
        each for each in cloudformation.statements(TEMPLATE, "PollerFunction") if each["Sid"] == "HandOver"
    ]
    conditional = [each["Fn::If"] for each in hand_over["Resource"] if "Fn::If" in each]

    assert TEMPLATE["Parameters"]["Demo"]["Default"] == "false"
    assert TEMPLATE["Conditions"]["WithDemo"] == {"Fn::Equals": [{"Ref": "Demo"}, "true"]}
    for name, each in TEMPLATE["Resources"].items():
        assert (each.get("Condition") == "WithDemo") == name.startswith("Demo"), name
    assert [part["Fn::If"][::2] for part in parts.values()] == [["WithDemo", ""]]
    assert set(json.loads(text.replace("${Demo}", ""))) == {*example.jobs.handlers, *HOUSEKEEPING}
    assert [each[::2] for each in conditional] == [["WithDemo", {"Ref": "AWS::NoValue"}]]


def test_defaults_are_the_librarys() -> None:
    environment = {
        name: str(cloudformation.with_defaults(TEMPLATE, value))
        for name, value in VARIABLES.items()
        if name != "DYNAJOBS_TABLE"
    }

    assert Settings.from_env(environment) == Settings()


def test_every_variable_is_a_setting() -> None:
    fields = {f"DYNAJOBS_{name.upper()}" for name in Settings.__dataclass_fields__}
    own = [name for each in FUNCTIONS.values() for name in each.get("Environment", {}).get("Variables", {})]

    assert {name for name in [*VARIABLES, *own] if name != "SENTRY_DSN"} <= fields - {"DYNAJOBS_SENTRY_DSN"}


@pytest.mark.parametrize(
    ("variable", "parameter"),
    [
        (name, value["Ref"])
        for name, value in VARIABLES.items()
        if TEMPLATE["Parameters"].get(value.get("Ref"), {}).get("Type") == "Number"
    ],
)
def test_deployment_refuses_the_numbers_that_the_library_refuses(variable: str, parameter: str) -> None:
    low, high = (TEMPLATE["Parameters"][parameter][f"{bound}Value"] for bound in ("Min", "Max"))

    for accepted in (low, high):
        Settings.from_env({variable: str(accepted)})
    for refused in (low - 1, high + 1):
        with pytest.raises(InvalidSettings, match=variable):
            Settings.from_env({variable: str(refused)})


def test_lambda_repeats_no_event_and_drops_late_ones() -> None:
    """Every function is invoked asynchronously: the poller by EventBridge, handlers by the poller."""
    once = {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}

    assert TEMPLATE["Globals"]["Function"]["EventInvokeConfig"] == once
    assert not any("EventInvokeConfig" in properties for properties in FUNCTIONS.values())
    tick = FUNCTIONS["PollerFunction"]["Events"]["Tick"]["Properties"]
    assert tick == {"Schedule": "rate(1 minute)", "RetryPolicy": once}


def test_every_function_logs_to_a_group_of_its_own_that_forgets() -> None:
    groups = cloudformation.resources(TEMPLATE, "AWS::Logs::LogGroup")

    assert {each["LoggingConfig"]["LogGroup"]["Ref"] for each in FUNCTIONS.values()} == set(groups)
    assert len(groups) == len(FUNCTIONS)
    for group in groups.values():
        assert group["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def test_every_function_has_its_folder_and_every_folder_its_function() -> None:
    folders = {f"functions/{path.parent.name}" for path in (ROOT / "functions").glob("*/app.py")}

    assert {each["CodeUri"] for each in FUNCTIONS.values()} == folders
    assert TEMPLATE["Globals"]["Function"]["Handler"] == "app.handler"


def test_the_table_is_the_one_tests_use(moto_client: Any, table_name: str) -> None:
    create_table(moto_client, table_name)
    tested = moto_client.describe_table(TableName=table_name)["Table"]
    deployed = cloudformation.with_defaults(TEMPLATE, TEMPLATE["Resources"]["JobTable"]["Properties"])

    def by_name(attributes: list[dict[str, str]]) -> list[dict[str, str]]:
        return sorted(attributes, key=lambda each: each["AttributeName"])

    assert deployed["KeySchema"] == tested["KeySchema"]
    assert by_name(deployed["AttributeDefinitions"]) == by_name(tested["AttributeDefinitions"])
    assert deployed["GlobalSecondaryIndexes"] == [
        {key: index[key] for key in ("IndexName", "KeySchema", "Projection")}
        for index in tested["GlobalSecondaryIndexes"]
    ]
    assert deployed["BillingMode"] == tested["BillingModeSummary"]["BillingMode"]
    ttl = moto_client.describe_time_to_live(TableName=table_name)["TimeToLiveDescription"]
    assert deployed["TimeToLiveSpecification"] == {"AttributeName": ttl["AttributeName"], "Enabled": True}


def test_the_stream_tells_what_a_job_was_and_is() -> None:
    table = TEMPLATE["Resources"]["JobTable"]["Properties"]

    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}


def test_only_new_live_jobs_and_schedules_wake_the_poller() -> None:
    mapping = TEMPLATE["Resources"]["NewJobs"]["Properties"]
    jobs, schedules = (json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"])

    assert schedules == {"eventName": ["INSERT"], "dynamodb": {"Keys": {"PK": {"S": ["schedule"]}}}}
    assert jobs == {
        "eventName": ["INSERT"],
        "dynamodb": {
            "Keys": {"PK": {"S": ["job", {"prefix": "job#"}]}, "SK": {"S": [{"prefix": "scheduled#"}]}}
        },
    }
    assert mapping["FunctionName"] == {"Ref": "PollerFunction"}


def test_a_record_that_fails_holds_up_the_stream_for_a_minute_at_most() -> None:
    mapping = TEMPLATE["Resources"]["NewJobs"]["Properties"]

    assert mapping["BisectBatchOnFunctionError"] is True
    assert mapping["MaximumRetryAttempts"] <= 3
    assert mapping["MaximumRecordAgeInSeconds"] == 60
    assert mapping["StartingPosition"] == "LATEST"


def test_the_poller_may_read_the_stream_and_wake_itself_and_nothing_else() -> None:
    stream = {"Fn::If": ["CreateTable", {"Fn::GetAtt": ["JobTable", "StreamArn"]}, {"Ref": "StreamArn"}]}
    granted = [
        (name, actions(statement), statement["Resource"])
        for name in ("WakePolicy", "StreamPolicy")
        for statement in TEMPLATE["Resources"][name]["Properties"]["PolicyDocument"]["Statement"]
    ]

    assert granted == [
        ("WakePolicy", {"lambda:InvokeFunction"}, {"Fn::GetAtt": ["PollerFunction", "Arn"]}),
        (
            "StreamPolicy",
            {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"},
            stream,
        ),
        ("StreamPolicy", {"dynamodb:ListStreams"}, "*"),  # it knows no narrower one
    ]
    for name in ("WakePolicy", "StreamPolicy"):
        assert TEMPLATE["Resources"][name]["Properties"]["Roles"] == [{"Ref": "PollerFunctionRole"}]


def test_without_a_stream_there_is_nothing_of_it() -> None:
    for name in ("StreamPolicy", "NewJobs"):
        assert TEMPLATE["Resources"][name]["Condition"] == "WithStream"


def test_the_table_survives_the_stack_and_accidents() -> None:
    table = TEMPLATE["Resources"]["JobTable"]

    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert table["Condition"] == "CreateTable"
    assert table["Properties"]["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["Properties"]["SSESpecification"] == {"SSEEnabled": True}


def test_the_secret_is_not_echoed() -> None:
    assert TEMPLATE["Parameters"]["SentryDsn"]["NoEcho"] is True


def test_sample_events_have_the_shapes_that_arrive() -> None:
    tick, invocation, stream = (
        json.loads((ROOT / "events" / f"{name}.json").read_text())
        for name in ("poller-tick", "job-invocation", "dynamodb-stream-insert")
    )

    assert (tick["source"], tick["detail-type"]) == ("aws.events", "Scheduled Event")
    assert set(invocation) == {"pk", "sk", "job_id", "token"}
    image = stream["Records"][0]["dynamodb"]["NewImage"]
    job = decode(image, Settings())
    assert (image["PK"]["S"], image["SK"]["S"], job.id) == (
        invocation["pk"],
        invocation["sk"],
        invocation["job_id"],
    )
