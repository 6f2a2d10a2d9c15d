#pragma once
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <string>

#include "dispatch_table.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/header.hpp"

namespace sluice::api::netcdf {

/// The netCDF library of the program, by the handle of whatever the calling code is linked with. All
/// functions are found by their names, when they are needed.
class ProgramLibrary {
 public:
  explicit ProgramLibrary(void* handle) noexcept : handle_(handle) {}
  bool operator==(const ProgramLibrary&) const = default;

  /// The function of that name, as a Function; null: this version of netCDF has none.
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const noexcept {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

  /// Calls nc_NAME. The parameters have to be those of the function, with their types. NC_ENOTNC4 (-111)
  /// where this version of netCDF has none.
  template <class... Parameters>
  int call(const char* name, Parameters... parameters) const noexcept {
    auto* const function = find<int(Parameters...)>(name);
    return function == nullptr ? not_in_this_version : function(parameters...);
  }

  /// The same. Throws Error for a status that is not 0.
  template <class... Parameters>
  void ask(const char* name, Parameters... parameters) const {
    const int status = call(name, parameters...);
    if (status == 0) return;
    auto* const text = find<const char*(int)>("nc_strerror");
    throw Error(static_cast<Status>(status), "the program's netCDF refuses " + std::string(name) + ": " +
                                                 (text == nullptr ? "" : text(status)));
  }

 private:
  static constexpr int not_in_this_version = -111;
  void* handle_;
};

/// Gives an attribute of a group or a variable these values. `variable`: -1 for the group's. Throws Error.
inline void put_attribute(const ProgramLibrary& library, int group, int variable,
                          const formats::Attribute& attribute) {
  library.ask("nc_put_att", group, variable, attribute.name.c_str(), static_cast<nc_type>(attribute.type),
              static_cast<std::size_t>(attribute.count), static_cast<const void*>(attribute.values.data()));
}

/// The name of the variant of a function of netCDF for values of a type in memory; for types that are not
/// numbers, text or strings, the function itself.
[[nodiscard]] inline std::string variant_of(const char* function, nc_type memory) {
  constexpr std::array<const char*, 13> suffixes{"",          "_schar",     "_text",  "_short",  "_int",
                                                 "_float",    "_double",    "_uchar", "_ushort", "_uint",
                                                 "_longlong", "_ulonglong", "_string"};
  const bool has_own = memory > type::own && memory <= type::string;
  return std::string(function) + (has_own ? suffixes[static_cast<std::size_t>(memory)] : "");
}

}  // namespace sluice::api::netcdf
