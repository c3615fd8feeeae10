"""Everything that knows the Kubernetes API: connection settings, transport, client, watch, patches, lease, events.

Belongs here: what is said on the wire and how, the typed shapes of the objects, and a fake of the API behind the
same seam (`transport.Transport`). Does not belong here: any decision about placement, and any component's loop.
"""
