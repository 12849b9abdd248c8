"""Prints the tests that were skipped, a line each, from a report that pytest wrote as XML (``junit_family=xunit1``).

Pytest reads such lines from a file: ``pytest @skipped.txt``.
"""

import sys
from xml.etree import ElementTree

for case in ElementTree.parse(sys.argv[1]).iter("testcase"):
    if case.find("skipped") is None:
        continue
    file, classes = case.attrib["file"], case.attrib["classname"]
    if not classes:  # the whole file was skipped
        print(file)
        continue
    inside = classes.removeprefix(file.removesuffix(".py").replace("/", ".")).strip(".")
    print("::".join([file, *filter(None, inside.split(".")), case.attrib["name"]]))
