"""The API server over HTTP/1.1 at less than half the processor time of a general client.

It sends one request at a time on a connection and reads what an API server answers. Anything else is an error, and that
connection is not used again.

- `http`: the transport that clients use, over TLS
- `response`, `head`, `chunks`: the bytes of a response become a status, headers and a body
- `dial`: a connection is made, through a proxy where one is set
- `connection`: one connection, for requests in turn or for a watch
- `pool`: many of them, kept for the next request
"""
