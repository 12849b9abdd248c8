"""The application: middleware, routes and errors around one `Service`."""

from __future__ import annotations

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from fastapi_swagger import patch_fastapi
from starlette.middleware import Middleware

import turnlens
from turnlens.service.answers import Answers
from turnlens.service.authentication import Authentication
from turnlens.service.bodies import LONGEST_AT_ONCE, Bodies
from turnlens.service.endpoints import access, add_endpoints
from turnlens.service.errors import add_error_handlers
from turnlens.service.keys import read_keys
from turnlens.service.observing import Observing
from turnlens.service.rate_limits import RateLimiter
from turnlens.service.service import Service
from turnlens.service.settings import ServiceSettings


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """The service as an ASGI application, for any server: ``uvicorn --factory turnlens.service:create_app``.

    The model is loaded when the server starts the application, once in each process. So run a single process for each
    server, and a single server on each device.

    Args:
        settings: The settings; by default they are read from the environment, as ``TURNLENS_<NAME>``.

    Raises:
        ValueError: A setting or the file of keys is wrong.
        OSError: The file of keys cannot be read.
    """
    settings = settings or ServiceSettings()
    service = Service(settings)
    keys = read_keys(settings.keys) if settings.keys is not None else None
    app = FastAPI(
        title="turnlens",
        version=turnlens.__version__,
        summary="Embeddings, search and next replies of conversations",
        lifespan=service.running,
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        redirect_slashes=False,
        # This only describes the keys for the documentation; `Authentication` checks them before every route.
        dependencies=[Depends(HTTPBearer(auto_error=False))],
        middleware=[
            Middleware(Observing, service.metrics, settings.log_paths),
            Middleware(Authentication, keys, access, RateLimiter()),
            Middleware(Answers, LONGEST_AT_ONCE * settings.max_body_bytes),
            Middleware(Bodies, settings.max_body_bytes, settings.max_requests, service.metrics.left.inc),
        ],
    )
    app.state.service = service
    add_error_handlers(app)
    add_endpoints(app)
    patch_fastapi(app, redirect_from_root_to_docs=False)  # /docs, with a script that comes with the package
    return app
