"""A remedy is a text everywhere, and keeps its command in copies."""

import copy
import json
import pickle

from base.wording import Remedy, command_of, type_command


def test_it_is_a_text_where_one_is_written():
    remedy = Remedy("start it: `sudo true`", "sudo true")
    assert json.dumps({"remedy": remedy}) == '{"remedy": "start it: `sudo true`"}'
    assert remedy == "start it: `sudo true`"


def test_its_command_stays_in_copies():
    remedy = Remedy("start it", "sudo true")
    for made in (copy.deepcopy(remedy), pickle.loads(pickle.dumps(remedy))):
        assert (made, command_of(made)) == (remedy, "sudo true")


def test_a_text_has_no_command_and_a_command_is_its_own_text():
    assert command_of("sudo true") == ""
    assert command_of(type_command("sudo true")) == "sudo true"
