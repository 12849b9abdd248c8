from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlens.service import ServiceSettings, create_app
from turnlens.service.keys import Key, RateLimiter, find_key, hash_key, new_key, read_keys

from .server import Running, run_server

# Who may use each route. Written down here as well: a new one fails until it has been thought about twice.
SCOPES = {
    ("GET", "/health/live"): None,
    ("GET", "/health"): "read",
    ("GET", "/metrics"): "admin",
    ("GET", "/"): "read",
    ("GET", "/docs"): "read",
    ("GET", "/swagger/swagger-ui-bundle.js"): "read",
    ("GET", "/swagger/swagger-ui.css"): "read",
    ("GET", "/swagger/favicon-32x32.png"): "read",
    ("GET", "/openapi.json"): "read",
    ("GET", "/v1/models"): "read",
    ("POST", "/v1/embeddings"): "read",
    ("POST", "/v1/rerank"): "read",
    ("POST", "/v1/next"): "read",
    ("POST", "/v1/search"): "read",
    ("POST", "/v1/label"): "read",
    ("POST", "/mcp"): "read",
    ("GET", "/mcp"): "read",
    ("GET", "/v1/stores"): "read",
    ("POST", "/v1/conversations"): "write",
    ("GET", "/v1/conversations/{id:text}"): "read",
    ("DELETE", "/v1/conversations/{id:text}"): "write",
}
ROUTES = sorted(
    (method, route.path)  # type: ignore[attr-defined]
    for route in create_app(ServiceSettings()).routes
    for method in route.methods  # type: ignore[attr-defined]
)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    path = tmp_path_factory.mktemp("keys") / "keys.toml"
    secrets = {scope: new_key(path, f"only-{scope}", [scope]) for scope in ("read", "write", "admin")}
    secrets["slow"] = new_key(path, "slow", ["read"], requests_per_minute=2)
    return {**secrets, "path": str(path)}


@pytest.fixture(scope="module")
def guarded(tiny_encoder_path: Path, keys: dict[str, str]) -> Iterator[Running]:
    with run_server(model=str(tiny_encoder_path), model_name="tiny", keys=keys["path"]) as server:
        yield server


def test_all_routes_are_known() -> None:
    assert {("GET" if method == "HEAD" else method, path) for method, path in ROUTES} == set(SCOPES)


@pytest.mark.parametrize("key", ["none", "wrong", "empty", "read", "write", "admin"])
def test_a_route_needs_a_key_with_its_scope(guarded: Running, keys: dict[str, str], key: str) -> None:
    sent = {"none": None, "wrong": "tw-" + "A" * 43, "empty": ""}.get(key, keys.get(key))
    headers = {} if sent is None else {"Authorization": f"Bearer {sent}".strip()}
    with guarded.client() as client:
        for method, path in ROUTES:
            response = client.request(method, path.replace("{id:text}", "nobody"), headers=headers)
            scope = SCOPES["GET" if method == "HEAD" else method, path]
            if scope is None or key == scope:
                assert response.status_code not in (401, 403), (method, path)
            elif key in ("none", "wrong", "empty"):
                assert response.status_code == 401, (method, path)
                assert response.headers["WWW-Authenticate"] == "Bearer"
            else:
                assert response.status_code == 403, (method, path)


def test_unknown_paths_need_a_key(guarded: Running, keys: dict[str, str]) -> None:
    with guarded.client() as client, guarded.client(keys["read"]) as reader, guarded.client(keys["admin"]) as admin:
        for path in ("/docs/", "/%2Fdocs", "/DOCS", "/v1/embeddings/", "/v1/../metrics", "/redoc"):
            assert client.get(path).status_code == 401, path
            assert reader.get(path).status_code in (403, 404), path  # the client itself may shorten /v1/..
            assert admin.get(path).status_code in (200, 404), path


def test_other_methods_need_a_key(guarded: Running, keys: dict[str, str]) -> None:
    headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    with guarded.client() as client, guarded.client(keys["read"]) as reader:
        for method in ("PUT", "PATCH", "OPTIONS", "TRACE", "FOO"):
            assert client.request(method, "/v1/embeddings", headers=headers).status_code == 401, method
            answer = reader.request(method, "/v1/embeddings", headers=headers)
            assert answer.status_code == 404, method
            assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_only_a_bearer_is_taken(guarded: Running, keys: dict[str, str]) -> None:
    with guarded.client() as client:
        for kind, status in (("Basic", 401), ("bearer", 200), ("Token", 401)):
            response = client.get("/v1/models", headers={"Authorization": f"{kind} {keys['read']}"})
            assert response.status_code == status, kind


def test_requests_of_a_key_are_limited(guarded: Running, keys: dict[str, str]) -> None:
    with guarded.client(keys["slow"]) as client:
        answers = [client.get("/v1/models") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 30


def test_the_bucket_of_a_key_fills_with_time() -> None:
    now = 0.0
    limiter = RateLimiter(lambda: now)
    key = Key("a", "0" * 64, frozenset({"read"}), requests_per_minute=2)
    other = Key("b", "1" * 64, frozenset({"read"}), requests_per_minute=2)
    assert [limiter.wait_for(key) for _ in range(3)] == [0, 0, 30]
    assert limiter.wait_for(other) == 0
    now = 10.0
    assert limiter.wait_for(key) == pytest.approx(20)
    now = 30.0
    assert limiter.wait_for(key) == 0
    now = 1000.0  # no more than a minute's worth is saved up
    assert [limiter.wait_for(key) for _ in range(3)] == [0, 0, 30]


def test_the_file_holds_hashes_only(keys: dict[str, str]) -> None:
    text = Path(keys["path"]).read_text()
    assert hash_key(keys["read"]) in text and keys["read"] not in text
    assert Path(keys["path"]).stat().st_mode & 0o077 == 0
    hits = find_key(read_keys(Path(keys["path"])), keys["slow"])
    assert hits == Key("slow", hash_key(keys["slow"]), frozenset({"read"}), None, 2)


WRONG_FILES = [
    ("keys = 3", "expected tables"),
    ("", "expected tables"),
    ("[[keys]]", "has no 'scopes'"),
    ('[[keys]]\nname = "a"\nsha256 = "secret"\nscopes = ["read"]', "64 hexadecimal digits: the hash"),
    (f'[[keys]]\nname = "a"\nsha256 = "{"0" * 64}"\nscopes = ["all"]', "scopes must be some of"),
    (f'[[keys]]\nname = "a"\nsha256 = "{"0" * 64}"\nscopes = []', "got none"),
    (f'[[keys]]\nname = "a"\nsha256 = "{"0" * 64}"\nscopes = "read"', "list of texts"),
    (f'[[keys]]\nname = "a"\nsha256 = "{"0" * 64}"\nscopes = ["read"]\nscope = "x"', "unexpected keyword"),
    (f'[[keys]]\nname = "a b"\nsha256 = "{"0" * 64}"\nscopes = ["read"]', "must be letters"),
    (2 * f'[[keys]]\nname = "a"\nsha256 = "{"0" * 64}"\nscopes = ["read"]\n', "several keys are named a"),
    ("[[keys", "keys.toml: "),
]


def test_a_wrong_key_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    for text, message in WRONG_FILES:
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            create_app(ServiceSettings(keys=path))


def test_without_keys_only_local_names_are_served(running: Running) -> None:
    with running.client() as client:
        assert client.get("/v1/models").status_code == 200
        for host in ("localhost:80", "LOCALHOST", "[::1]:8000", "127.0.0.1"):
            assert client.get("/v1/models", headers={"Host": host}).status_code == 200, host
        for host in (
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "[::2]:8000",
        ):
            assert client.get("/v1/models", headers={"Host": host}).status_code == 403, host
        # As a proxy on this machine says of a client elsewhere.
        assert client.get("/v1/models", headers={"X-Forwarded-For": "203.0.113.7"}).status_code == 403
