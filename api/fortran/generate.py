#!/usr/bin/env python3
"""Writes the Fortran interfaces from the tables of the C interface: generate.py STATUS_DEF OUTPUT_DIRECTORY

fortran77.cpp    the functions nfmpi_X, each of which calls ncmpi_X
pnetcdf.inc      their declarations and the constants
pnetcdf.f90      the module with nf90mpi_X
nfmpi.symbols    the names of the nfmpi_ functions
"""
import importlib.util
import pathlib
import re
import sys

import fortran90

HERE = pathlib.Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("c_interface", HERE.parent / "pnetcdf" / "generate.py")
C = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(C)

TYPES = {"text": "text", "int1": "schar", "int2": "short", "int": "int", "real": "float", "double": "double",
         "int8": "longlong"}  # Fortran's suffix: C's
CONVERSIONS = {  # C parameter: (Fortran parameter, argument of the C function)
    r"MPI_Comm (\w+)": (r"const MPI_Fint* \1", r"MPI_Comm_f2c(*\1)"),
    r"MPI_Info (\w+)": (r"const MPI_Fint* \1", r"MPI_Info_f2c(*\1)"),
    r"MPI_Datatype (\w+)": (r"const MPI_Fint* \1", r"MPI_Type_f2c(*\1)"),
    r"MPI_Info\* (\w+)": (r"MPI_Fint* \1", r"InfoOut(\1)"),
    r"const char\* (\w+)": (r"const char* \1", r"TextIn(\1, \1_length)"),
    r"char\* (\w+)": (r"char* \1", r"TextOut(\1, \1_length)"),
    r"int (varid|varid_in|varid_out|dimid|attnum)": (r"const int* \1", r"*\1 - 1"),
    r"MPI_Offset (recno)": (r"const MPI_Offset* \1", r"*\1 - 1"),
    r"(int|nc_type|MPI_Offset) (\w+)": (r"const \1* \2", r"*\2"),
    r"int\* (idp|varidp|unlimdimidp)": (r"int* \1", r"IdOut(\1)"),
    r"const int\* (dimidsp)": (r"const int* \1", r"DimensionIdsIn(\1, *ndims)"),
    r"int\* (dimidsp)": (r"int* \1", r"DimensionIdsOut(\1, *ncid, *varid)"),
    r"const MPI_Offset\* (start)": (r"const MPI_Offset* \1", r"Reversed(\1, *ncid, *varid, 1)"),
    r"const MPI_Offset\* (count|stride|imap)": (r"const MPI_Offset* \1", r"Reversed(\1, *ncid, *varid)"),
    r"MPI_Offset\* const\* (starts)": (r"const MPI_Offset* \1", r"ReversedList(\1, *ncid, *varid, *num, 1)"),
    r"MPI_Offset\* const\* (counts)": (r"const MPI_Offset* \1", r"ReversedList(\1, *ncid, *varid, *num)"),
    r"(const void|void|int|nc_type|MPI_Offset|(?:const )?(?:char|signed char|short|int|float|double|long long))\* (\w+)":
        (r"\1* \2", r"\2")}
BY_HAND = ["strerror", "strerrno", "inq_libvers"]
VERSION = [("integer", "PNETCDF_VERSION_MAJOR", "1"), ("integer", "PNETCDF_VERSION_MINOR", "15"),
           ("integer", "PNETCDF_VERSION_SUB", "0"), ("integer*8", "nfmpi_unlimited", "0")]


def converted(parameter):
    for pattern, (fortran, argument) in CONVERSIONS.items():
        if match := re.fullmatch(pattern, parameter):
            return match.expand(fortran), match.expand(argument)
    sys.exit(f"no Fortran equivalent of {parameter}")


def wrapper(name, c_name, parameters, buffer=None):
    """One function; the parameter `buffer` is passed unchanged, whatever its type."""
    pairs = [(p, C.names([p])[0]) if p == buffer else converted(p) for p in parameters if p != "void"]
    hidden = [f"std::size_t {n}_length" for p, n in zip(parameters, C.names(parameters))
              if p != buffer and re.match(r"(const )?char\* ", p)]
    text = ["std::size_t"] if buffer and re.search(r"\bchar\*", buffer) and "signed" not in buffer else []
    fortran = ", ".join([p for p, _ in pairs] + hidden + text)
    return (f"SLUICE_EXPORT int nfmpi_{name}_({fortran}) {{\n"
            f"  return ncmpi_{c_name}({', '.join(a for _, a in pairs)});\n}}")


# The generators of functions yield rows: (name, name of the C function, its parameters, the buffer parameter or None).
def plain_functions():
    rows = re.findall(r"^(?!cdl_hdr_)(\w+)\((.*)\)", (HERE.parent / "pnetcdf" / "functions.def").read_text(), re.MULTILINE)
    for name, parameters in rows:
        yield name, name, parameters.split(", "), None


def attribute_functions():
    for suffix, c_suffix in TYPES.items():
        ctype = C.TYPES[c_suffix][0]
        where = ["int ncid", "int varid", "const char* name"]
        xtype = [] if suffix == "text" else ["nc_type xtype"]
        put, get = f"const {ctype}* op", f"{ctype}* ip"
        yield f"put_att_{suffix}", f"put_att_{c_suffix}", where + xtype + ["MPI_Offset len", put], put
        yield f"get_att_{suffix}", f"get_att_{c_suffix}", where + [get], get


def access_functions():
    kinds = {"num": "int num", "starts": C.LIST + "starts", "counts": C.LIST + "counts"}
    types = [("_" + suffix, "_" + c_suffix, C.TYPES[c_suffix][0]) for suffix, c_suffix in TYPES.items()]
    for verb in C.VERBS:
        is_put, is_blocking = verb.endswith("put"), verb in ("put", "get")
        for shape, (selection, _) in C.SHAPES.items():
            for suffix, c_suffix, ctype in types + [("", "", "void")]:
                for all_ in ["", "_all"] if is_blocking else [""]:
                    buffer = f"const {ctype}* op" if is_put else f"{ctype}* ip"
                    parameters = (["int ncid", "int varid"] + [kinds.get(s, f"const MPI_Offset* {s}") for s in selection]
                                  + [buffer] + ([] if suffix else C.FLEXIBLE) + ([] if is_blocking else ["int* req"]))
                    name = f"{verb}_{shape}"
                    yield name + suffix + all_, name + c_suffix + all_, parameters, buffer


def datatype_functions():
    for verb in ("put", "get"):
        for all_ in ("", "_all"):
            buffer = "const void* ip" if verb == "put" else "void* ip"
            name = f"{verb}_vard{all_}"
            yield name, name, ["int ncid", "int varid", "MPI_Datatype filetype", buffer] + C.FLEXIBLE, buffer


def accesses():
    """The cases of sluice_fortran_access, numbered as in fortran90.py."""
    for number, (verb, suffix, all_) in enumerate(fortran90.accesses()):
        request = "" if verb in ("put", "get") else ", request"
        ctype = C.TYPES[TYPES[suffix]][0]
        length = ", 0" if suffix == "text" else ""
        where = "ncid, varid, start, count"

        def call(shape, more):
            return (f"return nfmpi_{verb}_{shape}_{suffix}{all_}_({where}{more}, static_cast<{ctype}*>(values)"
                    f"{request}{length});")
        flexible = f"nfmpi_{verb}_varm{all_}_({where}, stride, map, values, bufcount, buftype{request})"
        yield (f"    case {number}:\n      if (buftype != nullptr) return {flexible};\n"
               f"      if (map != nullptr) {call('varm', ', stride, map')}\n"
               f"      if (stride != nullptr) {call('vars', ', stride')}\n      {call('vara', '')}")


def lists():
    """The cases of sluice_fortran_access_list."""
    for number, (verb, suffix, all_) in enumerate(fortran90.accesses()):
        request = "" if verb in ("put", "get") else ", request"
        length = ", 0" if suffix == "text" else ""
        yield (f"    case {number}:\n      return nfmpi_{verb}_varn_{suffix}{all_}_(ncid, varid, num, starts, counts, "
               f"static_cast<{C.TYPES[TYPES[suffix]][0]}*>(values){request}{length});")


def declarations(names):
    """pnetcdf.inc's external functions."""
    texts = {"strerror", "strerrno", "inq_libvers"}
    lines = [f"      character*80 nfmpi_{n}\n      external nfmpi_{n}" for n in sorted(texts)]
    lines += ["      logical nfmpi_issyserr\n      external nfmpi_issyserr"]
    lines += [f"      integer nfmpi_{n}\n      external nfmpi_{n}" for n in names if n not in texts | {"issyserr"}]
    return "\n".join(lines)


def old_names(constants):
    """Rows of constants: the names of netCDF version 2. Values are numbers: lines end at column 72."""
    values = {"nf_" + name.lower(): value for _, name, value in constants}
    kinds = {"filfloat": "real", "fildoub": "double precision"}
    for line in (HERE / "old_names.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, value = line.split()
            values[name] = values.get(value, value)
            yield kinds.get(name, "integer"), name, values[name]


def switches():
    """Rows of constants: the feature macros of pnetcdf.h."""
    header = (HERE.parent / "pnetcdf" / "pnetcdf.h.in").read_text()
    for name, value in re.findall(r"^#define (PNETCDF_(?!VERSION|ENABLE)\w+) +(-?\d+)$", header, re.MULTILINE):
        yield "integer", name, value


def parameters(rows):
    return "\n".join(f"      {kind} {name}\n      parameter ({name} = {value})" for kind, name, value in rows)


def main(status_def, directory):
    functions = [*plain_functions(), *attribute_functions(), *access_functions(), *datatype_functions()]
    names = sorted([n for n, *_ in functions] + BY_HAND + ["issyserr"])
    directory = pathlib.Path(directory)
    text = (HERE / "fortran77.cpp.in").read_text()
    text = text.replace("@FUNCTIONS@", "\n".join(wrapper(*f) for f in functions)).replace("@ACCESSES@", "\n".join(accesses()))
    text = text.replace("@LISTS@", "\n".join(lists()))
    C.write(directory / "fortran77.cpp", text)
    C.write(directory / "nfmpi.symbols", "".join(f"nfmpi_{n}_\n" for n in names))
    rows = re.findall(r"^SLUICE_STATUS\(NC_(\w+), (-?\d+), ", pathlib.Path(status_def).read_text(), re.MULTILINE)
    constants = fortran90.constants() + [("integer", name, value) for name, value in rows]
    old = [*old_names(constants)]
    fixed = [*VERSION, *((kind, "nf_" + name, value) for kind, name, value in constants), *old, *switches()]
    C.write(directory / "pnetcdf.inc", (HERE / "pnetcdf.inc.in").read_text()
            .replace("@CONSTANTS@", parameters(fixed)).replace("@FUNCTIONS@", declarations(names)))
    in_module = [(kind, "nf90_" + name, value) for kind, name, value in constants] + fixed
    in_module += [(kind, "nf90_" + name[3:], value) for kind, name, value in old if name.startswith("nf_")]
    interfaces = [fortran90.interface(name, c_parameters, C.names(c_parameters), buffer)
                  for name, _, c_parameters, buffer in functions]
    C.write(directory / "pnetcdf.f90", fortran90.module((HERE / "pnetcdf.f90.in").read_text(), in_module, interfaces))


if __name__ == "__main__":
    main(*sys.argv[1:])
