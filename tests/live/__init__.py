"""The relay with real sockets, clients and servers, all on loopback."""
