# What `turnlens.service` offers, at run time as well (see __init__.py).

from .app import create_app as create_app
from .settings import ServiceSettings as ServiceSettings
