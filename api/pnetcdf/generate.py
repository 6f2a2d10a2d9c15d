#!/usr/bin/env python3
"""Writes pnetcdf.h and the sources that follow from it from tables: generate.py STATUS_DEF VERSION OUTPUT_DIRECTORY [TABLE…]

Each TABLE, in the form of functions.def, has the functions of an optional part.

pnetcdf.h      the interface for users
functions.hpp  sluice::api::ncmpi::X, the implementation of each ncmpi_X that does not transfer data
thunks.cpp     the exported functions: each one calls one guarded entry
pnetcdf.symbols  their names
dispatch.c     the same functions in the preloaded library: each one calls the client library of the process's MPI
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
TYPES = {  # suffix: (C type, MPI datatype)
    "text": ("char", "MPI_CHAR"), "schar": ("signed char", "MPI_SIGNED_CHAR"),
    "uchar": ("unsigned char", "MPI_UNSIGNED_CHAR"), "short": ("short", "MPI_SHORT"),
    "ushort": ("unsigned short", "MPI_UNSIGNED_SHORT"), "int": ("int", "MPI_INT"),
    "uint": ("unsigned int", "MPI_UNSIGNED"), "long": ("long", "MPI_LONG"), "float": ("float", "MPI_FLOAT"),
    "double": ("double", "MPI_DOUBLE"), "longlong": ("long long", "MPI_LONG_LONG_INT"),
    "ulonglong": ("unsigned long long", "MPI_UNSIGNED_LONG_LONG")}
SHAPES = {  # shape: (parameters, what it transfers)
    "var": ([], "a whole variable"), "var1": (["start"], "one element"),
    "vara": (["start", "count"], "a block"), "vars": (["start", "count", "stride"], "a strided block"),
    "varm": (["start", "count", "stride", "imap"], "a strided block from or to memory laid out by imap"),
    "varn": (["num", "starts", "counts"], "a list of blocks")}
VERBS = {"put": "Writes", "get": "Reads", "iput": "Posts a request that writes", "iget": "Posts a request that reads",
         "bput": "Posts a request that writes from the attached buffer"}
MULTI = {"mput": "put", "mget": "get"}
FLEXIBLE = ["MPI_Offset bufcount", "MPI_Datatype buftype"]
LIST = "MPI_Offset* const* "


class Output:
    """Collects the header's prototypes, the thunks, and the declarations of their implementations."""

    def __init__(self):
        self.prototypes, self.thunks, self.functions, self.symbols, self.dispatches = [], [], [], [], []

    def section(self, title):
        self.prototypes.append(f"\n/* ==== {title} ==== */\n")

    def add(self, name, parameters, body, document="", result="int"):
        symbol = name if name.startswith("cdl_hdr_") else f"ncmpi_{name}"
        declaration = f"{result} {symbol}({', '.join(parameters)})"
        self.prototypes.append((f"/* {document} */\n" if document else "") + f"{declaration};")
        self.thunks.append(f"SLUICE_EXPORT {declaration} {{ {body} }}")
        self.dispatches.append(self.dispatch(symbol, parameters, result))
        self.symbols.append(symbol)

    def dispatch(self, symbol, parameters, result):
        listed, gives_text = ", ".join(parameters), int(result != "int")
        found = f"(({result} (*)({listed}))at({len(self.symbols)}, {gives_text}))"
        return f"SLUICE_EXPORT {result} {symbol}({listed}) {{ return {found}({', '.join(names(listed.split(', ')))}); }}"


def names(parameters):
    return [re.search(r"(\w+)$", p).group(1) for p in parameters if p != "void"]


def guarded(call):
    return f"return guard([&] {{ return {call}; }});"


def fields(**members):
    return "{" + ", ".join(f".{key} = {value}" for key, value in members.items()) + "}"


def buffer_fields(ctype, mpi_type, is_put, name):
    cast = f"const_cast<{ctype}*>({name})" if is_put else name
    if mpi_type:
        return dict(buffer=cast, buffer_type=mpi_type)
    return dict(buffer=cast, buffer_count="bufcount", buffer_type="buftype")


def add_plain_functions(out, text):
    """functions.def: sections, prototypes, documentation."""
    row = re.compile(r"## (?P<section>.*)|(?P<result>const char\* )?(?P<name>\w+)\((?P<parameters>.*)\)"
                     r"(?: -> (?P<target>\w+))?\n    (?P<document>.*)|#.*|")
    position = 0
    while position < len(text):
        match = row.match(text, position)
        if text[match.end()] != "\n":
            sys.exit(f"functions.def: not understood: {text[match.end():].splitlines()[0]}")
        position = match.end() + 1
        if match["section"]:
            out.section(match["section"])
        elif match["name"]:
            target, result = match["target"] or match["name"], match["result"] or "int "
            parameters = match["parameters"]
            call = f"ncmpi::{target}({', '.join(names(parameters.split(', ')))})"
            out.add(match["name"], [parameters], f"return {call};" if match["result"] else guarded(call),
                    match["document"], result.strip())
            out.functions.append(f"{result}{target}({parameters});")


def add_attribute_functions(out):
    out.section("Attributes from and to values of a C type, converted (NC_ERANGE, NC_ECHAR)")
    for suffix, (ctype, _) in TYPES.items():
        where = ["int ncid", "int varid", "const char* name"]
        xtype = [] if suffix == "text" else ["nc_type xtype"]
        external = names(xtype)[0] if xtype else "nc_char"
        out.add(f"put_att_{suffix}", where + xtype + ["MPI_Offset len", f"const {ctype}* op"],
                guarded(f"ncmpi::put_att_typed(ncid, varid, name, {external}, len, op, memory_type<{ctype}>)"))
        out.add(f"get_att_{suffix}", where + [f"{ctype}* ip"],
                guarded(f"ncmpi::get_att_typed(ncid, varid, name, ip, memory_type<{ctype}>)"))


def access_variants(is_blocking):
    """(name suffix, C type, MPI datatype or None when flexible, is collective)"""
    for suffix, (ctype, mpi_type) in list(TYPES.items()) + [("", ("void", None))]:
        for collective in ([False, True] if is_blocking else [False]):
            yield ("_" + suffix if suffix else "") + ("_all" if collective else ""), ctype, mpi_type, collective


def add_access_functions(out):
    for verb, what in VERBS.items():
        for shape, (selection, extent) in SHAPES.items():
            out.section(f"{what} {extent}")
            is_put, is_blocking = verb.endswith("put"), verb in ("put", "get")
            kinds = {"num": "int ", "starts": LIST, "counts": LIST}
            where = ["int ncid", "int varid"] + [kinds.get(s, "const MPI_Offset* ") + s for s in selection]
            for suffix, ctype, mpi_type, collective in access_variants(is_blocking):
                buffer = f"const {ctype}* op" if is_put else f"{ctype}* ip"
                parameters = where + [buffer] + ([] if mpi_type else FLEXIBLE) + ([] if is_blocking else ["int* req"])
                call = fields(verb=f"Verb::{verb}", shape=f"Shape::{shape}", is_collective=str(collective).lower(),
                              is_flexible=str(not mpi_type).lower(), ncid="ncid", varid="varid",
                              **{"list_length" if s == "num" else s: s for s in selection},
                              **buffer_fields(ctype, mpi_type, is_put, names([buffer])[0]),
                              **({} if is_blocking else dict(request="req")))
                out.add(f"{verb}_{shape}{suffix}", parameters, f"return access({call});")


def add_multi_access_functions(out):
    for name, verb in MULTI.items():
        for shape, (selection, extent) in SHAPES.items():
            if shape == "varn":
                continue
            out.section(f"{VERBS[verb]} {extent} of each of several variables")
            lists = [s if s.endswith("s") else s + "s" for s in (["start", "count", "stride", "imap"][:len(selection)])]
            where = ["int ncid", "int num", "int* varids"] + [LIST + s for s in lists]
            for suffix, ctype, mpi_type, collective in access_variants(True):
                buffer = f"{ctype}* const* buf" if verb == "put" else f"{ctype}** buf"
                flexible = [] if mpi_type else ["const MPI_Offset* bufcounts", "const MPI_Datatype* datatypes"]
                call = fields(verb=f"Verb::{verb}", shape=f"Shape::{shape}", is_collective=str(collective).lower(),
                              ncid="ncid", variables="num", varids="varids", **{s: s for s in lists},
                              buffers="buf",
                              **(dict(buffer_type=mpi_type) if mpi_type else
                                 dict(buffer_counts="bufcounts", buffer_types="datatypes")))
                out.add(f"{name}_{shape}{suffix}", where + [buffer] + flexible, f"return multi_access({call});")


def add_datatype_functions(out):
    out.section("Accesses to the part of a variable that an MPI datatype selects")
    for verb in ("put", "get"):
        for collective in (False, True):
            buffer = "const void* ip" if verb == "put" else "void* ip"
            call = fields(verb=f"Verb::{verb}", is_collective=str(collective).lower(), ncid="ncid", varid="varid",
                          file_type="filetype", **buffer_fields("void", None, verb == "put", "ip"))
            out.add(f"{verb}_vard" + ("_all" if collective else ""),
                    ["int ncid", "int varid", "MPI_Datatype filetype", buffer] + FLEXIBLE,
                    f"return datatype_access({call});")


def statuses(text, keep):
    rows = re.findall(r'^SLUICE_STATUS\((\w+), (-?\d+), "(.*)"\)', text, re.MULTILINE)
    return "\n".join(f"#define {name} {f'({value})' if value != '0' else value} /* {message.removeprefix('NetCDF: ')} */"
                     for name, value, message in rows if keep(int(value)))


def dispatch_text(template, out, status_text):
    """dispatch.c: the functions, and those that pnetcdf.h does not declare. Adds the symbols of these."""
    for symbol, parameters, result in [("sluice_last_error", ["void"], "const char*"),
                                       ("sluice_find_file", ["const char* path", "char* on_disk", "size_t capacity", "int purpose"], "int"),
                                       ("sluice_ask", ["int type", "const void* fields", "size_t bytes", "void* answer", "size_t* room", "int* descriptor"], "int")]:
        out.dispatches.append(out.dispatch(symbol, parameters, result))
        out.symbols.append(symbol)
    status = re.search(r"^SLUICE_STATUS\(NC_ENOTBUILT, (-?\d+),", status_text, re.MULTILINE)[1]
    for key, value in {"COUNT": str(len(out.symbols)), "NC_ENOTBUILT": status, "FUNCTIONS": "\n".join(out.dispatches),
                       "NAMES": "\n".join(f'    "{symbol}",' for symbol in out.symbols)}.items():
        template = template.replace(f"@{key}@", value)
    return template


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(status_def, version, directory, *optional_tables):
    out = Output()
    for table in [HERE / "functions.def", *map(pathlib.Path, optional_tables)]:
        add_plain_functions(out, table.read_text())
    add_attribute_functions(out)
    add_access_functions(out)
    add_multi_access_functions(out)
    add_datatype_functions(out)
    status_text = pathlib.Path(status_def).read_text()
    header = (HERE / "pnetcdf.h.in").read_text()
    for key, value in {"SLUICE_VERSION": version, "PNETCDF_VERSION": "1.15.0",
                       "NETCDF_STATUSES": statuses(status_text, lambda v: v > -200),
                       "PNETCDF_STATUSES": statuses(status_text, lambda v: v <= -200),
                       "PROTOTYPES": "\n".join(out.prototypes)}.items():
        header = header.replace(f"@{key}@", value)
    directory = pathlib.Path(directory)
    write(directory / "pnetcdf.h", header)
    functions = (HERE / "functions.hpp.in").read_text()
    write(directory / "functions.hpp", functions.replace("@FUNCTIONS@", "\n".join(sorted(set(out.functions)))))
    write(directory / "thunks.cpp", (HERE / "thunks.cpp.in").read_text().replace("@THUNKS@", "\n".join(out.thunks)))
    dispatch = (HERE.parent / "preload" / "dispatch.c.in").read_text()
    write(directory / "dispatch.c", dispatch_text(dispatch, out, status_text))
    write(directory / "pnetcdf.symbols", "\n".join(sorted(out.symbols)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
