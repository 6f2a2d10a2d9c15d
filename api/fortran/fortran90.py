"""The module pnetcdf: its procedures call the Fortran 77 interface; procedures that transfer variables use sluice_fortran_access."""

KINDS = {  # Fortran 77's suffix: (declaration, external type)
    "text": ("character(len=*)", None), "int1": ("integer(kind=OneByteInt)", "nf90_byte"),
    "int2": ("integer(kind=TwoByteInt)", "nf90_short"), "int": ("integer(kind=FourByteInt)", "nf90_int"),
    "int8": ("integer(kind=EightByteInt)", "nf90_int64"), "real": ("real(kind=FourByteReal)", "nf90_float"),
    "double": ("real(kind=EightByteReal)", "nf90_double")}
RANKS = range(8)
CONSTANTS = """byte=1 int1=1 char=2 short=3 int2=3 int=4 int4=4 float=5 real=5 real4=5 double=6 real8=6 ubyte=7 ushort=8 uint=9
int64=10 uint64=11 fill_byte=-127 fill_int1=-127 fill_char=0 fill_short=-32767 fill_int2=-32767 fill_int=-2147483647
fill_ubyte=255 fill_ushort=65535 nowrite=0 write=1 clobber=0 noclobber=4 lock=1024 share=2048 32bit=16777216 classic_model=256
cdf2=512 64bit_offset=512 cdf5=32 64bit_data=32 netcdf4=4096 bp=65536 mpiio=8192 pnetcdf=8192 format_classic=1 format_cdf2=2
format_64bit=2 format_64bit_offset=2 format_cdf5=5 format_64bit_data=5 format_netcdf4=3 format_netcdf4_classic=4 format_bp=6
format_unknown=-1 fill=0 nofill=256 sizehint_default=0 align_chunk=-1 unlimited=0 global=0 max_name=256 max_nfiles=1024
max_dims=2147483647 max_attrs=2147483647 max_vars=2147483647 max_var_dims=2147483647 fatal=1 verbose=2
req_null=-1 req_all=-1 get_req_all=-2 put_req_all=-3"""
WIDE_CONSTANTS = [
    ("real", "fill_float", "9.9692099683868690e+36"), ("real", "fill_real", "9.9692099683868690e+36"),
    ("real", "fill_real4", "9.9692099683868690e+36"), ("doubleprecision", "fill_double", "9.9692099683868690d+36"),
    ("doubleprecision", "fill_real8", "9.9692099683868690d+36"), ("integer*8", "fill_uint", "4294967295_8"),
    ("integer*8", "fill_int64", "-9223372036854775806_8"), ("doubleprecision", "fill_uint64", "1.8446744073709551614d+19")]
TRANSFERS = [("put", ""), ("put", "_all"), ("get", ""), ("get", "_all"), ("iput", ""), ("iget", ""), ("bput", "")]
DUMMIES = {  # kind of a dummy argument of a plain function
    "i": "integer, intent(in)", "o": "integer, intent(out)", "s": "character(len=*), intent(in)",
    "S": "character(len=*), intent(out)", "I": "integer(kind=EightByteInt), intent(in)",
    "O": "integer(kind=EightByteInt), intent(out)", "a": "integer, intent(inout), dimension(*)"}
PLAIN = """abort ncid:i
begin_indep_data ncid:i
buffer_attach ncid:i bufsize:I
buffer_detach ncid:i
cancel ncid:i num:i req:a st:a
close ncid:i
copy_att ncid_in:i varid_in:i name:s ncid_out:i varid_out:i
create mpi_comm:i path:s cmode:i mpi_info:i ncid:o
def_dim ncid:i name:s len:I dimid:o
del_att ncid:i varid:i name:s
delete name:s mpi_info:i
end_indep_data ncid:i
fill_var_rec ncid:i varid:i recno:I
flush ncid:i
get_file_info ncid:i mpi_info:o
inq_attname ncid:i varid:i attnum:i name:S
inq_buffer_size ncid:i buf_size:O
inq_buffer_usage ncid:i usage:O
inq_default_format default_format:o
inq_dimid ncid:i name:s dimid:o
inq_file_info ncid:i mpi_info:o
inq_files_opened nfiles:o ncids:a
inq_get_size ncid:i get_size:O
inq_header_extent ncid:i h_extent:O
inq_header_size ncid:i h_size:O
inq_malloc_list
inq_malloc_max_size size:O
inq_malloc_size size:O
inq_nreqs ncid:i nreqs:o
inq_num_fix_vars ncid:i nvars:o
inq_num_rec_vars ncid:i nvars:o
inq_path ncid:i pathlen:o path:S
inq_put_size ncid:i put_size:O
inq_recsize ncid:i recsize:O
inq_striping ncid:i striping_size:o striping_count:o
inq_varid ncid:i name:s varid:o
inq_varoffset ncid:i varid:i offset:O
open mpi_comm:i path:s omode:i mpi_info:i ncid:o
redef ncid:i
rename_att ncid:i varid:i curname:s newname:s
rename_dim ncid:i dimid:i name:s
rename_var ncid:i varid:i newname:s
set_default_format new_format:i old_format:o
set_fill ncid:i fillmode:i old_mode:o
sync ncid:i
sync_numrecs ncid:i
wait ncid:i num:i req:a st:a
wait_all ncid:i num:i req:a st:a"""


def constants():
    """(Fortran type, name without its prefix, value)"""
    return [("integer", *row.split("=")) for row in CONSTANTS.split()] + WIDE_CONSTANTS


def accesses():
    """Functions that transfer variables: (verb, Fortran 77's suffix, "_all" or ""). The position is the number of the access."""
    return [(verb, suffix, all_) for verb, all_ in TRANSFERS for suffix in KINDS]


def function(name, dummies, body):
    """A module function; its dummies are (name, declaration)."""
    arguments = ", &\n      ".join(n for n, _ in dummies)
    declared = "".join(f"    {kind} :: {n}\n" for n, kind in dummies)
    return (f"  function nf90mpi_{name}({arguments}) result(status)\n{declared}    integer :: status\n{body}"
            f"  end function nf90mpi_{name}\n")


def plain_functions():
    for row in PLAIN.splitlines():
        name, *dummies = row.split()
        dummies = [d.split(":") for d in dummies]
        body = f"    status = nfmpi_{name}({', '.join(n for n, _ in dummies)})\n"
        yield function(name, [(n, DUMMIES[kind]) for n, kind in dummies], body)


def attribute_functions(generics):
    where = [("ncid", DUMMIES["i"]), ("varid", DUMMIES["i"]), ("name", DUMMIES["s"])]
    for suffix, (kind, external) in KINDS.items():
        if suffix == "text":
            continue  # in the template
        for one, shape, length in (("_one", "", "1"), ("", ", dimension(:)", "size(values)")):
            name = f"put_att{one}_{suffix}"
            generics.setdefault("put_att", []).append(name)
            yield function(name, where + [("values", f"{kind}{shape}, intent(in)")],
                           f"    status = nfmpi_put_att_{suffix}(ncid, varid, name, {external}, &\n"
                           f"      int({length}, EightByteInt), values)\n")
            name = f"get_att{one}_{suffix}"
            generics.setdefault("get_att", []).append(name)
            read = f"nfmpi_get_att_{suffix}(ncid, varid, name, "
            body = f"    status = {read}values)\n"
            if one:  # only the first value of a longer attribute is needed
                body = (f"    {kind}, allocatable :: list(:)\n    allocate (list(max(1, attribute_length(ncid, varid, name))))\n"
                        f"    list(1) = values\n    status = {read}list)\n    values = list(1)\n")
            yield function(name, where + [("values", f"{kind}{shape}, intent(inout)")], body)


def fill_functions(generics):
    for suffix, (kind, _) in KINDS.items():
        for verb, intent in (("def", "in"), ("inq", "out")):
            name = f"{verb}_var_fill_{suffix}"
            generics.setdefault(f"{verb}_var_fill", []).append(name)
            yield function(name, [("ncid", DUMMIES["i"]), ("varid", DUMMIES["i"]), ("no_fill", f"integer, intent({intent})"),
                                  ("fill_value", f"{kind}, intent({intent})")],
                           f"    status = nfmpi_{verb}_var_fill(ncid, varid, no_fill, fill_value)\n")


def access_functions(generics):
    offsets = "integer(kind=EightByteInt), intent(in), optional"
    for number, (verb, suffix, all_) in enumerate(accesses()):
        intent = "in" if verb.endswith("put") else "inout"
        request = [] if verb in ("put", "get") else [("req", "integer, intent(out)")]
        passed = ", request=req" if request else ""
        where = [("ncid", DUMMIES["i"]), ("varid", DUMMIES["i"])]
        for rank in RANKS:
            shape = f", dimension({', '.join([':'] * rank)})" if rank else ""
            is_text, is_array = suffix == "text", rank > 0
            buffer = "values" if is_array or is_text else "buf"
            extents = "shape(values, EightByteInt)" if is_array else "none"
            if is_text:
                extents = "[int(len(values), EightByteInt)" + (f", {extents}]" if is_array else "]")
            selection = ["start", "count", "stride", "map"] if is_array or is_text else ["start"]
            flexible = [] if is_text else [("bufcount", offsets), ("buftype", "integer, intent(in), optional")]
            dummies = (where + [(buffer, f"{KINDS[suffix][0]}{shape}, intent({intent})")] + request
                       + [(s, f"{offsets}, dimension(:)") for s in selection] + flexible)
            given = ", ".join(f"{n}={n}" for n in selection + [n for n, _ in flexible])
            name = f"{verb}_var_{rank}d_{suffix}{all_}"
            generics.setdefault(f"{verb}_var{all_}", []).append(name)
            yield function(name, dummies, f"    status = access_block({number}, ncid, varid, {buffer}, &\n      {extents}, &\n"
                                          f"      {given}{passed})\n")
            name = f"{verb}_varn_{rank}d_{suffix}{all_}"
            generics.setdefault(f"{verb}_varn{all_}", []).append(name)
            buffer = "values" if is_array else "value"
            # As in PnetCDF, a scalar goes to the first position, even if there are others.
            start = [("start", "integer(kind=EightByteInt), intent(in), dimension(:, :)")]
            blocks = [("num", DUMMIES["i"]), *start, ("count", f"{offsets}, dimension(:, :)")] if is_array else start
            starts = "num, start, count" if is_array else "1, start"
            yield function(name, where + [(buffer, f"{KINDS[suffix][0]}{shape}, intent({intent})")] + request + blocks,
                           f"    status = access_list({number}, ncid, varid, {buffer}, &\n      {starts}{passed})\n")


ARRAYS = {"dimidsp", "ncids", "array_of_requests", "array_of_statuses", "reqs", "statuses"}


def interface(name, c_parameters, names, buffer):
    """The interface of a Fortran 77 function, from the parameters of the C function; the buffer may be of any kind and rank."""
    dummies = [] if c_parameters == ["void"] else list(zip(c_parameters, names))
    declared = "".join(declaration(p, n, p == buffer) for p, n in dummies)
    arguments = ", &\n      ".join(n for _, n in dummies)
    return (f"    function nfmpi_{name}({arguments}) result(status)\n"
            f"      import :: EightByteInt\n{declared}      integer :: status\n    end function nfmpi_{name}\n")


def declaration(c_parameter, name, is_buffer):
    """The Fortran 77 type of a parameter of the C function."""
    ctype = c_parameter.removesuffix(name).strip()
    intent = "in" if ctype.startswith("const") or "*" not in ctype or ctype.endswith("const*") else "inout"
    if is_buffer or ctype.endswith("void*"):  # without a copy, and without the length of a text
        return f"      !GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n      type(*), dimension(*), intent({intent}) :: {name}\n"
    if "char*" in ctype:
        return f"      character(len=*), intent({intent}) :: {name}\n"
    kind = "integer(kind=EightByteInt)" if "MPI_Offset" in ctype else "integer"
    is_array = ctype in ("const int*", "const MPI_Offset*", "MPI_Offset* const*") or name in ARRAYS
    return f"      {kind}, intent({intent}){', dimension(*)' if is_array else ''} :: {name}\n"


def datatype_functions():
    for name in ("put_vard", "put_vard_all", "get_vard", "get_vard_all"):
        yield (f"  function nf90mpi_{name}(ncid, varid, filetype, buf, bufcount, buftype) result(status)\n"
               "    integer, intent(in) :: ncid, varid, filetype, buftype\n"
               "    !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf\n    type(*), dimension(*) :: buf\n"
               "    integer(kind=EightByteInt), intent(in) :: bufcount\n    integer :: status\n"
               f"    status = nfmpi_{name}(ncid, varid, filetype, buf, bufcount, buftype)\n  end function nf90mpi_{name}\n")


def module(template, values, interfaces):
    generics = {}
    procedures = [*plain_functions(), *attribute_functions(generics), *fill_functions(generics),
                  *access_functions(generics), *datatype_functions()]
    generics["put_att"].append("put_att_text")
    generics["get_att"].append("get_att_text")
    generics["def_var"] = ["def_var_scalar", "def_var_onedim", "def_var_manydims"]
    blocks = "".join(f"  interface nf90mpi_{name}\n" + "".join(f"    module procedure nf90mpi_{p}\n" for p in members)
                     + f"  end interface nf90mpi_{name}\n" for name, members in generics.items())
    hidden = "".join(f"  private :: nf90mpi_{p}\n" for members in generics.values() for p in members)
    fixed = "".join(f"  {kind}, parameter :: {name} = {value}\n" for kind, name, value in values)
    for key, text in {"CONSTANTS": fixed, "INTERFACES": "".join(interfaces), "GENERICS": blocks + hidden,
                      "PROCEDURES": "\n".join(procedures)}.items():
        template = template.replace(f"@{key}@\n", text)
    return template
