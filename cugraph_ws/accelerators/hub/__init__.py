"""The host hub: GPUs of one host exchange through its memory; each outbox crosses the bus once."""

from __future__ import annotations

from cugraph_ws.contract import Accelerator, HostLinks

__all__ = ["ACCELERATOR"]


def _host_links() -> HostLinks:
    from cugraph_ws.accelerators.hub.links import HubLinks

    return HubLinks


ACCELERATOR = Accelerator(
    name="hub",
    bits="same",
    memory="segments of at most half of the host's free shared memory, as long as workers keep the links",
    first_call="four kernels that read outboxes",
    page="044-the-host-hub.md",
    host_links=_host_links,
)
