"""The Remote Execution API, version 2: a server keeps blobs, and has its workers do actions."""

from fleet.engines.reapi.opening import open_reapi

__all__ = ["open_reapi"]
