import io
import json
import shlex
import sys
from pathlib import Path

import pytest
from datasets import config

import turnlens

from .command_line import fail, run, succeed

TICKETS = """Case,Author Type,Comment Body,Created At,Priority
C-1,customer,"My card is lost, write to jane@x.org please",05/31/2024 10:00,high
C-1,agent,I will block it at once.,05/31/2024 10:05,high
C-2,customer,你好，我的包裹在哪里？,06/01/2024 9:00,low
C-1,customer,Thank you!,05/31/2024 10:07,high
C-1,customer,Thank you!,05/31/2024 10:08,high
C-2,agent,,06/01/2024 9:30,low
C-2,agent,Tomorrow.,06/01/2024 9:40,low
"""
COLUMNS = "conversation=Case,speaker=Author Type,text=Comment Body,time=Created At"


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    path = tmp_path / "tickets.csv"
    path.write_text(TICKETS, encoding="utf-8")
    return path


def test_columns_without_doubt_are_read_and_told(tickets) -> None:
    result = run("inspect", tickets)
    output = " ".join(result.output.split())
    assert result.exit_code == 0 and f"{tickets}: read with --columns '{COLUMNS}'" in output
    assert "The first conversation, C-1: customer: My card is lost" in output
    assert f"turnlens explore {tickets} --columns '{COLUMNS}'" in output
    (tickets.parent / "more.csv").write_text(TICKETS.replace("C-", "D-"), encoding="utf-8")
    assert f"explore {tickets.parent} --columns" in " ".join(run("inspect", tickets.parent).output.split())


def test_an_unknown_layout_gets_the_command_that_reads_it(tickets) -> None:
    tickets.write_text(TICKETS.replace("Author Type", "Whose").replace("Comment Body", "Wording"), encoding="utf-8")
    result = run("inspect", tickets)
    output = " ".join(result.output.split())
    columns = COLUMNS.replace("Author Type", "Whose").replace("Comment Body", "Wording")
    assert result.exit_code == 1 and "Traceback" not in output
    assert "Wording │ My card is lost" in output
    assert "The first conversation would be: customer: My card is lost" in output
    assert f"inspect {tickets} --columns '{columns}'" in output.replace("\n", "")
    assert "would be" not in run("inspect", tickets, "--columns", columns).output
    assert "Known layouts" not in output and "Known layouts" in run("inspect", tickets, "-v").output


def test_in_a_mixed_folder_the_advice_is_for_its_file(tickets) -> None:
    chat = {"id": "1", "messages": [{"role": "user", "content": "Hello"}]}
    (tickets.parent / "a.jsonl").write_text(json.dumps(chat), encoding="utf-8")
    result = run("inspect", tickets.parent)
    assert f"turnlens inspect {tickets} --columns '{COLUMNS}'" in " ".join(result.output.split())
    assert result.exit_code == 1


def test_a_chat_without_ids_is_suggested_in_parts(tmp_path) -> None:
    said = [f"2026-01-0{day} 10:0{n},{'ab'[n % 2]},yes it is {n}\n" for day in (1, 2) for n in range(4)]
    path = tmp_path / "chat.csv"
    path.write_text(f"Date,User,Message\n{''.join(said)}", encoding="utf-8")
    output = " ".join(run("inspect", path).output.split())
    assert "This reads it, as one chat cut by day:" in output
    assert f"inspect {path} --columns speaker=User,text=Message,time=Date --split-by day" in output
    path.write_text("Date,User,Message\n" + "".join(said[:2]), encoding="utf-8")
    assert "This reads it as one conversation: turnlens inspect" in " ".join(run("inspect", path).output.split())


def test_an_unknown_layout_without_a_guess_says_how_to_name_columns(tmp_path) -> None:
    (tmp_path / "numbers.csv").write_text("just,some,columns\n1,2,3\n", encoding="utf-8")
    result = run("inspect", tmp_path / "numbers.csv")
    output = " ".join(result.output.split())
    assert result.exit_code == 1 and "name its columns with --columns 'conversation=…,speaker=…,text=…'" in output


def test_what_a_file_holds(tickets, tmp_path) -> None:
    output = succeed("inspect", tickets, "--columns", COLUMNS, "--output", tmp_path / "counts.json")
    for told in ("customer (4), agent (3)", "label Priority", "1 emails in 1 messages", "en 50 %, zh 50 %"):
        assert told in output
    assert "customer: My card is lost, write to jane@x.org" in output
    given = f"{tickets} --columns '{COLUMNS}' --redact emails"
    assert output.endswith(f"Next: turnlens explore {given}\n  or: turnlens train {given} --output model\n")
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert (counts["conversations"], counts["messages"], counts["empty_messages"]) == (2, 7, 1)
    assert counts["turns_per_conversation"] == {"least": 3, "median": 3, "mean": 3.5, "ninth_decile": 4, "most": 4}
    assert counts["conversation_labels"]["Priority"]["most_frequent"] == {"high": 1, "low": 1}
    assert counts["repeated"] == {"ids": 0, "conversations": 0, "messages": 1}
    assert counts["messages_by_the_same_speaker_again"] == 2
    assert counts["personal_data"]["emails"] == {"found": 1, "messages": 1, "labels": []}
    assert counts["tokens"] == 10 + 6 + 2 + 2 + 9 + 1


def test_another_language_gets_the_command_that_helps(tmp_path) -> None:
    rows = "\n".join(f"{row},kunde,Meine Bestellung ist leider noch nicht angekommen." for row in range(5))
    (tmp_path / "tickets.csv").write_text(f"conversation,speaker,text\n{rows}\n", encoding="utf-8")
    output = " ".join(succeed("inspect", tmp_path / "tickets.csv").split())
    assert "Most conversations are not in English (de 100 %)" in output
    assert f"turnlens explore {tmp_path / 'tickets.csv'} --model intfloat/multilingual-e5-small" in output


def test_nothing_that_is_inspected_is_kept(tickets, tmp_path) -> None:
    succeed("inspect", tickets, "--columns", COLUMNS)
    assert not [path for path in Path(config.HF_DATASETS_CACHE).rglob("*") if path.is_file()]


def test_what_is_redacted_is_shown_redacted(tickets) -> None:
    output = succeed("inspect", tickets, "--columns", COLUMNS, "--redact", "all")
    assert "write to [email] please" in output and "jane" not in output and "personal data" not in output
    assert "people's names and postal addresses" in output  # which are not found


CALLS = """call_id,role,text,Agent Name,Customer Type,start
1,agent,"write to jane@x.org",Jane Doe,New,4155552671.25
1,customer,thanks,,New,4155552672.5
2,agent,hello,Zoë O'Hara,Loyal,4155552673.75
2,customer,bye,Zoë O'Hara,Loyal,4155552674.0
"""


def test_suggestions_tell_nothing_about_dates_of_their_own_sample(tmp_path, caplog) -> None:
    rows = [
        f"{n % 9},{who},some words of {who} {n},0{n % 9 + 1}/02/2026 09:46" for n in range(27) for who in ("a", "b")
    ]
    path = tmp_path / "odd.csv"
    path.write_text("\n".join(["zzz,From,Body,Opened", *rows]), encoding="utf-8")
    assert "time=Opened" in run("inspect", path).output
    assert [record.args[0] for record in caplog.records if "dates such as" in record.getMessage()] == [str(path)]


def test_examples_of_an_unknown_layout_are_redacted(tmp_path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("qqq,zzz\njane@x.org,bob@x.org wrote\nann@x.org,ann@x.org wrote\n", encoding="utf-8")
    plain, redacted = (run("inspect", path, *more).output for more in ((), ("--redact", "all")))
    assert "jane@x.org" in plain and "@x.org" not in redacted and "[email] wrote" in redacted


@pytest.mark.parametrize("redact", [(), ("--redact", "all")])
def test_labels_with_names_of_people_are_offered_to_be_ignored(redact, tmp_path) -> None:
    path, counts = tmp_path / "calls.csv", tmp_path / "counts.json"
    path.write_text(CALLS, encoding="utf-8")
    output = " ".join(succeed("inspect", path, *redact, "--output", counts).split())
    assert "label Agent Name (--columns 'ignore=Agent Name' leaves it out)" in output
    assert json.loads(counts.read_text())["labels_with_names"] == ["Agent Name"]
    (_, command) = output.split(" or: turnlens train ")
    read = shlex.split(command.removesuffix(" --output model"))
    assert read[-4:-2] == ["--columns", "ignore=Agent Name"] and read[-2] == "--redact"
    again = succeed("inspect", *read)
    assert "Agent Name" not in again.replace("ignore=Agent Name", "") and "names of people" not in again


def test_names_are_no_matter_where_nothing_is_redacted(tmp_path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text(CALLS.replace("jane@x.org", "me"), encoding="utf-8")
    assert "ignore=" not in succeed("inspect", path)


def test_a_format_without_columns_is_told_of_a_file_of_names(tmp_path) -> None:
    rows = [{"messages": [{"role": "user", "content": "hello", "name": "Jane Doe"}]}]
    (tmp_path / "chat.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    output = " ".join(succeed("inspect", tmp_path / "chat.jsonl", "--redact", "all").split())
    assert "label name (--redact names=FILE replaces those in a file, one a line)" in output and "ignore=" not in output


def test_times_of_speech_are_no_telephone_numbers(tmp_path) -> None:
    segments = [{"start": 123.4567891, "end": 124.4567891, "text": "Hello."}]
    (tmp_path / "call.json").write_text(json.dumps({"segments": segments, "language": "en"}), encoding="utf-8")
    succeed("inspect", tmp_path / "call.json", "--output", tmp_path / "counts.json")
    answer = json.loads((tmp_path / "counts.json").read_text())["personal_data"]["phones"]
    assert answer == {"found": 0, "messages": 0, "labels": []}


def test_the_columns_that_were_found_are_shown(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("session_id,from,message\n1,a,x\n1,b,y\n")
    assert "conversation=session_id,speaker=from,text=message" in succeed("inspect", path)


def test_columns_and_redaction_are_options_wherever_conversations_are_read(
    tickets, tiny_encoder_path, tmp_path
) -> None:
    how = ("--columns", COLUMNS, "--redact", "emails")
    with tickets.open("a", encoding="utf-8") as file:
        for turn in range(5):
            file.write(f"C-3,{('customer', 'agent')[turn % 2]},word {turn},06/02/2024 9:0{turn},low\n")
    model, replies = tmp_path / "model", ("--candidates", tickets, "--conversation", tickets)
    short = ("--encoder", tiny_encoder_path, "--max-steps", 1, *how, "--output")
    succeed("train", tickets, "--method", "adaptation", *short, tmp_path / "adapted")
    output = succeed("train", tickets, "--method", "single-vector", *short, model)
    assert "Training takes less than a minute." in output
    assert "Learned from 3 of 3 conversations; left out: none." in output and "1 steps in 0:0" in output
    assert f"Wrote {model}. Next: turnlens evaluate {model} test.jsonl --task semantic-retrieval" in output
    assert "SingleVector: step 1/1, loss" in output
    output = succeed("reply", model, *replies, *how)
    assert "[email]" in output and "jane" not in output
    assert "jane" not in succeed("papers", "plan", model, *replies, "--goal", "blocked", *how)
    figures = ("--output", "-")
    assert json.loads(standard_output("evaluate", model, tickets, "--task", "next-message", *how, *figures))
    assert "[email]" in standard_output("embed", tickets, "--model", model, *how, "--output", "-")


def standard_output(*arguments: object, given: str | bytes = "") -> str:
    result = run(*arguments, given=given)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_conversations_go_through_a_pipe(chats) -> None:
    converted = standard_output("convert", "-", "--output", "-", given=chats.read_bytes())
    rows = [json.loads(line) for line in converted.splitlines()]
    assert rows == [
        {**row, "messages": [{key: value for key, value in m.items() if value is not None} for m in row["messages"]]}
        for row in turnlens.sample_conversations(30).to_list()
    ]
    counts = json.loads(standard_output("inspect", "-", "--output", "-", "--columns", COLUMNS, given=TICKETS))
    assert counts["conversations"] == 2
    assert "the standard input is empty" in fail("convert", "-", "--output", "-")


def test_a_terminal_is_no_input(monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    from turnlens.formats.input_files import standard_input

    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(turnlens.ConversationError, match="is a terminal"):
        standard_input()


def test_what_messages_without_a_text_hold_is_shown(tmp_path) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look_up"}}]}
    (tmp_path / "calls.jsonl").write_text(json.dumps({"messages": [call, {"role": "user", "content": ""}]}) + "\n")
    output = " ".join(succeed("inspect", tmp_path / "calls.jsonl").split())
    assert "assistant: [tool_calls] " in output and "look_up" in output and "user: (no text)" in output
    assert "No message has a text, so there is nothing to group" in output and "Next:" not in output


def test_the_version() -> None:
    assert succeed("--version") == f"turnlens {turnlens.__version__}\n"


def test_quiet_shows_results_only_and_verbose_more(chats, tmp_path, caplog) -> None:
    assert succeed("convert", chats, "--output", tmp_path / "quiet.jsonl", "--quiet") == ""
    assert succeed("convert", chats, "--output", tmp_path / "normal.jsonl").startswith("Wrote 30")
    assert "exists already" in fail("convert", chats, "--output", tmp_path / "normal.jsonl", "-q")
    assert not caplog.messages
    succeed("convert", chats, "--output", tmp_path / "again.jsonl", "--verbose")
    assert f"reading {chats} as chat" in caplog.text


def test_many_times_are_told_by_the_first_and_the_last(tmp_path) -> None:
    rows = "".join(f"{n // 3},{'ab'[n % 2]},word {n},2024-05-31 10:{n:02}\n" for n in range(9))
    (tmp_path / "t.csv").write_text(f"session_id,from,message,timestamp\n{rows}")
    output = " ".join(succeed("inspect", tmp_path / "t.csv").split())
    assert "9 given: from 2024-05-31T10:00:00" in output and "to 2024-05-31T10:08:00" in output
