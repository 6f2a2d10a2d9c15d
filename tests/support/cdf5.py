"""CDF-5 headers byte by byte, by the grammar of docs/formats/cdf.md, for files as other programs write them."""
import struct


class Header:
    """A CDF-5 header in either byte order ("<" or ">")."""

    def __init__(self, order, records):
        self.order, self.records = order, records
        self.dimensions, self.attributes, self.variables = [], [], []

    def name(self, text):
        return struct.pack(self.order + "q", len(text)) + text.encode() + bytes(-len(text) % 4)

    def attribute(self, name, value):
        if isinstance(value, str):
            return self.name(name) + struct.pack(self.order + "iq", 2, len(value)) + value.encode() + bytes(-len(value) % 4)
        return self.name(name) + struct.pack(self.order + f"iq{len(value)}i", 4, len(value), *value)

    def entries(self, tag, entries):
        return struct.pack(self.order + "iq", tag if entries else 0, len(entries)) + b"".join(entries)

    def encode(self, places, sizes=None):
        """Sets where variables begin, and their vsizes."""
        sizes = sizes or [0] * len(places)
        dimensions = [self.name(name) + struct.pack(self.order + "q", length) for name, length in self.dimensions]
        attributes = [self.attribute(*each) for each in self.attributes]
        variables = [
            self.name(name) + struct.pack(self.order + f"q{len(ids)}q", len(ids), *ids) + self.entries(12, [self.attribute(*each) for each in own])
            + struct.pack(self.order + "iqq", kind, size, place)
            for (name, ids, own, kind), place, size in zip(self.variables, places, sizes)]
        start = b"CDF\5" + struct.pack(self.order + "q", self.records)
        return start + self.entries(10, dimensions) + self.entries(12, attributes) + self.entries(11, variables)

    def file(self, sizes=None):
        """Places variables one after another, behind the header."""
        sizes = sizes or [0] * len(self.variables)
        at, places = len(self.encode([0] * len(sizes))), []
        for size in sizes:
            places.append(at)
            at += size
        return self.encode(places)
