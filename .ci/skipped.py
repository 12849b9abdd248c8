"""Prints the files of tests that were skipped, from a report that pytest wrote as XML (``junit_family=xunit1``)."""

import sys
from xml.etree import ElementTree

cases = ElementTree.parse(sys.argv[1]).iter("testcase")
print(*sorted({case.attrib["file"] for case in cases if case.find("skipped") is not None}))
