"""The explorer and its API on Ray Serve: the same app, in as many replicas as there is work for.

deploy/ray_serve.yaml names `build`, which gives Ray what it needs. A replica loads its models when it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpn2f.errors import ConfigError

KNOWN = ("models", "data", "domain", "threads")
NAME = "explorer"
"""What the deployment is called in the file."""


def build(arguments: Mapping[str, Any]) -> Any:
    """The application of Ray Serve. `models` are names or folders with spaces between; without any, all bundled ones.

    How many replicas there are is said in the file. Code that a model names is not run.
    """
    unknown = sorted(set(arguments) - set(KNOWN))
    if unknown:
        raise ConfigError(f"ray_serve.yaml: there is no argument {unknown[0]}; there are {', '.join(KNOWN)}")
    try:
        from ray import serve
    except ImportError as error:
        raise ConfigError("Ray Serve is not installed: pip install 'tpn2f[ray]'") from error
    given = dict(arguments)

    def make() -> Any:
        """In the replica."""
        return make_replica(given)

    deployment: Any = serve.deployment(serve.ingress(make)(), name=NAME)
    return deployment.bind()


def make_replica(arguments: Mapping[str, Any]) -> Any:
    """The app of one replica."""
    from pathlib import Path

    import torch

    from tpn2f.web.app import make_app
    from tpn2f.web.shelf import load_models

    torch.set_num_threads(int(arguments.get("threads", 1)))
    data = arguments.get("data")
    models = str(arguments.get("models") or "").split()
    return make_app(load_models(models, None if data is None else Path(str(data)), arguments.get("domain")))
