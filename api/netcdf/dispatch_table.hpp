#pragma once
#include <cstddef>

// What the programs' own netCDF library and this one have to agree on, by its documented interface. Nothing
// is linked with netCDF, and no header of it is needed.
namespace sluice::api::netcdf {

using nc_type = int;

/// Flags of nc_create and nc_open.
namespace mode {
inline constexpr int write = 0x0001, noclobber = 0x0004, diskless = 0x0008, mmap = 0x0010, data64 = 0x0020,
                     user_format_0 = 0x0040, user_format_1 = 0x0080, classic_model = 0x0100,
                     offset64 = 0x0200, netcdf4 = 0x1000, parallel = 0x2000, in_memory = 0x8000;
inline constexpr int formats = netcdf4 | offset64 | data64;  ///< at most one of them
}  // namespace mode

/// The lower half of an id of netCDF's is a group of the dataset, the upper one the dataset.
inline constexpr int group_bits = 0xffff;

inline constexpr int global = -1, fill = 0, no_fill = 0x100;

/// Memory types: the numbers of the external types; `own` is the variable's or attribute's own type.
namespace type {
inline constexpr nc_type own = 0, byte = 1, text = 2, int16 = 3, int32 = 4, float32 = 5, float64 = 6,
                         ubyte = 7, uint16 = 8, uint32 = 9, int64 = 10, uint64 = 11, string = 12;
}  // namespace type

/// The functions of a format, as netCDF calls them. Versions 3, 4 and 5 of the table (netCDF 4.8 and 4.9)
/// differ in its last members only.
struct DispatchTable {
  using Sizes = const std::size_t*;
  using Strides = const std::ptrdiff_t*;
  using Text = const char*;

  int model;
  int version;
  int (*create)(Text, int, std::size_t, int, std::size_t*, void*, const DispatchTable*, int);
  int (*open)(Text, int, int, std::size_t*, void*, const DispatchTable*, int);
  int (*redef)(int);
  int (*enddef)(int, std::size_t, std::size_t, std::size_t, std::size_t);
  int (*sync)(int);
  int (*abort)(int);
  int (*close)(int, void*);
  int (*set_fill)(int, int, int*);
  int (*inq_format)(int, int*);
  int (*inq_format_extended)(int, int*, int*);
  int (*inq)(int, int*, int*, int*, int*);
  int (*inq_type)(int, nc_type, char*, std::size_t*);
  int (*def_dim)(int, Text, std::size_t, int*);
  int (*inq_dimid)(int, Text, int*);
  int (*inq_dim)(int, int, char*, std::size_t*);
  int (*inq_unlimdim)(int, int*);
  int (*rename_dim)(int, int, Text);
  int (*inq_att)(int, int, Text, nc_type*, std::size_t*);
  int (*inq_attid)(int, int, Text, int*);
  int (*inq_attname)(int, int, int, char*);
  int (*rename_att)(int, int, Text, Text);
  int (*del_att)(int, int, Text);
  int (*get_att)(int, int, Text, void*, nc_type);
  int (*put_att)(int, int, Text, nc_type, std::size_t, const void*, nc_type);
  int (*def_var)(int, Text, nc_type, int, const int*, int*);
  int (*inq_varid)(int, Text, int*);
  int (*rename_var)(int, int, Text);
  int (*get_vara)(int, int, Sizes, Sizes, void*, nc_type);
  int (*put_vara)(int, int, Sizes, Sizes, const void*, nc_type);
  int (*get_vars)(int, int, Sizes, Sizes, Strides, void*, nc_type);
  int (*put_vars)(int, int, Sizes, Sizes, Strides, const void*, nc_type);
  int (*get_varm)(int, int, Sizes, Sizes, Strides, Strides, void*, nc_type);
  int (*put_varm)(int, int, Sizes, Sizes, Strides, Strides, const void*, nc_type);
  int (*inq_var_all)(int, int, char*, nc_type*, int*, int*, int*, int*, int*, int*, int*, int*, std::size_t*,
                     int*, void*, int*, unsigned*, std::size_t*, unsigned*);
  int (*var_par_access)(int, int, int);
  int (*def_var_fill)(int, int, int, const void*);
  int (*show_metadata)(int);
  int (*inq_unlimdims)(int, int*, int*);
  int (*inq_ncid)(int, Text, int*);
  int (*inq_grps)(int, int*, int*);
  int (*inq_grpname)(int, char*);
  int (*inq_grpname_full)(int, std::size_t*, char*);
  int (*inq_grp_parent)(int, int*);
  int (*inq_grp_full_ncid)(int, Text, int*);
  int (*inq_varids)(int, int*, int*);
  int (*inq_dimids)(int, int*, int*, int);
  int (*inq_typeids)(int, int*, int*);
  int (*inq_type_equal)(int, nc_type, int, nc_type, int*);
  int (*def_grp)(int, Text, int*);
  int (*rename_grp)(int, Text);
  int (*inq_user_type)(int, nc_type, char*, std::size_t*, nc_type*, std::size_t*, int*);
  int (*inq_typeid)(int, Text, nc_type*);
  int (*def_compound)(int, std::size_t, Text, nc_type*);
  int (*insert_compound)(int, nc_type, Text, std::size_t, nc_type);
  int (*insert_array_compound)(int, nc_type, Text, std::size_t, nc_type, int, const int*);
  int (*inq_compound_field)(int, nc_type, int, char*, std::size_t*, nc_type*, int*, int*);
  int (*inq_compound_fieldindex)(int, nc_type, Text, int*);
  int (*def_vlen)(int, Text, nc_type, nc_type*);
  int (*put_vlen_element)(int, int, void*, std::size_t, const void*);
  int (*get_vlen_element)(int, int, const void*, std::size_t*, void*);
  int (*def_enum)(int, nc_type, Text, nc_type*);
  int (*insert_enum)(int, nc_type, Text, const void*);
  int (*inq_enum_member)(int, nc_type, int, char*, void*);
  int (*inq_enum_ident)(int, nc_type, long long, char*);
  int (*def_opaque)(int, std::size_t, Text, nc_type*);
  int (*def_var_deflate)(int, int, int, int, int);
  int (*def_var_fletcher32)(int, int, int);
  int (*def_var_chunking)(int, int, int, Sizes);
  int (*def_var_endian)(int, int, int);
  int (*def_var_filter)(int, int, unsigned, std::size_t, const unsigned*);
  int (*set_var_chunk_cache)(int, int, std::size_t, std::size_t, float);
  int (*get_var_chunk_cache)(int, int, std::size_t*, std::size_t*, float*);
  int (*inq_var_filter_ids)(int, int, std::size_t*, unsigned*);
  int (*inq_var_filter_info)(int, int, unsigned, std::size_t*, unsigned*);
  int (*def_var_quantize)(int, int, int, int);  // from version 4 on
  int (*inq_var_quantize)(int, int, int*, int*);
  int (*inq_filter_avail)(int, unsigned);  // from version 5 on
};

}  // namespace sluice::api::netcdf
