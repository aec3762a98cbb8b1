"""Values of the options that belong to the process. `pdanon.config` sets them."""

from __future__ import annotations

from typing import Any

SETTINGS: dict[str, Any] = {"progress": False, "threads": None}
