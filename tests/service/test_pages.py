"""Pages in a browser: the start, the documentation, and the schemas behind it."""

import re

from httpx2 import Client
from jsonschema import Draft202012Validator

from .server import Running


def test_the_start_page_lists_the_other_pages(client: Client) -> None:
    start = client.get("/").json()
    assert start["name"] == "turnlens" and "embeddings" in start["what"]
    for path in start["pages"].values():
        assert client.get(path).status_code == 200, path


def test_the_documentation_needs_no_other_server(running: Running, client: Client) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(addresses) == 3
    for address in addresses:
        assert address.startswith(running.url), address
        part = client.get(address)
        assert part.status_code == 200 and len(part.content) > 500
    assert "https:" not in page.headers["Content-Security-Policy"]


def test_every_schema_has_valid_examples(client: Client) -> None:
    described = client.get("/openapi.json").json()
    bodies = 0
    for path, methods in described["paths"].items():
        for method in methods.values():
            assert method["tags"], path
            for content in method.get("requestBody", {}).get("content", {}).values():
                name = content["schema"]["$ref"].rpartition("/")[2]
                schema = described["components"]["schemas"][name]
                assert schema["examples"], name
                validator = Draft202012Validator({**schema, "components": described["components"]})
                for example in schema["examples"]:
                    validator.validate(example)
                bodies += 1
    assert bodies == 7


def test_every_reference_of_the_schemas_leads_somewhere(client: Client) -> None:
    text = client.get("/openapi.json").text
    known = client.get("/openapi.json").json()["components"]["schemas"]
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert names and names <= known.keys()
    assert "$defs" not in text
