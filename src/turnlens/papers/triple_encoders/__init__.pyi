# What the room offers beside its modules, at run time as well (see __init__.py).

from . import planning as planning
